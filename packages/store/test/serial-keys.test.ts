import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import type { Go } from '../src/go.ts';
import { AT_ONCE, BREAKER, Store } from './support/store.ts';

/** Deliveries to an ERP target, one per key named; each key has a gate of its own. */
async function keyed(store: Store, destination: string, keys: readonly string[]): Promise<string[]> {
  const ids: string[] = [];
  for (const key of keys) {
    const [id = ''] = await store.event([{ d: destination, k: `${destination}/${key}` }]);
    ids.push(id);
  }
  return ids;
}

test('two attempts of one key are never in flight at once, and another key is not blocked', async () => {
  const store = new Store();
  const erp = await store.erp(10);
  const [a1 = '', a2 = '', b1 = ''] = await keyed(store, erp, ['a', 'a', 'b']);
  const go = await store.go(a1);
  expect(await store.begin(a2)).toEqual({ kind: 'parked', why: 'cap' });
  await store.go(b1);
  expect(await store.running(erp)).toEqual(expect.arrayContaining([a1, b1]));
  expect(await store.waiting(`${erp}/a`)).toEqual([`${a2}-1`]);
  expect((await store.end(go, 'posted', { handOffToken: newId() })).handOff?.delivery).toBe(a2);
  expect(await store.running(`${erp}/a`)).toEqual([a2]);
});

test('a hand-off whose answer was lost is given again to the resent command, and to nobody else', async () => {
  const store = new Store();
  const erp = await store.erp(10);
  const [a1 = '', a2 = ''] = await keyed(store, erp, ['a', 'a']);
  const go = await store.go(a1);
  await store.begin(a2);
  const handOffToken = newId();
  const first = await store.end(go, 'posted', { handOffToken });
  expect(first.handOff?.delivery).toBe(a2);
  expect((await store.end(go, 'posted', { handOffToken })).handOff).toEqual(first.handOff);
  expect((await store.end(go, 'posted', { handOffToken: newId() })).handOff).toBeUndefined();
  await store.end(first.handOff!, 'posted');
  expect((await store.end(go, 'posted', { handOffToken })).handOff).toBeUndefined(); // done meanwhile
});

test('work without a key waits for nobody but the target', async () => {
  const store = new Store();
  const erp = await store.erp(2);
  const [a = ''] = await keyed(store, erp, ['a']);
  const [none = ''] = await store.event([{ d: erp }]);
  await store.go(a);
  await store.go(none);
});

test('who waits for its key gives no slot of the target away, and who waits for the target none of its key', async () => {
  const store = new Store();
  const erp = await store.erp(1);
  const [a1 = '', a2 = '', b1 = '', b2 = ''] = await keyed(store, erp, ['a', 'a', 'b', 'b']);
  await store.go(a1);
  await store.begin(a2);
  await store.begin(b1);
  expect(await store.running(erp)).toEqual([a1]);
  expect(await store.running(`${erp}/b`)).toEqual([]);
  expect(await store.begin(b2)).toEqual({ kind: 'parked', why: 'cap' });
});

test('waiters of a key survive that the target is closed when their turn comes', async () => {
  const store = new Store(AT_ONCE);
  const erp = await store.erp(10);
  const [a1 = '', a2 = '', a3 = ''] = await keyed(store, erp, ['a', 'a', 'a']);
  const go = await store.go(a1);
  await store.begin(a2);
  await store.begin(a3);
  await store.pause(erp);
  await store.end(go, 'posted');
  const everywhere = async () =>
    [...(await store.waiting(erp)), ...(await store.waiting(`${erp}/a`))].toSorted();
  expect(await everywhere()).toEqual([`${a2}-1`, `${a3}-1`].toSorted());
  expect(await store.waiting(erp)).toHaveLength(1); // one of a key is enough there: only one can run
  for (let sweeps = 0; sweeps < 3; sweeps += 1)
    expect((await store.transitions.sweepGates(10)).alarms).toEqual([]);
  expect(await everywhere()).toEqual([`${a2}-1`, `${a3}-1`].toSorted());

  const alarms = [...(await store.resume(erp))];
  for (let rounds = 0; rounds < 20 && alarms.length > 0; rounds += 1) {
    const { alarmId } = alarms.shift() ?? { alarmId: '' };
    const begun = await store.begin(alarmId.slice(0, alarmId.lastIndexOf('-')), alarmId);
    if (begun.kind === 'go') alarms.push(...(await store.end(begun.go, 'posted')).alarms);
    alarms.push(...(await store.transitions.sweepGates(10)).alarms);
  }
  expect(await store.ledger()).toMatchObject({ [`status:${erp.slice(4)}:sent`]: 3 });
});

