import { expect, test } from '@jest/globals';
import { newEndpointId, newId } from '@breakwater/contracts/ids';
import { backfillIndexes, readIndexState } from '../src/index-backfill.ts';
import { startOwnRedis } from '../../../test/support/redis.ts';
import { AT_ONCE, Store } from './support/store.ts';

const SECOND = 1_000;
const isIndex = (key: string): boolean => /:(?:index:.*|open:.*|dead-groups:.*|recorded)$/.test(key);

async function keysOf({ redis, keys }: Store): Promise<string[]> {
  const found = new Set<string>();
  let cursor = '0';
  do {
    const [next, some] = await redis.scan(cursor, 'MATCH', `${keys.prefix}*`, 'COUNT', 1_000);
    for (const key of some) found.add(key);
    cursor = next;
  } while (cursor !== '0');
  return [...found].toSorted();
}

async function indexes(store: Store): Promise<Record<string, string[]>> {
  const names = (await keysOf(store)).filter((key) => isIndex(key));
  return Object.fromEntries(
    await Promise.all(
      names.map(async (key) => [key, await store.redis.zrange(key, 0, '-1', 'WITHSCORES')] as const),
    ),
  );
}

/** As if every record had been written before there was an index; or even before records named their class. */
async function forget(store: Store, since: 'indexes' | 'classes' = 'classes'): Promise<void> {
  for (const key of await keysOf(store)) {
    if (isIndex(key)) await store.redis.del(key);
    else if (since === 'classes' && key.startsWith(store.keys.delivery('')))
      await store.redis.hdel(key, 'class');
  }
}

const run = (store: Store, budgetMs = 60 * SECOND, identity = newId()) =>
  backfillIndexes(store.redis, store.keys, identity, budgetMs);
const handOver = (store: Store) => store.redis.del(store.keys.lease('index-backfill'));

test.each(['indexes', 'classes'] as const)(
  'records from before the %s are listed as if the indexes had always been there',
  async (since) => {
    const store = new Store({ ...AT_ONCE, scheduleMs: [0, 0] });
    const [a, b, erp] = [newEndpointId(), newEndpointId(), await store.erp()];
    for (let n = 0; n < 12; n += 1) {
      const [one = '', two = '', three = ''] = await store.event(
        [{ d: a }, { d: b }, { d: erp }],
        n % 3 === 0 ? { source: 'bank', operator: 'acme' } : {},
      );
      if (n % 2 === 0) await store.attempt(one, 'failed');
      if (n % 4 === 0) await store.attempt(one, 'failed', { class: 'timeout_response' });
      await store.attempt(two, n % 5 === 0 ? 'sent' : 'gone');
      if (n % 4 === 1) await store.attempt(three, 'posted');
      if (n === 7) await store.transitions.resolve(two, 'default', 'settled', 'me');
    }
    const always = await indexes(store);
    expect(Object.keys(always).length).toBeGreaterThan(20);
    await forget(store, since);
    expect(await run(store)).toEqual({ complete: false, events: 12 });
    expect(await indexes(store)).toEqual(always);
    expect(await readIndexState(store.redis, store.keys)).toBe('once_more');
  },
);

test('where there is nothing from before, there is nothing to do, and nobody looks again', async () => {
  const store = new Store();
  expect(await run(store)).toEqual({ complete: true, events: 0 });
  const id = await store.delivery();
  await forget(store);
  expect(await run(store)).toEqual({ complete: true, events: 0 });
  expect(await store.redis.zscore(store.keys.byOperator('default'), id)).toBeNull();
});

test('what a process of the former version writes after the first pass is found by the second one, an hour later', async () => {
  const store = new Store();
  const { redis, keys } = store;
  await store.delivery();
  await run(store);
  const late = await store.delivery();
  await forget(store);
  await handOver(store);
  expect(await run(store)).toEqual({ complete: false, events: 0 }); // not within the hour
  expect(Number(await redis.hget(keys.indexBackfill, 'notBefore'))).toBeGreaterThan(await store.now());
  await redis.hset(keys.indexBackfill, 'notBefore', 1);
  await handOver(store);
  expect(await run(store)).toEqual({ complete: true, events: 2 });
  expect(await redis.zscore(keys.byOperator('default'), late)).not.toBeNull();
});

