import { expect, test } from '@jest/globals';
import { newEndpointId } from '@breakwater/contracts/ids';
import { readRecentAnswers } from '../src/recent-answers.ts';
import { AT_ONCE, Store } from './support/store.ts';

const HOUR_MS = 3_600_000;

test('the recent answers of a destination are its attempts with a result, each once', async () => {
  const store = new Store({ ...AT_ONCE, scheduleMs: [0, 0, 0] });
  const [endpoint, other] = [newEndpointId(), newEndpointId()];
  const read = async () => readRecentAnswers(store.redis, store.keys, [endpoint, other]);
  expect(await read()).toEqual([
    { attempts: 0, sent: 0, successRate: null },
    { attempts: 0, sent: 0, successRate: null },
  ]);
  const [good = '', bad = ''] = [
    ...(await store.event([{ d: endpoint }])),
    ...(await store.event([{ d: endpoint }])),
  ];
  await store.attempt(good, 'sent');
  await store.attempt(bad, 'failed');
  await store.attempt(bad, 'failed');
  await store.attempt(bad, 'sent');
  expect(await read()).toEqual([
    { attempts: 4, sent: 2, successRate: 0.5 },
    { attempts: 0, sent: 0, successRate: null },
  ]);
});

test('answers older than a day count no more, and take no room for ever', async () => {
  const store = new Store(AT_ONCE);
  const { redis, keys } = store;
  const endpoint = newEndpointId();
  const [id = ''] = await store.event([{ d: endpoint }]);
  await store.attempt(id, 'sent');
  const hour = Math.floor((await store.now()) / HOUR_MS);
  const at = (age: number): [string, string] => [`h${(hour - age) % 24}`, `${hour - age}:3:1`];
  await redis.hset(keys.recent(endpoint), Object.fromEntries([at(23), at(30)]));
  expect(await readRecentAnswers(redis, keys, [endpoint])).toEqual([
    { attempts: 5, sent: 4, successRate: 0.8 },
  ]);
  expect(await redis.pttl(keys.recent(endpoint))).toBeGreaterThan(23 * HOUR_MS);
  // A new hour takes the place of the one a day before it.
  await redis.hset(keys.recent(endpoint), `h${hour % 24}`, `${hour - 24}:100:100`);
  const [next = ''] = await store.event([{ d: endpoint }]);
  await store.attempt(next, 'sent');
  expect(await redis.hget(keys.recent(endpoint), `h${hour % 24}`)).toMatch(/:1:0$/);
});
