import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { deliveryId, erpDestination, eventKey, newId } from '@breakwater/contracts/ids';
import { openDeliveries } from '@breakwater/core/delivery-deps';
import { latestFindings, latestReconciliation } from '@breakwater/core/reconciliation-results';
import { startSimulator } from '@breakwater/erp-simulator/app';
import { loadConfig } from '@breakwater/runtime/config';
import { readEnvironment } from '@breakwater/runtime/environment';
import { createLogger } from '@breakwater/runtime/logger';
import { expect, test } from '@jest/globals';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { afterwards, openConsole } from './support.ts';

const logger = createLogger({ service: 'test', level: 'silent' });
const CONFIG = fileURLToPath(new URL('../../../breakwater.config.yaml', import.meta.url));
const PAST_MS = 120_000;

/** The demonstration with its simulator, reconciled every second, and postings that were made two minutes ago. */
async function openWorld() {
  const simulator = await startSimulator({ host: '127.0.0.1', port: 0, logger });
  afterwards(() => simulator.close());
  const erpUrl = `http://127.0.0.1:${simulator.port}`;
  const env = { ERP_SIMULATOR_URL: erpUrl, BREAKWATER_CONFIG: CONFIG };
  const loaded = loadConfig(readEnvironment(env), env);
  const breakwater: BreakwaterConfig = {
    ...loaded,
    reconciliation: { ...loaded.reconciliation, every: 1_000, deepEvery: 1_000 },
  };
  const redisUrl = sharedRedisUrl();
  const keyPrefix = `t${newId()}`;
  const work = openDeliveries(
    { redisUrl, keyPrefix, breakwater },
    { logger, defer: (_label, close) => afterwards(close) },
  );
  const { redis, keys, transitions } = work;
  const settings = breakwater.reconciliation;
  const send = (method: string, path: string, body?: object): Promise<Response> =>
    fetch(`${erpUrl}/api/${path}`, {
      method,
      headers: { 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  const post = async (reference: string): Promise<string> => {
    const receipt = { external_reference: reference, order_id: 'o', warehouse: 'W', lines: [] };
    return ((await (await send('POST', 'receipts', receipt)).json()) as { receipt_no: string }).receipt_no;
  };
  const accept = async (eventId: string): Promise<string> => {
    const event = eventKey('default', 'demo-payments', eventId);
    const destination = erpDestination('receipts');
    await transitions.recordEvent({
      eventKey: event,
      source: 'demo-payments',
      operator: 'default',
      plan: [{ d: destination }],
      fields: { eventId, type: 'order.paid', receivedAt: Date.now(), encoding: 'utf8', body: '{}' },
      from: 0,
      count: 100,
      replan: false,
    });
    await redis.zadd(keys.recorded, Date.now() - PAST_MS, event);
    return deliveryId(event, destination);
  };
  return {
    ...work,
    post,
    accept,
    cancel: (receipt: string) => send('DELETE', `receipts/${receipt}`),
    faults: (faults: object) => send('PUT', 'faults', faults),
    async posted(eventId: string): Promise<string> {
      const id = await accept(eventId);
      const begun = await transitions.beginAttempt(id, `${id}-1`, newId());
      if (begun.kind !== 'go') throw new Error(`expected go, got ${begun.kind}`);
      const { delivery, alarmId, attempt } = begun.go;
      const end = {
        delivery,
        alarmId,
        attempt,
        outcome: 'posted',
        class: 'posted',
        code: '',
        handOffToken: '',
      } as const;
      await transitions.endAttempt({ ...end, receipt: await post(eventId) });
      await redis.hset(keys.delivery(id), 'sentAt', Date.now() - PAST_MS);
      return id;
    },
    /** A console whose ERP is `asked`: one that can only be looked up, reference by reference. */
    openAsking: (asked: string, lookupsPerSecond: number) =>
      openConsole({
        redisUrl,
        keyPrefix,
        breakwater: {
          ...breakwater,
          reconciliation: { ...settings, lookupsPerSecond, deepEvery: 3_600_000 },
          erpTargets: lookedUpAt(breakwater, asked),
        },
      }),
    part: (name: string) => redis.hget(keys.reconciliation('receipts'), name),
    openConsole: (more: Partial<typeof settings> = {}, listedBy?: string) =>
      openConsole({
        redisUrl,
        keyPrefix,
        breakwater: {
          ...breakwater,
          reconciliation: { ...settings, ...more },
          ...(listedBy !== undefined && { erpTargets: listedFrom(breakwater, listedBy) }),
        },
      }),
    latest: () => latestReconciliation(work, 'receipts', settings),
    findings: () => latestFindings(work, 'receipts'),
  };
}

/** The target's ERP is another one, which has a minute to list its documents. */
function listedFrom({ erpTargets }: BreakwaterConfig, baseUrl: string): BreakwaterConfig['erpTargets'] {
  const receipts = erpTargets['receipts'];
  if (receipts?.adapter.kind !== 'http' || !receipts.adapter.list) throw new Error('no such target');
  const list = { ...receipts.adapter.list, timeout: 60_000 };
  return { receipts: { ...receipts, adapter: { ...receipts.adapter, baseUrl, list } } };
}

/** The target's ERP is another one, which cannot list. */
function lookedUpAt({ erpTargets }: BreakwaterConfig, baseUrl: string): BreakwaterConfig['erpTargets'] {
  const receipts = erpTargets['receipts'];
  if (receipts?.adapter.kind !== 'http') throw new Error('no such target');
  const { list: _list, find, ...adapter } = receipts.adapter;
  if (!find) throw new Error('no look-up');
  const { sameEvent: _same, ...byReference } = find; // the events here are empty
  return { receipts: { ...receipts, adapter: { ...adapter, find: byReference, baseUrl } } };
}

/** An ERP that holds one document for every reference, and counts how often it is asked for each. */
async function startAskedErp() {
  const asked = new Map<string, number>();
  const erp = { asked, isDown: false, url: '' };
  const server = createServer((request, response) => {
    const reference = new URL(request.url ?? '', 'http://erp').searchParams.get('external_reference') ?? '';
    if (reference !== '') asked.set(reference, (asked.get(reference) ?? 0) + 1);
    const receipts = [{ receipt_no: `GR-${reference}`, external_reference: reference }];
    response.writeHead(erp.isDown ? 503 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ receipts }));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterwards(() => {
    server.closeAllConnections();
    server.close();
  });
  return Object.assign(erp, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

const metric = (kind: string): string => `breakwater_reconcile_${kind}{target="receipts"}`;

test('what a scheduled reconciliation finds is a gauge and a list of names, and both heal', async () => {
  const world = await openWorld();
  const id = await world.posted('evt-1');
  const lost = await world.posted('evt-2');
  const [one, two] = [await world.openConsole(), await world.openConsole()];
  const both = (duplicate: number, missing: number): Promise<boolean> =>
    waitUntil(
      async () => {
        for (const replica of [one, two]) {
          const series = await replica.scrape();
          if (series.get(metric('duplicate')) !== duplicate || series.get(metric('missing')) !== missing)
            return false;
        }
        return true;
      },
      { what: `${duplicate} duplicates and ${missing} missing`, timeoutMs: 40_000 },
    );
  await both(0, 0);
  const second = await world.post('evt-1');
  await world.redis.del(world.keys.delivery(lost));
  await both(1, 1);
  expect(await world.findings()).toMatchObject([
    { kind: 'duplicate', delivery: id, receipts: ['GR-000001', second] },
    { kind: 'missing', why: 'record_lost', delivery: lost },
  ]);
  await world.cancel(second);
  await both(0, 1);
}, 90_000);

test('while the ERP is down the records are compared, what it told last stands, and that it was not asked is told', async () => {
  const world = await openWorld();
  await world.posted('evt-1');
  const second = await world.post('evt-1');
  const console = await world.openConsole();
  const shown = (kind: string, value: number): Promise<boolean> =>
    waitUntil(async () => (await console.scrape()).get(metric(kind)) === value, {
      what: `${value} ${kind}`,
      timeoutMs: 30_000,
    });
  await shown('duplicate', 1);
  await world.faults({ down: true });
  const lost = await world.posted('evt-2').catch(() => world.accept('evt-3')); // the ERP takes nothing
  await world.redis.del(world.keys.delivery(lost));
  await waitUntil(async () => (await world.latest())?.deep.kind === 'skipped', {
    what: 'the ERP to be skipped',
    timeoutMs: 30_000,
  });
  await shown('missing', (await world.findings()).filter(({ kind }) => kind === 'missing').length);
  await shown('duplicate', 1);
  expect(
    (await console.scrape()).get('breakwater_reconcile_age_seconds{target="receipts",depth="erp"}'),
  ).toBeGreaterThan(0);
  await world.faults({});
  await world.cancel(second);
  await shown('duplicate', 0);
}, 90_000);

test('an ERP that takes long to be compared keeps its own records, and those of other targets, from waiting', async () => {
  const world = await openWorld();
  const held: ServerResponse[] = [];
  const slow = createServer((_request, response) => void held.push(response)).listen(0, '127.0.0.1');
  await once(slow, 'listening');
  afterwards(() => {
    slow.closeAllConnections();
    slow.close();
  });
  const console = await world.openConsole({}, `http://127.0.0.1:${(slow.address() as AddressInfo).port}`);
  const isAsked = (): Promise<boolean> =>
    waitUntil(() => held.length > 0, { what: 'the ERP to be asked for its documents', timeoutMs: 30_000 });
  await isAsked();
  const rounds = new Set<number>();
  await waitUntil(
    async () => {
      const latest = await world.latest();
      if (latest && held.every(({ destroyed }) => !destroyed)) rounds.add(latest.startedAt);
      return rounds.size >= 3;
    },
    { what: 'three rounds through the records while the ERP is being asked', timeoutMs: 25_000 },
  );
  await waitUntil(async () => (await console.scrape()).get(metric('missing')) === 0, {
    what: 'the gauge to be shown meanwhile',
    timeoutMs: 20_000,
  });
  await world.redis.del(world.keys.delivery(await world.posted('evt-1')));
  await waitUntil(async () => (await console.scrape()).get(metric('missing')) === 1, {
    what: 'a lost record to be found meanwhile',
    timeoutMs: 20_000,
  });
}, 120_000);

const PER_SECOND = 20; // and as many in a page
const POSTED = 3 * PER_SECOND;

test('an ERP that is asked for longer than a console lives is asked for everything in the end, and for its first range', async () => {
  const world = await openWorld();
  for (let nth = 0; nth < POSTED; nth += 1) await world.posted(`evt-${nth}`);
  const erp = await startAskedErp();
  let before: string | null = null;
  let lives = 0;
  let firstEndedAt = 0;
  for (; (await world.part('deep')) === null && lives <= 10; lives += 1) {
    const console = await world.openAsking(erp.url, PER_SECOND);
    await waitUntil(
      async () => (await world.part('progress')) !== before || (await world.part('deep')) !== null,
      { what: 'one page more', timeoutMs: 30_000 },
    );
    before = await world.part('progress');
    await console.stop();
    firstEndedAt ||= Date.now();
  }
  expect(lives).toBeGreaterThan(2);
  const deep = JSON.parse((await world.part('deep')) ?? '{}') as { at: number; counts: object };
  expect(deep.at).toBeLessThan(firstEndedAt);
  expect(deep.counts).toMatchObject({ missing: 0, duplicate: 0, unknown: 0 });
  expect(erp.asked.size).toBe(POSTED);
  expect(await world.part('progress')).toBe('');
}, 120_000);

test('an ERP that falls silent on the way is not asked again for what it has told', async () => {
  const world = await openWorld();
  for (let nth = 0; nth < POSTED; nth += 1) await world.posted(`evt-${nth}`);
  const erp = await startAskedErp();
  await world.openAsking(erp.url, PER_SECOND);
  await waitUntil(() => world.part('progress'), { what: 'the first page', timeoutMs: 30_000 });
  const told = [...erp.asked.keys()].slice(0, PER_SECOND);
  erp.isDown = true;
  await waitUntil(async () => (await world.part('asked'))?.includes('skipped') ?? false, {
    what: 'the ERP to be given up for now',
    timeoutMs: 30_000,
  });
  erp.isDown = false;
  await waitUntil(() => world.part('deep'), { what: 'the ERP to have told all', timeoutMs: 60_000 });
  expect(told.map((reference) => erp.asked.get(reference))).toEqual(told.map(() => 1));
}, 120_000);

test('a reconciliation that has never succeeded has an age, and no figures', async () => {
  const world = await openWorld();
  await world.redis.set(world.keys.recorded, 'what no walk can read');
  const console = await world.openConsole();
  const ages = ['records', 'erp'].map(
    (depth) => `breakwater_reconcile_age_seconds{target="receipts",depth="${depth}"}`,
  );
  await waitUntil(
    async () => {
      const series = await console.scrape();
      return ages.every((age) => (series.get(age) ?? 0) > 2);
    },
    { what: 'both ages to grow', timeoutMs: 30_000 },
  );
  expect((await console.scrape()).has(metric('missing'))).toBe(false);
}, 60_000);

test('a delivery that nobody would come back to is armed again', async () => {
  const world = await openWorld();
  const id = await world.accept('evt-1');
  await world.redis.zrem(world.keys.alarms('erp'), `${id}-1`);
  await world.openConsole();
  await waitUntil(() => world.redis.zscore(world.keys.alarms('erp'), `${id}-1`), {
    what: 'the alarm to be set again',
    timeoutMs: 30_000,
  });
}, 60_000);

test('a result that nobody refreshed is not shown as fresh, and its age is', async () => {
  const world = await openWorld();
  const runner = await world.openConsole();
  await waitUntil(() => world.latest(), { what: 'a result', timeoutMs: 30_000 });
  await runner.stop();
  const summary = JSON.parse(
    (await world.redis.hget(world.keys.reconciliation('receipts'), 'summary')) ?? '',
  ) as object;
  await world.redis.hset(
    world.keys.reconciliation('receipts'),
    'summary',
    JSON.stringify({ ...summary, startedAt: Date.now() - 60_000 }),
  );
  expect(await world.latest()).toMatchObject({ stale: true });
  const idle = await world.openConsole({ every: 0 });
  const age = 'breakwater_reconcile_age_seconds{target="receipts",depth="records"}';
  await waitUntil(async () => (await idle.scrape()).has(age), { what: 'the age', timeoutMs: 30_000 });
  const series = await idle.scrape();
  expect(series.get(age)).toBeGreaterThanOrEqual(59);
  expect(series.has(metric('missing'))).toBe(false);
}, 60_000);
