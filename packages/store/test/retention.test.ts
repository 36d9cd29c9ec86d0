import { expect, test } from '@jest/globals';
import { deliveryId, newEndpointId } from '@breakwater/contracts/ids';
import { readLedger } from '../src/ledger.ts';
import { sweepRetention } from '../src/retention.ts';
import { readShadows } from '../src/shadows.ts';
import { writeSample } from '../src/deliveries.ts';
import { AT_ONCE, Store } from './support/store.ts';

const KEEP_MS = 60_000;
const eventOf = (id: string): string => id.slice(0, id.indexOf('.'));
const create = (): Store => new Store({ ...AT_ONCE, retentionMs: KEEP_MS, scheduleMs: [0, 0] });
const sweep = (store: Store) => sweepRetention(store.redis, store.keys, KEEP_MS);

/** As if the last change of these had been longer ago than the retention, and the sweeper's time had come. */
async function age(store: Store, ...ids: string[]): Promise<void> {
  const { redis, keys } = store;
  for (const id of ids) {
    const past = (await store.now()) - KEEP_MS - 1;
    if (id.includes('.')) await redis.hset(keys.delivery(id), 'statusAt', past);
    const event = id.includes('.') ? eventOf(id) : id;
    await redis.hset(keys.event(event), 'recordedAt', past);
    await redis.zadd(keys.retention, 1, event);
  }
}

/** What is left; a destination's own gate and recent answers are no part of an event. */
async function residue(store: Store): Promise<string[]> {
  const keys: string[] = [];
  let cursor = '0';
  do {
    const [next, found] = await store.redis.scan(cursor, 'MATCH', `${store.keys.prefix}*`, 'COUNT', 1_000);
    keys.push(...found);
    cursor = next;
  } while (cursor !== '0');
  return keys
    .map((key) => key.slice(store.keys.prefix.length))
    .filter((key) => !/^(gate|recent):[^:]+$/.test(key))
    .toSorted();
}

test('what ended long enough ago leaves nothing behind but counters', async () => {
  const store = create();
  const erp = await store.erp();
  const [sent = '', dead = '', resolved = ''] = await store.event([
    { d: newEndpointId() },
    { d: newEndpointId() },
    { d: erp, k: `${erp}/key` },
  ]);
  await store.attempt(sent, 'sent');
  await store.attempt(dead, 'gone');
  await store.attempt(resolved, 'rejected');
  await store.transitions.resolve(resolved, 'default', 'why', 'me', true);
  await writeSample(store.redis, store.keys, sent, 1, { contentType: '', text: 'x', truncated: false });
  await age(store, sent, dead, resolved);
  expect(await sweep(store)).toEqual({ events: 1, deliveries: 3, unrouted: 0, more: false });
  // The shadow of the dead letter is brought into line by the sweeper.
  expect((await readShadows(store.redis, store.keys, 10)).map(({ delivery }) => delivery)).toEqual(
    expect.arrayContaining([dead]),
  );
  expect(await residue(store)).toEqual(['audit', 'ledger', 'shadows']);
});

test('a delivery that still lives is never taken, and its event and siblings stay with it', async () => {
  const paused = newEndpointId();
  const lives: readonly [string, (store: Store, id: string) => Promise<unknown>][] = [
    ['pending', async () => undefined],
    ['failed, a retry due', (store, id) => store.attempt(id, 'failed')],
    ['in flight', (store, id) => store.go(id)],
    [
      'held',
      async (store, id) => {
        await store.pause(paused);
        expect((await store.begin(id)).kind).toBe('parked');
      },
    ],
    [
      'dead, a replay asked for',
      async (store, id) => {
        await store.attempt(id, 'gone');
        await store.replay(id);
      },
    ],
    [
      'sent, a replay in flight',
      async (store, id) => {
        await store.attempt(id, 'sent');
        await store.goReplay(id, { acknowledged: true });
      },
    ],
    [
      'dead, its schedule begun again',
      async (store, id) => {
        await store.attempt(id, 'gone');
        await store.replay(id, { mode: 'restart' });
      },
    ],
  ];
  for (const [what, make] of lives) {
    const store = create();
    const [id = '', sibling = ''] = await store.event([{ d: paused }, { d: newEndpointId() }]);
    await store.attempt(sibling, 'sent');
    await make(store, id);
    await age(store, sibling, id);
    expect({ what, ...(await sweep(store)) }).toMatchObject({ what, events: 0, deliveries: 0 });
    expect(await store.status(sibling)).toBe('sent');
    expect(await store.redis.exists(store.keys.event(eventOf(id)))).toBe(1);
    expect((await sweep(store)).more).toBe(false); // it is looked at again later, not all the time
  }
});