test("a waiter that meets a pause when its key's turn comes is held like any other", async () => {
  const store = new Store();
  const erp = await store.erp(10);
  const [a1 = '', a2 = ''] = await keyed(store, erp, ['a', 'a']);
  const go = await store.go(a1);
  await store.begin(a2);
  await store.pause(erp);
  await store.end(go, 'posted');
  expect(await store.waiting(erp)).toEqual([`${a2}-1`]);
  expect(await store.status(a2)).toBe('held');
});

test('a long line of one key does not keep the others waiting: the slot of the target goes to whoever waits there longest', async () => {
  const store = new Store();
  const erp = await store.erp(1);
  const [a1 = '', a2 = '', a3 = '', b1 = ''] = await keyed(store, erp, ['a', 'a', 'a', 'b']);
  const first = await store.go(a1);
  await store.begin(a2);
  await store.begin(a3);
  await store.begin(b1);
  const order: string[] = [];
  let go = (await store.end(first, 'posted', { handOffToken: newId() })).handOff;
  while (go) {
    order.push(go.delivery);
    go = (await store.end(go, 'posted', { handOffToken: newId() })).handOff;
  }
  expect(order).toHaveLength(3);
  expect(order.indexOf(b1)).toBeLessThan(2);
});

test('work of one key is begun in the order of acceptance, whichever alarm rings first', async () => {
  const store = new Store();
  const erp = await store.erp(10);
  const accepted = (await store.now()) - 60_000;
  const ids: string[] = [];
  for (let nth = 0; nth < 6; nth += 1)
    ids.push((await store.event([{ d: erp, k: `${erp}/a` }], { receivedAt: accepted + nth }))[0] ?? '');
  const [first = '', ...others] = ids;
  const go = await store.go(first);
  for (const id of others.toReversed()) await store.begin(id);
  const order: string[] = [];
  let next = (await store.end(go, 'posted', { handOffToken: newId() })).handOff;
  while (next) {
    order.push(next.delivery);
    next = (await store.end(next, 'posted', { handOffToken: newId() })).handOff;
  }
  expect(order).toEqual(others);
});

/** Accepted in this order, one ms after the other. */
async function inOrder(store: Store, erp: string, count: number): Promise<string[]> {
  const from = (await store.now()) - 60_000;
  const ids: string[] = [];
  for (let nth = 0; nth < count; nth += 1)
    ids.push((await store.event([{ d: erp, k: `${erp}/a` }], { receivedAt: from + nth }))[0] ?? '');
  return ids;
}

test('who finds its key free lets those go first that were accepted before and have not begun', async () => {
  const store = new Store();
  const erp = await store.erp(10);
  const [first = '', ...others] = await inOrder(store, erp, 5);
  for (const id of others.toReversed()) expect(await store.begin(id)).toEqual({ kind: 'parked', why: 'cap' });
  let next: Go | undefined = await store.go(first);
  const order: string[] = [];
  while (next) {
    order.push(next.delivery);
    next = (await store.end(next, 'posted', { handOffToken: newId() })).handOff;
  }
  expect(order).toEqual([first, ...others]);
});

test('one that was accepted earlier and fanned out later goes first, as long as the other has not begun', async () => {
  const store = new Store();
  const erp = await store.erp(10);
  const at = (await store.now()) - 60_000;
  const [later = ''] = await store.event([{ d: erp, k: `${erp}/a` }], { receivedAt: at + 1 });
  const [earlier = ''] = await store.event([{ d: erp, k: `${erp}/a` }], { receivedAt: at });
  expect(await store.begin(later)).toEqual({ kind: 'parked', why: 'cap' });
  await store.end(await store.go(earlier), 'posted');
  expect(await store.running(`${erp}/a`)).toEqual([later]);
});

