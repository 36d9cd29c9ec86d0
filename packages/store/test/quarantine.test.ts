import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { createLogger } from '@breakwater/runtime/logger';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { closeRedis, connectRedis, type Redis } from '../src/connection.ts';
import { createKeyspace } from '../src/keys.ts';
import { listQuarantine, readQuarantine, releaseQuarantine, writeQuarantine } from '../src/quarantine.ts';

let redis: Redis;
beforeAll(() => {
  redis = connectRedis(sharedRedisUrl(), 'scripts', createLogger({ service: 'test', level: 'silent' }));
});
afterAll(() => closeRedis(redis));

const DAY = 86_400_000;

function open() {
  const keys = createKeyspace(`t${newId()}`);
  const keep = (source: string, { verified = false, receivedAt = Date.now(), id = newId() } = {}) =>
    writeQuarantine(
      redis,
      keys,
      {
        id,
        operator: 'default',
        source,
        receivedAt,
        code: verified ? 'event_id_missing' : 'signature_invalid',
        message: 'It is wrong.',
        method: 'POST',
        query: '',
        headers: { 'x-signature': ['x'] },
        body: Buffer.from('{}'),
      },
      verified,
    );
  const flood = async (source: string, count: number, verified = false): Promise<void> =>
    void (await Promise.all(Array.from({ length: count }, () => keep(source, { verified }))));
  const count = async (source: string): Promise<number> => (await listQuarantine(redis, keys, source)).length;
  const stored = async (): Promise<number> => (await redis.keys(`${keys.prefix}quarantine-entry:*`)).length;
  return { keys, keep, flood, count, stored };
}

test('a flood of forged requests pushes out none whose sender knows the secret', async () => {
  const { keys, keep, flood, stored } = open();
  await keep('shop', { id: 'genuine', verified: true });
  await flood('shop', 150);
  const entries = await listQuarantine(redis, keys, 'shop');
  expect(entries.map(({ id }) => id)).toContain('genuine');
  expect([entries.length, await stored()]).toEqual([101, 101]);
  for (const name of await redis.keys(`${keys.prefix}quarantine*`))
    expect(await redis.pttl(name)).toBeGreaterThan(DAY - 60_000);
  await keep('shop', { id: 'last' });
  expect((await listQuarantine(redis, keys, 'shop')).map(({ id }) => id)).toContain('last');
  await flood('shop', 150, true);
  expect([(await listQuarantine(redis, keys, 'shop')).length, await stored()]).toEqual([200, 200]);
});

test('strangers fill no more than 500 entries, however many sources there are', async () => {
  const { flood, count, stored } = open();
  await flood('genuine', 100, true);
  for (let source = 0; source < 7; source += 1) await flood(`source-${source}`, 100);
  expect(await stored()).toBe(600);
  const kept = await Promise.all(Array.from({ length: 7 }, (_, source) => count(`source-${source}`)));
  // The oldest went. Which of two that came in one millisecond is older, nobody knows.
  expect([kept[0], (kept[1] ?? 0) + (kept[2] ?? 0), ...kept.slice(3)]).toEqual([0, 100, 100, 100, 100, 100]);
  expect(await count('genuine')).toBe(100);
});

test('a receiver whose clock is days ahead pushes out nothing of the others', async () => {
  const { keep, flood, count } = open();
  await flood('shop', 3);
  await keep('shop', { receivedAt: Date.now() + 30 * DAY });
  await keep('shop', { receivedAt: Date.now() - 30 * DAY });
  expect(await count('shop')).toBe(5);
});

test('what was released is gone from every list, audited once', async () => {
  const { keys, keep, stored } = open();
  const by = { actor: 'test', reason: 'secret corrected' };
  for (const verified of [true, false]) {
    await keep('shop', { id: 'one', verified });
    const entry = await readQuarantine(redis, keys, 'one');
    await Promise.all([1, 2, 3].map(() => releaseQuarantine(redis, keys, entry!, by)));
  }
  expect(await stored()).toBe(0);
  expect(await redis.keys(`${keys.prefix}quarantine*`)).toEqual([]);
  expect(await redis.xlen(keys.audit)).toBe(2);
});
