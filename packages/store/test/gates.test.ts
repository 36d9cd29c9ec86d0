import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { AT_ONCE, Store } from './support/store.ts';

async function deliveries(store: Store, endpoint: string, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push(await store.delivery(endpoint));
  return ids;
}

/** Two alarms that park in one millisecond wait in the order of their names; a test that counts on age keeps them apart. */
async function parkInTurn(store: Store, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    const now = await store.now();
    while ((await store.now()) === now);
    expect(await store.begin(id)).toEqual({ kind: 'parked', why: 'cap' });
  }
}

test('an alarm that meets a full gate parks: no attempt, no alarm, no polling, and its place in the line', async () => {
  const store = new Store();
  const endpoint = await store.endpoint(2);
  const [a = '', b = '', c = ''] = await deliveries(store, endpoint, 3);
  await store.go(a);
  await store.go(b);
  expect(await store.begin(c)).toEqual({ kind: 'parked', why: 'cap' });
  expect(await store.begin(c)).toEqual({ kind: 'parked', why: 'cap' });
  expect(await store.waiting(endpoint)).toEqual([`${c}-1`]);
  expect(await store.alarms()).not.toContain(`${c}-1`);
  expect(await store.number(c, 'attempts')).toBe(0);
  expect(await store.status(c)).toBe('pending');
});

test('the end of an attempt starts the oldest waiter in the same step when the worker takes it over', async () => {
  const store = new Store();
  const endpoint = await store.endpoint(1);
  const [a = '', b = '', c = ''] = await deliveries(store, endpoint, 3);
  const go = await store.go(a);
  await parkInTurn(store, [b, c]);
  const answer = await store.end(go, 'sent', { handOffToken: newId() });
  expect(answer.handOff).toMatchObject({ delivery: b, attempt: 1, trigger: 'schedule', leaseMs: 60_000 });
  expect(answer.alarms).toEqual([]);
  expect(await store.running(endpoint)).toEqual([b]);
  expect(await store.waiting(endpoint)).toEqual([`${c}-1`]);
  if (!answer.handOff) throw new Error('no hand-off');
  expect((await store.end(answer.handOff, 'sent')).status).toBe('sent');
});

test('else the oldest waiter gets the slot reserved and an alarm under a new name', async () => {
  const store = new Store();
  const endpoint = await store.endpoint(1);
  const [a = '', b = '', c = ''] = await deliveries(store, endpoint, 3);
  const go = await store.go(a);
  await parkInTurn(store, [b, c]);
  expect((await store.end(go, 'sent')).alarms).toEqual([{ alarmId: `${b}-2`, waitMs: 0 }]);
  expect(await store.begin(c)).toEqual({ kind: 'parked', why: 'cap' }); // the slot is kept for b
  expect((await store.go(b)).attempt).toBe(1);
});

test('a waiter whose releaser died before it set the alarm is found: the reservation ends, the alarm stays', async () => {
  const store = new Store({ graceMs: 0 });
  const endpoint = await store.endpoint(1);
  const [a = '', b = '', c = ''] = await deliveries(store, endpoint, 3);
  const go = await store.go(a);
  await parkInTurn(store, [b, c]);
  await store.end(go, 'sent'); // and here it dies, without adding the job of b
  expect((await store.transitions.sweepGates(10)).alarms).toEqual([]);
  await store.redis.zadd(`${store.keys.gate(endpoint)}:running`, 'XX', (await store.now()) - 1, b); // the reservation runs out
  expect((await store.transitions.sweepAlarms('deliveries', 10)).map(({ alarmId }) => alarmId)).toContain(
    `${b}-2`,
  );
  expect((await store.transitions.sweepGates(10)).alarms.map(({ alarmId }) => alarmId)).toEqual([`${c}-2`]);
  await store.attempt(c, 'sent');
  await store.attempt(b, 'sent');
  expect(await store.alarms()).toEqual([]);
});

test('waiters whose releasers all died before they ended their attempt are found when the leases are over', async () => {
  const store = new Store();
  const endpoint = await store.endpoint(1);
  const [a = '', b = ''] = await deliveries(store, endpoint, 2);
  await store.go(a);
  await store.begin(b);
  expect((await store.transitions.sweepGates(10)).alarms).toEqual([]);
  await store.lapse(a);
  expect((await store.transitions.sweepGates(10)).alarms).toEqual([{ alarmId: `${b}-2`, waitMs: 0 }]);
  expect(await store.redis.zcard(store.keys.gates)).toBe(0);
});

test('a pause begins nothing and holds what rings; pausing itself touches no delivery', async () => {
  const store = new Store();
  const endpoint = await store.endpoint(5);
  const [a = '', b = ''] = await deliveries(store, endpoint, 2);
  await store.pause(endpoint);
  expect(await store.status(a)).toBe('pending');
  expect(await store.begin(a)).toEqual({ kind: 'parked', why: 'paused' });
  expect(await store.status(a)).toBe('held');
  expect(await store.status(b)).toBe('pending');
  expect((await store.transitions.sweepGates(10)).alarms).toEqual([]);
  expect(await store.transitions.sweepAlarms('deliveries', 10)).toEqual([]);
  expect(await store.ledger()).toMatchObject({ 'status:endpoint:held': 1, 'status:endpoint:pending': 1 });
});

