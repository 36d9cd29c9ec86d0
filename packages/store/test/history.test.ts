import { expect, test } from '@jest/globals';
import { redisNowMs } from '../src/clock.ts';
import { noteHistory, readHistory, type TargetFigures } from '../src/history.ts';
import { Store } from './support/store.ts';

const DAY_MS = 86_400_000;
const figures = (expected: number, documents: number | null = null): TargetFigures => ({
  expected,
  resolved: 1,
  postings: expected - 1,
  documents,
});
const of = (expected: number, documents: number | null = null): Map<string, TargetFigures> =>
  new Map([['receipts', figures(expected, documents)]]);

/** An interval of a whole day, which does not end while the test runs. */
function begin() {
  const { redis, keys } = new Store();
  const ids = async () => (await redis.xrange(keys.history, '-', '+')).map(([id]) => id);
  return {
    redis,
    keys,
    ids,
    note: (expected = 1) => noteHistory(redis, keys, of(expected), DAY_MS),
    write: (at: number, text = '1 1 0 ') => redis.xadd(keys.history, `${at}-0`, 'receipts', text),
  };
}

test('of many consoles one writes the point of an interval, whose id is its start', async () => {
  const { note, ids, redis } = begin();
  const wrote = await Promise.all(Array.from({ length: 20 }, () => note()));
  expect(wrote.filter(Boolean)).toHaveLength(1);
  const today = Math.floor((await redisNowMs(redis)) / DAY_MS) * DAY_MS;
  expect(await ids()).toEqual([`${today}-0`]);
});

test('points of a clock that was ahead go away when it is put right, and those of the past stay', async () => {
  const { note, write, ids, redis } = begin();
  const now = await redisNowMs(redis);
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  for (const at of [today - 2 * DAY_MS, today - DAY_MS, now + DAY_MS, now + 2 * DAY_MS]) await write(at);
  expect(await note()).toBe(true);
  expect(await ids()).toEqual([`${today - 2 * DAY_MS}-0`, `${today - DAY_MS}-0`, `${today}-0`]);
  expect(await note()).toBe(false);
});

test('a clock that steps back by moments leaves a gap and takes nothing away', async () => {
  const { note, write, ids, redis } = begin();
  const ahead = (await redisNowMs(redis)) + 30_000;
  await write(ahead);
  expect(await note()).toBe(false);
  expect(await ids()).toEqual([`${ahead}-0`]);
});

test('a day of history is kept and no more', async () => {
  const { note, redis, keys } = begin();
  const pipeline = redis.pipeline();
  for (let at = 1; at <= 9_500; at += 1) pipeline.xadd(keys.history, `${at}-0`, 'receipts', '1 0 1 1');
  await pipeline.exec();
  expect(await note()).toBe(true);
  const kept = await redis.xlen(keys.history);
  expect(kept).toBeGreaterThanOrEqual(8_640);
  expect(kept).toBeLessThan(8_840); // Redis frees a block at a time
});

test('of each step the last point is read, and a step without one is left out', async () => {
  const { write, redis, keys } = begin();
  const stepMs = 60_000;
  const step = Math.floor((await redisNowMs(redis)) / stepMs) * stepMs;
  await write(step - 100 * stepMs, '1 0 0 ');
  await write(step - 5 * stepMs, '5 1 3 ');
  await write(step - 5 * stepMs + 10_000, '6 1 5 5');
  await write(step - 2 * stepMs, '7 1 6 ');
  const points = await readHistory(redis, keys, { rangeMs: 60 * stepMs, stepMs });
  expect(points).toEqual([
    { at: step - 5 * stepMs + 10_000, targets: of(6, 5) },
    { at: step - 2 * stepMs, targets: of(7) },
  ]);
});

test('what was written is read as it was, and without any ERP target nothing is written', async () => {
  const { redis, keys } = begin();
  expect(await noteHistory(redis, keys, new Map())).toBe(false);
  expect(await readHistory(redis, keys, { rangeMs: 3_600_000, stepMs: 10_000 })).toEqual([]);
  const both = new Map([
    ['receipts', figures(7, 6)],
    ['invoices', figures(3)],
  ]);
  await noteHistory(redis, keys, both);
  const points = await readHistory(redis, keys, { rangeMs: 3_600_000, stepMs: 10_000 });
  expect(points.map(({ targets }) => targets)).toEqual([both]);
});
