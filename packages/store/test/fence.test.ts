import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { readDelivery } from '../src/deliveries.ts';
import { AT_ONCE, Store } from './support/store.ts';

test('a begin that was sent twice is one attempt', async () => {
  const store = new Store();
  const id = await store.delivery();
  const token = newId();
  const first = await store.transitions.beginAttempt(id, `${id}-1`, token);
  const again = await store.transitions.beginAttempt(id, `${id}-1`, token);
  expect(first).toMatchObject({ kind: 'go', go: { attempt: 1 } });
  expect(again).toEqual(first);
  expect(await store.ledger()).toMatchObject({ 'attempts:schedule': 1 });
});

test('a second process is told to wait while an attempt is in flight, and for how long', async () => {
  const store = new Store();
  const id = await store.delivery();
  await store.go(id);
  const answer = await store.begin(id);
  expect(answer.kind).toBe('busy');
  expect(answer.kind === 'busy' && answer.waitMs).toBeGreaterThan(59_000);
  expect(answer.kind === 'busy' && answer.waitMs).toBeLessThanOrEqual(60_000);
  expect(await store.number(id, 'attempts')).toBe(1);
});

test.each(['sent', 'failed', 'gone'] as const)(
  'a result (%s) that was recorded twice counts once and arms once',
  async (outcome) => {
    const store = new Store(AT_ONCE);
    const id = await store.delivery();
    const go = await store.go(id);
    const first = await store.end(go, outcome);
    const record = await store.redis.hgetall(store.keys.delivery(id));
    const ledger = await store.ledger();
    const again = await store.end(go, outcome);
    expect(again.status).toBe(first.status);
    expect(again.alarms.map(({ alarmId }) => alarmId)).toEqual(first.alarms.map(({ alarmId }) => alarmId));
    expect(await store.redis.hgetall(store.keys.delivery(id))).toEqual(record);
    expect(await store.ledger()).toEqual(ledger);
  },
);

test('a result of an older attempt cannot end the one in flight', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery();
  const old = await store.go(id);
  await store.end(old, 'failed');
  const current = await store.go(id);
  expect((await store.end(old, 'gone')).kind).toBe('done');
  expect(await store.number(id, 'run')).toBe(current.attempt);
  expect(await store.status(id)).toBe('failed');
});

test('an attempt whose lease ran out is closed as interrupted, and the next one has a new number', async () => {
  const store = new Store();
  const id = await store.delivery();
  const dead = await store.go(id);
  await store.lapse(id);
  const alarms = await store.transitions.sweepAlarms('deliveries', 10);
  expect(dead.alarmId).toBe(`${id}-1`);
  expect(alarms).toEqual([{ alarmId: `${id}-2`, waitMs: 0, behind: true }]); // the dead worker's job may still block its own id
  expect((await store.go(id, `${id}-2`)).attempt).toBe(2);
  const delivery = await readDelivery(store.redis, store.keys, 'default', id);
  expect(delivery?.attempts).toMatchObject([{ number: 1, outcome: 'interrupted' }]);
  expect(delivery?.inFlight).toBe(true);
  expect(await store.ledger()).toMatchObject({ interrupted: 1 });
});

test('whoever closes a dead attempt, the next one gets an alarm under a new name', async () => {
  const store = new Store();
  const id = await store.delivery();
  const dead = await store.go(id);
  const asked = store.replay(id);
  expect((await asked).kind).toBe('in_flight');
  await store.lapse(id);
  const replay = await store.goReplay(id); // closes it on its way
  await store.end(replay, 'failed');
  expect(await store.alarm(id)).not.toBe(dead.alarmId);
  expect(await store.alarms()).toEqual([await store.alarm(id)]);
  expect((await store.transitions.sweepAlarms('deliveries', 10)).map(({ alarmId }) => alarmId)).toEqual([
    await store.alarm(id),
  ]);
});

test('three interruptions are free; every further one uses up a scheduled attempt, and the tenth attempt is never made', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery();
  const made: number[] = [];
  for (let death = 1; death <= 9; death += 1) {
    await store.go(id);
    await store.lapse(id);
    await store.transitions.sweepAlarms('deliveries', 10);
    made.push(await store.number(id, 'scheduleMade'));
  }
  expect(made).toEqual([0, 0, 0, 1, 2, 3, 4, 5, 6]);
  expect(await store.status(id)).toBe('dead_letter');
  expect(await store.field(id, 'reason')).toBe('exhausted');
  expect(await store.begin(id)).toEqual({ kind: 'stale', arm: undefined });
});

