import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { createLogger } from '@breakwater/runtime/logger';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { closeRedis, connectRedis, type Redis } from '../src/connection.ts';
import { createKeyspace, type Keyspace } from '../src/keys.ts';
import { HOUR_MS, HOURS_KEPT, noteSourceKnown, noteSourceUse, readSourceUse } from '../src/source-use.ts';

let redis: Redis;
let keys: Keyspace;
beforeAll(() => {
  redis = connectRedis(sharedRedisUrl(), 'scripts', createLogger({ service: 'test', level: 'silent' }));
  keys = createKeyspace(`t-${newId()}`);
});
afterAll(() => closeRedis(redis));

const secret = { id: 'current', value: 'first value' };
const use = (source: string) => readSourceUse(redis, keys, source);

test('a source of which nothing is known has no times and no counts', async () => {
  const { observedSince, lastSeenAt, lastAcceptedAt, hours, ofSecret } = await use('nobody');
  expect([observedSince, lastSeenAt, lastAcceptedAt, hours.size, ofSecret(secret)]).toEqual([
    undefined,
    undefined,
    undefined,
    0,
    { knownSince: undefined, lastUsedAt: undefined },
  ]);
});

test('of several processes the latest use stays, whoever tells last, and their counts add up', async () => {
  const note = (at: number) =>
    noteSourceUse(redis, keys, 'order', {
      lastSeenAt: at,
      lastAcceptedAt: at,
      hours: new Map([[400_000, 2]]),
      secrets: [{ secret, lastUsedAt: at }],
    });
  await note(2_000);
  await note(1_000);
  const { lastSeenAt, lastAcceptedAt, hours, ofSecret } = await use('order');
  expect([lastSeenAt, lastAcceptedAt, ofSecret(secret).lastUsedAt]).toEqual([2_000, 2_000, 2_000]);
  expect([...hours]).toEqual([[400_000, 4]]);
});

test('since when a secret is known stays what the first process said', async () => {
  await noteSourceKnown(redis, keys, 'known', [secret], 5_000);
  await noteSourceKnown(redis, keys, 'known', [secret, { id: 'next', value: 'x' }], 9_000);
  const { observedSince, ofSecret } = await use('known');
  expect([observedSince, ofSecret(secret).knownSince]).toEqual([5_000, 5_000]);
  expect(ofSecret({ id: 'next', value: 'x' })).toEqual({ knownSince: 9_000, lastUsedAt: undefined });
});

test('a value under the id of another secret does not inherit its uses', async () => {
  await noteSourceKnown(redis, keys, 'renamed', [secret], 5_000);
  await noteSourceUse(redis, keys, 'renamed', { hours: new Map(), secrets: [{ secret, lastUsedAt: 7_000 }] });
  const { ofSecret } = await use('renamed');
  expect(ofSecret(secret)).toEqual({ knownSince: 5_000, lastUsedAt: 7_000 });
  expect(ofSecret({ id: 'current', value: 'second value' })).toEqual({});
  expect(ofSecret({ id: 'old', value: 'first value' })).toEqual({});
});

test('what is kept of a secret is too little to confirm a guess', async () => {
  const fields = (await redis.hkeys(keys.sourceUse('renamed'))).filter((field) => field.includes('current'));
  expect(fields).toHaveLength(2);
  for (const field of fields) expect(field).toMatch(/^(?:secret|since):current:[A-Za-z0-9]{3}$/);
});

test('hourly counts stay within two weeks, however long a source sends, and an hour that is told late harms none', async () => {
  const first = 300_000;
  const count = (from: number, hours: number) =>
    noteSourceUse(redis, keys, 'ring', {
      hours: new Map(Array.from({ length: hours }, (_, index) => [from + index, 1])),
      secrets: [],
    });
  await count(first, HOURS_KEPT);
  await count(first + HOURS_KEPT, 10);
  await count(first, 1); // its slot holds a later hour now
  const { hours } = await use('ring');
  expect(hours.size).toBe(HOURS_KEPT);
  expect(Math.min(...hours.keys())).toBe(first + 10);
  expect(Math.max(...hours.keys())).toBe(first + HOURS_KEPT + 9);
  expect(await redis.hlen(keys.sourceUse('ring'))).toBe(HOURS_KEPT);
});

test('a process whose clock is a year ahead notes nothing for later than now', async () => {
  const ahead = Date.now() + 365 * 86_400_000;
  const hour = Math.floor(Date.now() / HOUR_MS);
  await noteSourceKnown(redis, keys, 'ahead', [secret], ahead);
  const note = (at: number) =>
    noteSourceUse(redis, keys, 'ahead', {
      lastSeenAt: at,
      lastAcceptedAt: at,
      hours: new Map([[Math.floor(at / HOUR_MS), 3]]),
      secrets: [{ secret, lastUsedAt: at }],
    });
  await note(ahead);
  await note(Date.now());
  const { observedSince, lastSeenAt, lastAcceptedAt, hours, ofSecret } = await use('ahead');
  const { knownSince, lastUsedAt } = ofSecret(secret);
  for (const at of [observedSince, lastSeenAt, lastAcceptedAt, knownSince, lastUsedAt]) {
    expect(at).toBeGreaterThan(Date.now() - 60_000);
    expect(at).toBeLessThanOrEqual(Date.now());
  }
  expect([...hours.keys()].every((each) => each >= hour && each <= hour + 1)).toBe(true);
  expect([...hours.values()].reduce((sum, each) => sum + each)).toBe(6);
});
