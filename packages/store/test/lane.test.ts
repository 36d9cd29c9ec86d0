import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { AT_ONCE, Store } from './support/store.ts';

/** Two that failed once, each at an endpoint of its own, and a lane for one of them. */
async function twoRetries() {
  const store = new Store({ ...AT_ONCE, retriesInFlight: 1 });
  const a = await store.delivery(await store.endpoint(10));
  const b = await store.delivery(await store.endpoint(10));
  await store.attempt(a, 'failed');
  await store.attempt(b, 'failed');
  return { store, a, b };
}

test('however many retries are in flight at slow endpoints, they share a lane, and first attempts pass it', async () => {
  const { store, a, b } = await twoRetries();
  await store.go(a);
  expect(await store.begin(b)).toEqual({ kind: 'parked', why: 'cap' });
  expect(await store.waiting('retries')).toEqual([`${b}-2`]);
  expect(await store.number(b, 'attempts')).toBe(1);
  const fresh = await store.delivery(b.slice(b.indexOf('.') + 1));
  expect((await store.go(fresh)).attempt).toBe(1);
});

test('the end of a retry hands its place in the lane to the next one, whatever its endpoint', async () => {
  const { store, a, b } = await twoRetries();
  const go = await store.go(a);
  await store.begin(b);
  expect((await store.end(go, 'sent', { handOffToken: newId() })).handOff).toMatchObject({
    delivery: b,
    attempt: 2,
  });
  expect(await store.running('retries')).toEqual([b]);
});

test('the end of a first attempt frees nothing in the lane', async () => {
  const { store, a, b } = await twoRetries();
  await store.go(a);
  await store.begin(b);
  const fresh = await store.delivery(await store.endpoint(10));
  expect((await store.attempt(fresh, 'sent', { handOffToken: newId() })).handOff).toBeUndefined();
  expect(await store.running('retries')).toEqual([a]);
});

test('a place in the lane that a dead process held comes back when its lease is over', async () => {
  const { store, a, b } = await twoRetries();
  await store.go(a);
  await store.begin(b);
  await store.redis.zadd(`${store.keys.gate('retries')}:running`, 'XX', (await store.now()) - 1, a);
  expect((await store.transitions.sweepGates(10)).alarms).toEqual([{ alarmId: `${b}-3`, waitMs: 0 }]);
});

test('a waiter in the lane whose own endpoint is full waits there, and the lane goes on with the next', async () => {
  const store = new Store({ ...AT_ONCE, retriesInFlight: 1 });
  const full = await store.endpoint(1);
  const [a, b, c] = [
    await store.delivery(await store.endpoint(1)),
    await store.delivery(full),
    await store.delivery(await store.endpoint(1)),
  ];
  for (const id of [a, b, c]) await store.attempt(id, 'failed');
  const go = await store.go(a);
  for (const id of [b, c]) {
    const now = await store.now();
    while ((await store.now()) === now); // they wait in the order of their time
    await store.begin(id);
  }
  await store.go(await store.delivery(full));
  expect((await store.end(go, 'sent')).alarms).toEqual([{ alarmId: `${c}-3`, waitMs: 0 }]);
  expect(await store.waiting(full)).toEqual([`${b}-2`]);
});

test('a delivery that is settled otherwise leaves the lane', async () => {
  const { store, a, b } = await twoRetries();
  await store.go(a);
  await store.begin(b);
  await store.end(await store.goReplay(b), 'sent');
  expect(await store.waiting('retries')).toEqual([]);
});
