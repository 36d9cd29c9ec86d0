import { expect, test } from '@jest/globals';
import { DELIVERY_STATUSES } from '@breakwater/contracts/delivery';
import { deliveryId, erpDestination, newEndpointId, newId } from '@breakwater/contracts/ids';
import { RESERVED_SOURCE } from '@breakwater/contracts/reserved';
import { readEvent } from '../src/events.ts';
import { readLedger } from '../src/ledger.ts';
import type { PlanEntry, RecordInput } from '../src/transitions.ts';
import { AT_ONCE, Store } from './support/store.ts';

const input = (plan: readonly PlanEntry[], more: Partial<RecordInput> = {}): RecordInput => ({
  eventKey: newId(),
  source: 'shop',
  operator: 'default',
  plan,
  fields: { eventId: 'e', type: 't', body: '{}', encoding: 'utf8' },
  from: 0,
  count: 100,
  replan: false,
  ...more,
});

const endpoints = (count: number): PlanEntry[] =>
  Array.from({ length: count }, () => ({ d: newEndpointId() }));

test('what applications publish is counted for each operator, since all of them share its source', async () => {
  const store = new Store();
  const published = (operator: string, plan: readonly PlanEntry[]): RecordInput =>
    input(plan, { source: RESERVED_SOURCE, operator });
  const wanted = published('acme', endpoints(1));
  await store.transitions.recordEvent(wanted);
  await store.transitions.recordEvent(wanted); // a repeated fan-out
  await store.transitions.recordEvent(published('acme', []));
  await store.transitions.recordEvent(published('globex', []));
  await store.transitions.recordEvent(input([], { operator: 'globex' }));
  const { accepted, unrouted, published: own, publishedUnrouted } = await readLedger(store.redis, store.keys);
  expect(Object.fromEntries(accepted)).toEqual({ [RESERVED_SOURCE]: 3, shop: 1 });
  expect(Object.fromEntries(unrouted)).toEqual({ [RESERVED_SOURCE]: 2, shop: 1 });
  expect(Object.fromEntries(own)).toEqual({ acme: 2, globex: 1 });
  expect(Object.fromEntries(publishedUnrouted)).toEqual({ acme: 1, globex: 1 });
});

test('an event makes one pending, counted, armed delivery per destination', async () => {
  const store = new Store();
  const plan = [{ d: newEndpointId() }, { d: erpDestination('erp'), k: 'erp_erp/k', r: 'shop:e' }];
  const event = input(plan);
  const recorded = await store.transitions.recordEvent(event);
  const ids = plan.map(({ d }) => deliveryId(event.eventKey, d));
  expect(recorded).toEqual({ total: 2, alarms: ids.map((id) => ({ alarmId: `${id}-1`, waitMs: 0 })) });
  expect(await store.alarms('deliveries')).toEqual([`${ids[0]}-1`]);
  expect(await store.alarms('erp')).toEqual([`${ids[1]}-1`]);
  expect(await store.ledger()).toEqual({
    'accepted:shop': 1,
    'created:endpoint': 1,
    'created:erp': 1,
    'status:endpoint:pending': 1,
    'status:erp:pending': 1,
    'expected:erp': 1,
  });
  expect(await store.redis.zrange(store.keys.byStatus('default', 'pending'), 0, '-1')).toEqual(
    [...ids].toSorted(),
  );
  expect(await store.field(ids[1] ?? '', 'reference')).toBe('shop:e');
});

test('a repeated fan-out follows the stored plan, not the configuration of today', async () => {
  const store = new Store();
  const event = input(endpoints(2));
  const first = await store.transitions.recordEvent(event);
  const second = await store.transitions.recordEvent({
    ...event,
    plan: endpoints(3),
    fields: { eventId: 'other', body: 'other' },
  });
  expect(second).toEqual(first);
  expect(await store.ledger()).toMatchObject({ 'accepted:shop': 1, 'status:endpoint:pending': 2 });
  expect((await readEvent(store.redis, store.keys, event.eventKey))?.eventId).toBe('e');
});

test('a fan-out that died in the middle of 250 destinations is finished by the next, 100 at a time, and queues only what never began', async () => {
  const store = new Store(AT_ONCE);
  const event = input(endpoints(250));
  const record = async (from: number) =>
    (await store.transitions.recordEvent({ ...event, from })).alarms.map(({ alarmId }) => alarmId);
  const first = await record(0);
  const second = await record(100);
  expect([first.length, second.length]).toEqual([100, 100]);
  // Here it dies. Meanwhile some were sent, one is in flight, one has failed once.
  const [sent = '', flying = '', failed = ''] = first.map((alarmId) => alarmId.slice(0, -2));
  await store.attempt(sent, 'sent');
  await store.go(flying);
  await store.attempt(failed, 'failed');
  const again = [...(await record(0)), ...(await record(100)), ...(await record(200))];
  expect(again).toHaveLength(247);
  for (const id of [sent, flying, failed]) expect(again).not.toContain(`${id}-1`);
  expect(new Set(again).size).toBe(247);
  expect(await store.ledger()).toMatchObject({
    'accepted:shop': 1,
    'status:endpoint:pending': 248,
    'status:endpoint:sent': 1,
    'status:endpoint:failed': 1,
  });
  expect(await store.redis.zcard(store.keys.alarms('deliveries'))).toBe(249);
});