test('dead letters that a process of the former version moved meanwhile are in no group that is not theirs', async () => {
  const store = new Store({ ...AT_ONCE, scheduleMs: [0] });
  const { redis, keys } = store;
  const endpoint = newEndpointId();
  const [dead, other, sent, gone] = [
    await store.delivery(endpoint),
    await store.delivery(endpoint),
    await store.delivery(endpoint),
    await store.delivery(endpoint),
  ];
  for (const id of [dead, other, sent, gone]) await store.attempt(id, 'failed');
  await run(store);
  const group = (failureClass: string) => keys.byDeadGroup('default', `${endpoint}:${failureClass}`);
  expect(await redis.zcard(group('http_5xx'))).toBe(4);
  // A replay that failed in another way, one that was sent, and one whose retention was over: no group is told.
  await redis.hset(keys.delivery(other), 'class', 'http_4xx');
  await redis.hset(keys.delivery(sent), 'class', '', 'status', 'sent');
  await redis.del(keys.delivery(gone), keys.event(gone.split('.')[0] ?? ''));
  await redis.hset(keys.indexBackfill, 'notBefore', 1);
  await handOver(store);
  expect(await run(store)).toEqual({ complete: true, events: 3 });
  expect(await redis.zrange(group('http_5xx'), 0, '-1')).toEqual([dead]);
  expect(await redis.zrange(group('http_4xx'), 0, '-1')).toEqual([other]);
  expect(await redis.zrange(keys.deadGroups('default'), 0, '-1', 'WITHSCORES')).toEqual([
    `${endpoint}:http_4xx`,
    '1',
    `${endpoint}:http_5xx`,
    '1',
  ]);
});

test('one process does it at a time, and another one goes on where it died', async () => {
  const own = await startOwnRedis({ overrides: { appendonly: 'no' } });
  try {
    const store = new Store({}, own.url);
    for (let n = 0; n < 100; n += 1)
      await Promise.all(Array.from({ length: 30 }, () => store.event([{ d: newEndpointId() }])));
    await forget(store);
    const first = await run(store, 0, 'first');
    expect([first.complete, first.events > 0, first.events < 1_500]).toEqual([false, true, true]);
    expect(await run(store, 0, 'second')).toEqual({ complete: false, events: 0 });
    await handOver(store); // its lease has lapsed
    const rest = await run(store, 60 * SECOND, 'second');
    expect(first.events + rest.events).toBeGreaterThanOrEqual(3_000);
    expect(rest.events).toBeLessThan(3_000); // it did not begin again
    expect(await store.redis.zcard(store.keys.byOperator('default'))).toBe(3_000);
  } finally {
    await own.close();
  }
}, 60_000);

test('after a restart of Redis in the middle every record is found all the same', async () => {
  const own = await startOwnRedis({ overrides: { appendfsync: 'everysec' } });
  try {
    const store = new Store({}, own.url);
    for (let n = 0; n < 40; n += 1)
      await Promise.all(Array.from({ length: 30 }, () => store.event([{ d: newEndpointId() }])));
    await forget(store);
    await run(store, 0, 'me');
    const { cursor, run: before } = await store.redis.hgetall(store.keys.indexBackfill);
    expect(cursor).not.toBe('0');
    await own.stop();
    await own.restart();
    await run(store, 60 * SECOND, 'me');
    expect(await store.redis.hget(store.keys.indexBackfill, 'run')).not.toBe(before);
    expect(await store.redis.zcard(store.keys.byOperator('default'))).toBe(1_200);
  } finally {
    await own.close();
  }
}, 60_000);
