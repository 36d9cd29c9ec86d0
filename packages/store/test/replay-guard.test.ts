import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { createLogger } from '@breakwater/runtime/logger';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { closeRedis, connectRedis, type Redis } from '../src/connection.ts';
import { createKeyspace, type Keyspace } from '../src/keys.ts';
import { claimReplayGuard } from '../src/replay-guard.ts';

let redis: Redis;
let keys: Keyspace;
beforeAll(() => {
  redis = connectRedis(sharedRedisUrl(), 'scripts', createLogger({ service: 'test', level: 'silent' }));
  keys = createKeyspace(`t-${newId()}`);
});
afterAll(() => closeRedis(redis));

const claim = (hash: string, event: string) => claimReplayGuard(redis, keys, hash, event, 60_000);

test('signed bytes go on under their first event id, again and again', async () => {
  expect(await claim('a', 'first')).toBe('ours');
  expect(await claim('a', 'first')).toBe('ours');
});

test('another id of the same bytes is a replay only once the first event exists: a guard alone proves nothing', async () => {
  await claim('b', 'first');
  expect(await claim('b', 'second')).toBe('busy');
  await redis.set(keys.dedupe('first'), 'job');
  expect(await claim('b', 'second')).toBe('replayed');
  expect(await claim('b', 'first')).toBe('ours');
});

test('so it is when the dedupe record is gone but the event is not', async () => {
  await claim('c', 'recorded');
  await redis.hset(keys.event('recorded'), 'plan', '[]');
  expect(await claim('c', 'second')).toBe('replayed');
});

test('a claim that never became an event is taken over: nothing acknowledged may hang on it', async () => {
  await claim('d', 'died');
  const [, at] = (await redis.get(keys.replayGuard('d')))?.split('|') ?? [];
  await redis.set(keys.replayGuard('d'), `died|${Number(at) - 60_000}`);
  expect(await claim('d', 'second')).toBe('ours');
  expect(await claim('d', 'died')).toBe('busy');
});