test('an attempt that sent nothing keeps its place before those of its key that were accepted later', async () => {
  const store = new Store();
  const erp = await store.erp(10);
  const [first = '', second = ''] = await inOrder(store, erp, 2);
  await store.end(await store.go(first), 'deferred');
  expect(await store.begin(second)).toEqual({ kind: 'parked', why: 'cap' });
});

test('a failed one that waits for its retry keeps nobody of its key waiting', async () => {
  const store = new Store();
  const erp = await store.erp(10);
  const [first = '', second = ''] = await inOrder(store, erp, 2);
  await store.end(await store.go(first), 'failed');
  await store.go(second);
});

test('a name in the line of a key of which nothing comes any more stops nobody', async () => {
  const store = new Store();
  const erp = await store.erp(10);
  const [id = ''] = await inOrder(store, erp, 1);
  await store.redis.zadd(`${store.keys.gate(`${erp}/a`)}:line`, 1, `${newId()}.${erp}`);
  await store.go(id);
  expect(await store.redis.exists(`${store.keys.gate(`${erp}/a`)}:line`)).toBe(0);
});

test('the key of an attempt whose process died is free again when its lease is over', async () => {
  const store = new Store();
  const erp = await store.erp(10);
  const [a1 = '', a2 = ''] = await keyed(store, erp, ['a', 'a']);
  await store.go(a1);
  await store.begin(a2);
  await store.lapse(a1);
  expect((await store.transitions.sweepGates(10)).alarms.map(({ alarmId }) => alarmId)).toEqual([`${a2}-2`]);
  await store.go(a2);
});

test('a replay at an ERP keeps to the order of its key', async () => {
  const store = new Store();
  const erp = await store.erp(10);
  const [a2 = '', a1 = ''] = await keyed(store, erp, ['a', 'a']);
  await store.attempt(a2, 'failed');
  const go = await store.go(a1);
  const asked = await store.replay(a2);
  const alarmId = asked.kind === 'ok' ? asked.alarm.alarmId : '';
  expect(await store.begin(a2, alarmId)).toEqual({ kind: 'parked', why: 'cap' });
  expect((await store.end(go, 'posted', { handOffToken: newId() })).handOff).toMatchObject({
    delivery: a2,
    alarmId,
    trigger: 'replay',
  });
});

test('when the breaker opens, a slot that was only reserved is given back, at the target and at the key', async () => {
  const store = new Store(AT_ONCE);
  const erp = await store.erp(10, { breaker: { ...BREAKER, consecutive: 1 } });
  const [a1 = '', a2 = '', b1 = ''] = await keyed(store, erp, ['a', 'a', 'b']);
  const go = await store.go(a1);
  const other = await store.go(b1);
  await store.begin(a2);
  await store.end(go, 'posted'); // a2 gets the slot of its key reserved
  expect(await store.running(`${erp}/a`)).toEqual([a2]);
  await store.end(other, 'failed');
  expect(await store.begin(a2)).toEqual({ kind: 'parked', why: 'breaker' });
  expect(await store.running(erp)).toEqual([]);
  expect(await store.running(`${erp}/a`)).toEqual([]);
});

test('a slot that was reserved before the breaker opened blocks neither the probe nor its key afterwards', async () => {
  const store = new Store(AT_ONCE);
  const erp = await store.erp(10, { breaker: { ...BREAKER, consecutive: 1 } });
  const [a1 = '', a2 = '', b1 = '', b2 = '', c1 = ''] = await keyed(store, erp, Array.from('aabbc'));
  const [a, b, c] = [await store.go(a1), await store.go(b1), await store.go(c1)];
  await store.begin(a2);
  await store.begin(b2);
  await store.end(a, 'posted');
  await store.end(b, 'posted'); // a2 and b2 have slots reserved ...
  await store.end(c, 'failed'); // ... when it opens
  await store.redis.hset(store.keys.gate(erp), 'openUntil', 1);
  const [a3 = ''] = await store.event([{ d: erp, k: `${erp}/a` }], {
    receivedAt: (await store.now()) - 60_000, // else a2 would go first
  });
  expect((await store.go(a3)).probe).toBe(true);
  expect(await store.begin(b2)).toEqual({ kind: 'parked', why: 'cap' });
});