test('what ended a short time ago stays until its time is over', async () => {
  const store = create();
  const [old = '', young = ''] = await store.event([{ d: newEndpointId() }, { d: newEndpointId() }]);
  await store.attempt(old, 'sent');
  await store.attempt(young, 'gone');
  await age(store, old);
  expect(await sweep(store)).toMatchObject({ events: 0, deliveries: 0 });
  const lookAt = Number(await store.redis.zscore(store.keys.retention, eventOf(old)));
  expect(lookAt).toBe((await store.number(young, 'statusAt')) + KEEP_MS);
});

test('every delivery that was made is in one status or has expired', async () => {
  const store = create();
  const plan = Array.from({ length: 4 }, () => ({ d: newEndpointId() }));
  const [sent = '', dead = '', , alive = ''] = await store.event(plan);
  const [gone = ''] = await store.event([{ d: newEndpointId() }]);
  for (const id of [sent, gone]) await store.attempt(id, 'sent');
  await store.attempt(dead, 'gone');
  await store.attempt(alive, 'failed');
  await age(store, sent, dead, gone);
  await sweep(store);
  const ledger = await readLedger(store.redis, store.keys);
  const now = [...(ledger.deliveries.get('endpoint')?.values() ?? [])].reduce((sum, each) => sum + each, 0);
  expect({ created: ledger.created.get('endpoint'), expired: ledger.expired.get('endpoint'), now }).toEqual({
    created: 5,
    expired: 1,
    now: 4,
  });
  expect(ledger.deliveries.get('endpoint')?.get('sent')).toBe(1);
});

test('an event with very many destinations leaves in steps, and meanwhile nothing of it is made or replayed', async () => {
  const store = create();
  const plan = Array.from({ length: 450 }, () => ({ d: newEndpointId() }));
  const ids = await store.event(plan);
  for (const id of ids) await store.attempt(id, 'gone');
  await age(store, ...ids);
  const first = await sweep(store);
  expect(first.more).toBe(true);
  expect(first.deliveries).toBeGreaterThan(0);
  expect(first.deliveries).toBeLessThan(450);
  const last = ids.at(-1) ?? '';
  expect(await store.replay(last)).toEqual({ kind: 'expired' });
  const again = await store.transitions.recordEvent({
    eventKey: eventOf(last),
    source: 'shop',
    operator: 'default',
    plan,
    fields: { eventId: 'x', type: 't' },
    from: 0,
    count: 1_000,
    replan: false,
  });
  expect(again.alarms).toEqual([]);
  expect(await store.status(ids[0] ?? '')).toBeNull();
  let more = true;
  let rounds = 0;
  while (more && rounds < 20) {
    ({ more } = await sweep(store));
    rounds += 1;
  }
  expect(await residue(store)).toEqual(['ledger', 'shadows']);
});

test('a fan-out that is half done keeps its event, whatever the age of the half', async () => {
  const store = create();
  const plan = [{ d: newEndpointId() }, { d: newEndpointId() }];
  const eventKey = eventOf((await store.event([{ d: newEndpointId() }]))[0] ?? '').replace(/^../, 'zz');
  const half = { eventKey, source: 's', operator: 'default', plan, fields: { eventId: 'x' }, replan: false };
  await store.transitions.recordEvent({ ...half, from: 0, count: 1 });
  const made = deliveryId(eventKey, plan[0]?.d ?? '');
  await store.attempt(made, 'sent');
  await age(store, made);
  expect(await sweep(store)).toMatchObject({ events: 0 });
  const { alarms } = await store.transitions.recordEvent({ ...half, from: 0, count: 100 });
  expect(alarms.map(({ alarmId }) => alarmId)).toEqual([`${deliveryId(eventKey, plan[1]?.d ?? '')}-1`]);
});

test('an event that nobody ever wanted leaves too, and is told apart', async () => {
  const store = create();
  await store.event([]);
  const [key = ''] = await store.redis.zrange(store.keys.unrouted, 0, '-1');
  expect(await sweep(store)).toMatchObject({ events: 0 });
  await age(store, key);
  expect(await sweep(store)).toMatchObject({ events: 1, unrouted: 1 });
  expect(await residue(store)).toEqual(['ledger']);
});

test('one step takes only so many, and says that there is more', async () => {
  const store = create();
  const ids: string[] = [];
  for (let index = 0; index < 120; index += 1) {
    const id = await store.delivery();
    await store.attempt(id, 'sent');
    ids.push(id);
  }
  await age(store, ...ids);
  const first = await sweep(store);
  expect(first).toMatchObject({ more: true });
  expect(first.events).toBeLessThan(120);
  let left = 120 - first.events;
  for (let round = 0; left > 0 && round < 10; round += 1) left -= (await sweep(store)).events;
  expect(await residue(store)).toEqual(['ledger']);
});