test('a recorded result makes interruptions free again', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery();
  const die = async (): Promise<void> => {
    await store.go(id);
    await store.lapse(id);
    await store.transitions.sweepAlarms('deliveries', 10);
  };
  for (let death = 0; death < 3; death += 1) await die();
  await store.attempt(id, 'failed');
  for (let death = 0; death < 3; death += 1) await die();
  expect(await store.number(id, 'scheduleMade')).toBe(1);
});

test('a late 2xx makes the delivery sent and stops the schedule: what was delivered counts whenever it is learnt', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery();
  const slow = await store.go(id);
  await store.lapse(id);
  await store.transitions.sweepAlarms('deliveries', 10);
  expect(await store.end(slow, 'sent', { code: '200' })).toMatchObject({
    kind: 'late',
    status: 'sent',
    alarms: [],
  });
  expect(await store.begin(id)).toEqual({ kind: 'stale', arm: undefined });
  const delivery = await readDelivery(store.redis, store.keys, 'default', id);
  expect(delivery?.attempts).toMatchObject([
    { number: 1, outcome: 'interrupted', lateResult: { class: 'sent', code: '200' } },
  ]);
});

test('a late 2xx revives even a dead letter', async () => {
  const store = new Store({ ...AT_ONCE, scheduleMs: [0] });
  const id = await store.delivery();
  const slow = await store.go(id);
  await store.lapse(id);
  await store.transitions.sweepAlarms('deliveries', 10);
  await store.attempt(id, 'failed');
  expect(await store.status(id)).toBe('dead_letter');
  await store.end(slow, 'sent');
  expect(await store.status(id)).toBe('sent');
  expect(await store.ledger()).toMatchObject({ 'status:endpoint:dead_letter': 0, 'status:endpoint:sent': 1 });
});

test('a late failure is written down and changes nothing else; only the first one is', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery();
  const slow = await store.go(id);
  await store.lapse(id);
  await store.transitions.sweepAlarms('deliveries', 10);
  const before = await store.redis.hgetall(store.keys.delivery(id));
  expect((await store.end(slow, 'gone', { code: '410' })).kind).toBe('late');
  expect((await store.end(slow, 'failed')).kind).toBe('late');
  const { l1, ...after } = await store.redis.hgetall(store.keys.delivery(id));
  expect(l1).toMatch(/\|http_gone\|410$/);
  expect(after).toEqual(before);
});

test('an attempt that is in flight when a late success arrives is still closed when its process dies', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery();
  const slow = await store.go(id);
  await store.lapse(id);
  await store.transitions.sweepAlarms('deliveries', 10);
  await store.go(id);
  await store.end(slow, 'sent');
  await store.lapse(id);
  await store.transitions.sweepAlarms('deliveries', 10);
  const delivery = await readDelivery(store.redis, store.keys, 'default', id);
  expect(delivery).toMatchObject({ status: 'sent', inFlight: false });
  expect(delivery?.attempts.map(({ outcome }) => outcome)).toEqual(['interrupted', 'interrupted']);
  await store.transitions.sweepAlarms('deliveries', 10);
  expect(await store.alarms()).toEqual([]);
});

test('an attempt that ends after a late success leaves nothing armed behind', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery();
  const slow = await store.go(id);
  await store.lapse(id);
  await store.transitions.sweepAlarms('deliveries', 10);
  const go = await store.go(id);
  await store.end(slow, 'sent');
  expect(await store.end(go, 'failed')).toMatchObject({ kind: 'done', status: 'sent', alarms: [] });
  expect(await store.alarms()).toEqual([]);
});

test('nothing is begun by schedule after sent, whichever alarm rings', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery();
  await store.attempt(id, 'failed');
  await store.attempt(id, 'sent');
  for (let seq = 0; seq <= 5; seq += 1)
    expect(await store.begin(id, `${id}-${seq}`)).toEqual({ kind: 'stale', arm: undefined });
  expect(await store.number(id, 'attempts')).toBe(2);
  expect(await store.transitions.sweepAlarms('deliveries', 10)).toEqual([]);
});

test('rows of attempts stay small enough for the record to stay compact', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery();
  await store.attempt(id, 'failed', { class: 'x'.repeat(60), code: 'y'.repeat(60) });
  expect((await store.field(id, 'a1'))?.length).toBe(64);
  expect(await store.redis.object('ENCODING', store.keys.delivery(id))).toBe('listpack');
});
