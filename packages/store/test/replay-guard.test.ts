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

const claim = (hash: string, key: string) =>
  claimReplayGuard(redis, keys, hash, { key, id: `id|of ${key}` }, 60_000);

test('signed bytes go on under their first event id, again and again', async () => {
  expect(await claim('a', 'first')).toEqual({ kind: 'ours' });
  expect(await claim('a', 'first')).toEqual({ kind: 'ours' });
});

test('another id of the same bytes is a replay only once the first event exists: a guard alone proves nothing', async () => {
  await claim('b', 'first');
  expect(await claim('b', 'second')).toEqual({ kind: 'busy' });
  await redis.set(keys.dedupe('first'), 'job');
  expect(await claim('b', 'second')).toEqual({ kind: 'replayed', eventId: 'id|of first' });
  expect(await claim('b', 'first')).toEqual({ kind: 'ours' });
});

test('so it is when the dedupe record is gone but the event is not', async () => {
  await claim('c', 'recorded');
  await redis.hset(keys.event('recorded'), 'plan', '[]');
  expect(await claim('c', 'second')).toEqual({ kind: 'replayed', eventId: 'id|of recorded' });
});

test('a claim that never became an event is taken over: nothing acknowledged may hang on it', async () => {
  await claim('d', 'died');
  const [, at] = (await redis.get(keys.replayGuard('d')))?.split('|') ?? [];
  await redis.set(keys.replayGuard('d'), `died|${Number(at) - 60_000}`);
  expect(await claim('d', 'second')).toEqual({ kind: 'ours' });
  expect(await claim('d', 'died')).toEqual({ kind: 'busy' });
});

test('a guard that an older version left still tells a replay, of an event whose id it did not note', async () => {
  await redis.set(keys.replayGuard('e'), `old|${Date.now()}`);
  await redis.set(keys.dedupe('old'), 'job');
  expect(await claim('e', 'second')).toEqual({ kind: 'replayed', eventId: undefined });
});
