import { BreakwaterConfig } from '@breakwater/contracts/config';
import { connectRedis, closeRedis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { createLogger } from '@breakwater/runtime/logger';
import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { sharedRedisUrl, startOwnRedis } from '../../../test/support/redis.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { afterwards, openConsole } from './support.ts';

const AGE = 'breakwater_fleet_snapshot_age_seconds';
const config = BreakwaterConfig.parse({
  erpTargets: {
    receipts: {
      owner: 'integration',
      document: '{}',
      adapter: { kind: 'http', baseUrl: 'http://127.0.0.1:9', post: { path: '"/"' } },
    },
  },
});
const BREAKER = 'breakwater_breaker_state{target="receipts"}';

test('a scrape is answered whatever becomes of Redis: hung, killed or back; old figures are not shown, and their age is', async () => {
  const redis = await startOwnRedis();
  afterwards(() => redis.close());
  const console = await openConsole({
    redisUrl: redis.url,
    keyPrefix: 'bw',
    breakwater: config,
    timing: { snapshotValidMs: 5_000 },
  });
  const unanswered: unknown[] = [];
  const shown = async (): Promise<boolean> => {
    try {
      return (await console.scrape()).has(BREAKER);
    } catch (error) {
      unanswered.push(error); // a wait goes on after an error, and this one must not be forgotten
      throw error;
    }
  };
  const back = (what: string): Promise<boolean> => waitUntil(shown, { what, timeoutMs: 60_000 });
  const gone = (what: string): Promise<boolean> =>
    waitUntil(async () => !(await shown()), { what, timeoutMs: 60_000 });
  await back('the first figures');
  expect(await console.ready()).toBe(true);

  process.kill(redis.pid(), 'SIGSTOP');
  try {
    await gone('figures of before the hang to be withdrawn');
    // A figure without labels is withdrawn, too: 0 would be a wrong one, and its return a rise.
    expect([...(await console.scrape()).keys()].filter((series) => !series.includes('_nodejs_'))).toEqual([
      AGE,
    ]);
    expect((await console.scrape()).get(AGE)).toBeGreaterThanOrEqual(5);
    expect(await console.ready()).toBe(false);
  } finally {
    process.kill(redis.pid(), 'SIGCONT');
  }
  await back('figures after the hang');
  expect((await console.scrape()).get(AGE)).toBeLessThan(60);

  await redis.kill();
  await gone('figures of before the end of Redis to be withdrawn');
  expect((await console.scrape()).get(AGE)).toBeGreaterThanOrEqual(5);
  await redis.restart();
  await back('figures after the restart');
  expect(await console.ready()).toBe(true);
  expect(unanswered).toEqual([]);
}, 150_000);

test('a console that never reached Redis shows no age of figures that it does not have, so that the alert sees them missing', async () => {
  const redis = await startOwnRedis();
  afterwards(() => redis.close());
  process.kill(redis.pid(), 'SIGSTOP');
  try {
    const console = await openConsole({ redisUrl: redis.url, keyPrefix: 'bw', breakwater: config });
    expect((await console.scrape()).has(AGE)).toBe(false);
  } finally {
    process.kill(redis.pid(), 'SIGCONT');
  }
});

test('before the first event every figure of the ledger is 0 for all that is configured', async () => {
  const redis = await startOwnRedis({ overrides: { maxmemory: '0' } });
  afterwards(() => redis.close());
  const breakwater = { ...config, sources: { shop: {} as (typeof config.sources)[string] } };
  const console = await openConsole({ redisUrl: redis.url, keyPrefix: 'bw', breakwater });
  await waitUntil(async () => (await console.scrape()).has(BREAKER), {
    what: 'the first figures',
    timeoutMs: 60_000,
  });
  const series = await console.scrape();
  for (const name of ['accepted', 'unrouted'])
    for (const source of ['shop', 'api'])
      expect(series.get(`breakwater_ledger_events_${name}_total{source="${source}"}`)).toBe(0);
  for (const destination of ['receipts', 'endpoint']) {
    for (const status of ['pending', 'failed', 'held', 'sent', 'dead_letter', 'resolved'])
      expect(
        series.get(`breakwater_ledger_deliveries{destination="${destination}",status="${status}"}`),
      ).toBe(0);
    for (const name of ['created', 'expired'])
      expect(series.get(`breakwater_ledger_deliveries_${name}_total{destination="${destination}"}`)).toBe(0);
  }
  expect(series.has('breakwater_redis_memory_max_bytes')).toBe(false); // this Redis has no limit
});

test('a total of the ledger that went below zero takes no other figure away: a scrape is answered all the same', async () => {
  const keyPrefix = `t${newId()}`;
  const redis = connectRedis(sharedRedisUrl(), 'scripts', createLogger({ service: 'test', level: 'silent' }));
  afterwards(() => closeRedis(redis));
  await redis.hset(createKeyspace(keyPrefix).ledger, 'resolved:receipts', -1, 'expected:receipts', 3);
  const console = await openConsole({ redisUrl: sharedRedisUrl(), keyPrefix, breakwater: config });
  await waitUntil(async () => (await console.scrape()).has(BREAKER), {
    what: 'the first figures',
    timeoutMs: 60_000,
  });
  const series = await console.scrape();
  expect(series.get('breakwater_ledger_erp_expected_total{target="receipts"}')).toBe(3);
  expect(series.get('breakwater_ledger_erp_resolved_total{target="receipts"}')).toBe(0);
});

test('scrapes write nothing, and show the same closed set of series however often they come', async () => {
  const redis = await startOwnRedis();
  afterwards(() => redis.close());
  const console = await openConsole({
    redisUrl: redis.url,
    keyPrefix: 'bw',
    breakwater: config,
    timing: { historyEveryMs: 86_400_000 }, // one point, and then it writes nothing by itself
  });
  await waitUntil(
    async () => (await console.scrape()).has('breakwater_reconcile_missing{target="receipts"}'),
    {
      what: 'the first reconciliation',
      timeoutMs: 30_000,
    },
  );
  const reader = connectRedis(redis.url, 'scripts', createLogger({ service: 'test', level: 'silent' }));
  afterwards(() => closeRedis(reader));
  const { history } = createKeyspace('bw');
  await waitUntil(async () => (await reader.exists(history)) === 1, { what: 'the point', timeoutMs: 30_000 });
  const writes = async (): Promise<string | undefined> =>
    /^rdb_changes_since_last_save:(\d+)/m.exec(await reader.info('persistence'))?.[1];
  const before = await writes();
  const [first, ...others] = await Promise.all(Array.from({ length: 20 }, () => console.scrape()));
  for (const other of others) expect([...other.keys()]).toEqual([...first!.keys()]);
  expect(await writes()).toBe(before);
  const labels = new Set(
    [...first!.keys()].flatMap((series) => [...series.matchAll(/[{,]([a-z_]+)="/g)].map((match) => match[1])),
  );
  const closed = ['depth', 'destination', 'owner', 'queue', 'source', 'state', 'status', 'target'];
  expect([...labels].filter((label) => !closed.includes(label ?? ''))).toEqual([]);
  expect(first!.get('breakwater_oldest_open_seconds{destination="receipts"}')).toBe(0);
}, 60_000);
