import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type OwnRedis, startOwnRedis } from '../../../test/support/redis.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { closeRedis, connectRedis, type Redis } from '../src/connection.ts';
import { silent } from './support/store.ts';

let server: OwnRedis;
let redis: Redis;
beforeEach(async () => {
  server = await startOwnRedis();
  redis = connectRedis(server.url, 'producer', silent);
  await waitUntil(() => redis.status === 'ready', { what: 'the connection' });
});
afterEach(async () => {
  await closeRedis(redis);
  await server.close();
});

test('what a producer asks for in one turn goes out in one piece, and each gets its own answer, in order', async () => {
  const asked = Promise.all(Array.from({ length: 100 }, async () => redis.incr('count')));
  expect(redis.stream.writableLength).toBeGreaterThan(100 * 'incr count'.length); // all of them wait
  expect(await asked).toEqual(Array.from({ length: 100 }, (_, index) => index + 1));
  expect(redis.stream.writableLength).toBe(0);
});

test('a lone command does not wait for another', async () => {
  expect(await redis.set('alone', 'here')).toBe('OK');
  expect(await redis.get('alone')).toBe('here');
});

test('what was asked for in the turn in which the connection is lost does not hang, and the next connection works', async () => {
  const asked = Promise.allSettled(['a', 'b'].map(async (name) => redis.set(name, name)));
  const again = once(redis, 'ready');
  redis.disconnect(true);
  for (const { status } of await asked) expect(['fulfilled', 'rejected']).toContain(status);
  await again;
  expect(await redis.set('c', 'c')).toBe('OK');
});