test.each([
  { was: 'sent', posted: true, make: async (store: Store, id: string) => store.attempt(id, 'posted') },
  { was: 'failed', make: async (store: Store, id: string) => store.attempt(id, 'failed') },
  { was: 'dead_letter', make: async (store: Store, id: string) => store.attempt(id, 'rejected') },
  {
    was: 'resolved',
    make: async (store: Store, id: string) => {
      await store.attempt(id, 'rejected');
      await store.transitions.resolve(id, 'default', 'by hand', 'tester');
    },
  },
  {
    was: 'resolved',
    how: ', its document made by hand,',
    posted: true,
    make: async (store: Store, id: string) => {
      await store.attempt(id, 'rejected');
      await store.transitions.resolve(id, 'default', 'by hand', 'tester', true);
    },
  },
  {
    was: 'resolved',
    how: ', its document told of later,',
    posted: true,
    make: async (store: Store, id: string) => {
      await store.attempt(id, 'rejected');
      await store.transitions.resolve(id, 'default', 'by hand', 'tester');
      await store.transitions.resolve(id, 'default', 'it is there', 'tester', true);
    },
  },
  { was: 'pending', make: async () => undefined },
] as {
  was: string;
  how?: string;
  posted?: true;
  make: (store: Store, id: string) => Promise<unknown>;
}[])(
  'a record that is lost while $was$how and made again is counted once, and so is its posting',
  async (lost) => {
    const store = new Store(AT_ONCE);
    const erp = await store.erp();
    const [event, other] = [input([{ d: erp }]), input([{ d: erp }])];
    for (const each of [event, other]) await store.transitions.recordEvent(each);
    const id = deliveryId(event.eventKey, erp);
    await lost.make(store, id);
    expect(await store.status(id)).toBe(lost.was);
    await store.redis.del(store.keys.delivery(id));
    await store.transitions.recordEvent(event);
    await store.attempt(id, lost.posted ? 'already_posted' : 'posted');
    const label = erp.slice('erp_'.length);
    const ledger = await store.ledger();
    const count = (field: string): number => ledger[field] ?? 0;
    expect(count(`expected:${label}`)).toBe(2);
    expect(count(`created:${label}`)).toBe(2);
    expect(count(`resolved:${label}`)).toBe(0);
    expect(count(`postings:${label}`)).toBe(1);
    expect(
      Object.fromEntries(DELIVERY_STATUSES.map((status) => [status, count(`status:${label}:${status}`)])),
    ).toEqual({
      pending: 1,
      failed: 0,
      held: 0,
      sent: 1,
      dead_letter: 0,
      resolved: 0,
    });
    const listed = [];
    for (const status of DELIVERY_STATUSES)
      if ((await store.redis.zscore(store.keys.byStatus('default', status), id)) !== null)
        listed.push(status);
    expect(listed).toEqual(['sent']);
    expect(await store.redis.zrange(store.keys.deadGroups('default'), 0, '-1')).toEqual([]);
    expect(await store.redis.exists(store.keys.settled)).toBe(0);
  },
);

test('an event that nobody wants is unrouted: counted once, listed, and kept with its body', async () => {
  const store = new Store();
  const event = input([]);
  expect(await store.transitions.recordEvent(event)).toEqual({ total: 0, alarms: [] });
  expect(await store.transitions.recordEvent(event)).toEqual({ total: 0, alarms: [] });
  expect(await store.ledger()).toEqual({ 'accepted:shop': 1, 'unrouted:shop': 1 });
  expect(await store.redis.zrange(store.keys.unrouted, 0, '-1')).toEqual([event.eventKey]);
  expect((await readEvent(store.redis, store.keys, event.eventKey))?.body.toString()).toBe('{}');
});

test('an unrouted event is fanned out once the configuration is right, only when asked to, and only once', async () => {
  const store = new Store();
  const event = input([]);
  await store.transitions.recordEvent(event);
  const plan = endpoints(1);
  expect(await store.transitions.recordEvent({ ...event, plan })).toEqual({ total: 0, alarms: [] });
  expect(await store.transitions.recordEvent({ ...event, plan: [], replan: true })).toEqual({
    total: 0,
    alarms: [],
  });
  expect(await store.redis.zcard(store.keys.unrouted)).toBe(1);
  expect((await store.transitions.recordEvent({ ...event, plan, replan: true })).total).toBe(1);
  expect(await store.redis.zcard(store.keys.unrouted)).toBe(0);
  expect((await store.transitions.recordEvent({ ...event, plan: endpoints(2), replan: true })).total).toBe(1);
  expect(await store.ledger()).toMatchObject({
    'accepted:shop': 1,
    'unrouted:shop': 1,
    'status:endpoint:pending': 1,
  });
});

test('asking for a new plan changes nothing for an event that had one', async () => {
  const store = new Store();
  const event = input(endpoints(1));
  const first = await store.transitions.recordEvent(event);
  expect(await store.transitions.recordEvent({ ...event, plan: endpoints(2), replan: true })).toEqual(first);
});
