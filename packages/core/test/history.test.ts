import { newId } from '@breakwater/contracts/ids';
import { createLogger } from '@breakwater/runtime/logger';
import { redisNowMs } from '@breakwater/store/clock';
import { closeRedis, connectRedis, type Redis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { fleetHistory } from '../src/history.ts';

let redis: Redis;
beforeAll(() => {
  redis = connectRedis(sharedRedisUrl(), 'scripts', createLogger({ service: 'test', level: 'silent' }));
});
afterAll(() => closeRedis(redis));

/** Points a minute apart, the last one a minute ago; each is expected, resolved, postings and documents. */
async function written(...points: string[]) {
  const keys = createKeyspace(`t${newId()}`);
  const last = Math.floor((await redisNowMs(redis)) / 60_000) * 60_000 - 60_000;
  const times = points.map((_, index) => last - 60_000 * (points.length - 1 - index));
  for (const [index, point] of points.entries())
    await redis.xadd(keys.history, `${times[index]}-0`, 'receipts', point);
  return { times, read: (...targets: string[]) => fleetHistory(redis, keys, '6h', targets) };
}

test('what a person settled otherwise is not owed, and documents that nobody counted are not 0', async () => {
  const { times, read } = await written('10 0 9 9', '12 2 10 ');
  const { targets, stepMs } = await read('receipts');
  expect(stepMs).toBe(60_000);
  expect(targets).toEqual([
    {
      target: 'receipts',
      resetAt: null,
      points: [
        { at: times[0], owed: 10, postings: 9, documents: 9 },
        { at: times[1], owed: 10, postings: 10, documents: null },
      ],
    },
  ]);
});

test('counters that begin anew begin a new curve: points of another ledger are left out, and that is said', async () => {
  const { times, read } = await written('1000 0 1000 ', '1001 0 1001 ', '2 0 1 ', '3 0 3 ');
  const [found] = (await read('receipts')).targets;
  expect(found?.resetAt).toBe(times[2]);
  expect(found?.points.map(({ owed }) => owed)).toEqual([2, 3]);
});

test('a dead letter that is reopened is no new beginning', async () => {
  const { read } = await written('5 1 4 ', '5 0 4 ', '5 0 5 ');
  const [found] = (await read('receipts')).targets;
  expect([found?.resetAt, found?.points.length]).toEqual([null, 3]);
});

test('a target without history has no points', async () => {
  const { read } = await written('1 0 1 ');
  expect((await read('invoices')).targets).toEqual([{ target: 'invoices', resetAt: null, points: [] }]);
});
