import { BreakwaterConfig } from '@breakwater/contracts/config';
import { createLogger } from '@breakwater/runtime/logger';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { expect, test } from '@jest/globals';
import { startOwnRedis } from '../../../test/support/redis.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { afterwards, openConsole } from './support.ts';

const breakwater = BreakwaterConfig.parse({
  erpTargets: {
    receipts: {
      owner: 'integration',
      document: '{}',
      adapter: { kind: 'http', baseUrl: 'http://127.0.0.1:9', post: { path: '"/"' } },
    },
  },
});
const EVERY_MS = 1_000;

test('history is one, of however many consoles; it survives them and Redis, and an outage is a gap in it', async () => {
  const own = await startOwnRedis();
  afterwards(() => own.close());
  const redis = connectRedis(own.url, 'scripts', createLogger({ service: 'test', level: 'silent' }));
  afterwards(() => closeRedis(redis));
  const keys = createKeyspace('bw');
  const ids = async () => (await redis.xrange(keys.history, '-', '+')).map(([id]) => id);
  const points = (count: number, what: string) =>
    waitUntil(async () => ((await ids()).length >= count ? ids() : undefined), { what, timeoutMs: 60_000 });
  const open = () =>
    openConsole({
      redisUrl: own.url,
      keyPrefix: 'bw',
      breakwater,
      timing: { historyEveryMs: EVERY_MS, snapshotValidMs: 3_000 },
    });

  const [first, second] = [await open(), await open()];
  const early = await points(2, 'the first points');
  await first.stop();
  await second.stop();
  // Each is the start of an interval, so no two are of the same one.
  for (const id of early) expect(Number(/^(\d+)-0$/.exec(id)?.[1]) % EVERY_MS).toBe(0);

  const third = await open();
  const later = await points(early.length + 3, 'points of another console');
  expect(later.slice(0, early.length)).toEqual(early);

  await own.kill();
  await waitUntil(async () => !(await third.ready()), { what: 'the console to notice', timeoutMs: 60_000 });
  await own.restart();
  const known = await points(later.length, 'what was written before');
  await points(known.length + 1, 'points after the outage');
  expect((await ids()).slice(0, later.length)).toEqual(later);
  expect(await third.ready()).toBe(true);
}, 120_000);