test('who was about to begin when the pause came gives the slot back and keeps the place in the line', async () => {
  const store = new Store();
  const endpoint = await store.endpoint(1);
  const [a = '', b = '', c = ''] = await deliveries(store, endpoint, 3);
  const go = await store.go(a);
  await parkInTurn(store, [b, c]);
  await store.end(go, 'sent'); // the slot is kept for b
  await store.pause(endpoint);
  expect(await store.begin(b)).toEqual({ kind: 'parked', why: 'paused' });
  expect(await store.running(endpoint)).toEqual([]);
  expect(await store.waiting(endpoint)).toEqual([`${b}-2`, `${c}-1`]);
});

test('an attempt in flight at the pause ends normally and releases nobody', async () => {
  const store = new Store();
  const endpoint = await store.endpoint(1);
  const [a = '', b = ''] = await deliveries(store, endpoint, 2);
  const go = await store.go(a);
  await store.begin(b);
  await store.pause(endpoint);
  expect(await store.end(go, 'sent', { handOffToken: newId() })).toMatchObject({
    status: 'sent',
    handOff: undefined,
    alarms: [],
  });
  expect(await store.waiting(endpoint)).toEqual([`${b}-1`]);
});

test('resuming is a ramp: one at first, one more with each success, up to the cap', async () => {
  const store = new Store({ ...AT_ONCE });
  const endpoint = await store.endpoint(3);
  const ids = await deliveries(store, endpoint, 8);
  await store.pause(endpoint);
  for (const id of ids) await store.begin(id);
  const released = async (alarms: readonly { alarmId: string }[]): Promise<string[]> =>
    alarms.map(({ alarmId }) => alarmId.slice(0, alarmId.lastIndexOf('-')));
  const [first = '', ...none] = await released(await store.resume(endpoint));
  expect(none).toEqual([]);
  expect(await store.status(first)).toBe('pending');
  const second = await released((await store.attempt(first, 'sent')).alarms);
  expect(second).toHaveLength(2);
  const third = await released((await store.attempt(second[0] ?? '', 'sent')).alarms);
  expect(third).toHaveLength(2); // the cap of 3: one still runs
  expect(await store.redis.hget(store.keys.gate(endpoint), 'ramp')).toBeNull();
});

test('a held delivery whose turn comes while a replay of it is in flight is held no more', async () => {
  const store = new Store({ ...AT_ONCE });
  const endpoint = await store.endpoint(3);
  const [first = '', second = ''] = await deliveries(store, endpoint, 2);
  await store.pause(endpoint);
  for (const id of [first, second]) await store.begin(id);
  await store.resume(endpoint); // lets one go
  await store.goReplay(second);
  await store.attempt(first, 'sent');
  expect([await store.status(second), await store.waiting(endpoint)]).toEqual(['pending', []]);
});

test('what failed before the pause is failed again after it, with its schedule where it was', async () => {
  const store = new Store(AT_ONCE);
  const endpoint = await store.endpoint(1);
  const id = await store.delivery(endpoint);
  await store.attempt(id, 'failed');
  await store.pause(endpoint);
  await store.begin(id);
  expect(await store.status(id)).toBe('held');
  await store.resume(endpoint);
  expect(await store.status(id)).toBe('failed');
  expect(await store.number(id, 'scheduleMade')).toBe(1);
});

test('a timeout halves the effective cap, down to one; each success gives one back', async () => {
  const store = new Store({ ...AT_ONCE, scheduleMs: Array.from({ length: 20 }, () => 0) });
  const endpoint = await store.endpoint(8);
  const ramp = async () => store.redis.hget(store.keys.gate(endpoint), 'ramp');
  const id = await store.delivery(endpoint);
  const seen: (string | null)[] = [];
  for (let n = 0; n < 4; n += 1) {
    await store.attempt(id, 'failed', { class: 'timeout_response' });
    seen.push(await ramp());
  }
  expect(seen).toEqual(['4', '2', '1', '1']);
  await store.attempt(id, 'failed', { class: 'http_5xx' });
  expect(await ramp()).toBe('1');
  for (const other of await deliveries(store, endpoint, 7)) await store.attempt(other, 'sent');
  expect(await ramp()).toBeNull();
});

test('a waiter that was settled otherwise leaves the line, and the slot goes to the next', async () => {
  const store = new Store();
  const endpoint = await store.endpoint(1);
  const [a = '', b = '', c = ''] = await deliveries(store, endpoint, 3);
  const go = await store.go(a);
  await parkInTurn(store, [b, c]);
  await store.end(await store.goReplay(b), 'sent');
  expect(await store.waiting(endpoint)).toEqual([`${c}-1`]);
  expect((await store.end(go, 'sent', { handOffToken: newId() })).handOff?.delivery).toBe(c);
});

test('a delivery that was begun is in no line any more', async () => {
  const store = new Store();
  const endpoint = await store.endpoint(1);
  const [a = '', b = ''] = await deliveries(store, endpoint, 2);
  await store.go(a);
  await store.begin(b);
  await store.lapse(a); // the slot is free, and b's own alarm rings once more before anybody releases it
  await store.go(b);
  expect(await store.waiting(endpoint)).toEqual([]);
});
