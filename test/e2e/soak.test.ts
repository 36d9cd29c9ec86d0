import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type OwnRedis, startOwnRedis } from '../support/redis.ts';
import { type Soak, startSoak } from '../support/soak.ts';

const FIRST = 500; // opens what is opened once: connections, scripts, the heads of lists
const SECOND = 1_500;

let redis: OwnRedis;
let soak: Soak;
beforeAll(async () => {
  redis = await startOwnRedis({ overrides: { appendonly: 'no' } }); // its memory is asked for, not its patience
  soak = await startSoak(redis.url, 1_000);
}, 60_000);
afterAll(async () => {
  await soak.close();
  await redis.close();
}, 60_000);

test('events that were delivered, given up or never wanted leave Redis as it was: not a key, and no memory', async () => {
  const before = await soak.wave(FIRST);
  const after = await soak.wave(SECOND);
  expect(after.keys).toEqual(before.keys);
  // Counters have more digits; an entry of any list for each event would be a hundred times as much.
  expect(after.dataBytes - before.dataBytes).toBeLessThan(SECOND);
  const ledger = await soak.ledger();
  const events = FIRST + SECOND;
  expect(ledger.created.get('endpoint')).toBe(events * 0.9);
  expect(ledger.expired.get('endpoint')).toBe(events * 0.9);
  expect([...(ledger.deliveries.get('endpoint')?.values() ?? [])].every((now) => now === 0)).toBe(true);
}, 180_000);
