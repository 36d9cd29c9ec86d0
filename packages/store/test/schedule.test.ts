import { expect, test } from '@jest/globals';
import { readDelivery } from '../src/deliveries.ts';
import { AT_ONCE, Store } from './support/store.ts';

const WAITS_MS = [0, 60_000, 300_000, 900_000, 3_600_000, 21_600_000];

test('attempts are due at once, then exactly 1 min, 5 min, 15 min, 1 h and 6 h after the end of the one before', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery();
  expect(await store.number(id, 'nextAttemptAt')).toBe(await store.number(id, 'createdAt'));
  for (const [index, wait] of WAITS_MS.slice(1).entries()) {
    const go = await store.go(id);
    expect(go).toMatchObject({ attempt: index + 1, scheduleMade: index, trigger: 'schedule' });
    const before = await store.now();
    const answer = await store.end(go, 'failed');
    const after = await store.now();
    const dueAt = await store.number(id, 'nextAttemptAt');
    expect(answer).toMatchObject({
      kind: 'done',
      status: 'failed',
      alarms: [{ alarmId: await store.alarm(id), waitMs: wait }],
    });
    expect(dueAt - wait).toBeGreaterThanOrEqual(before);
    expect(dueAt - wait).toBeLessThanOrEqual(after);
  }
});

test('the sixth failure is the last: dead_letter, exhausted, nothing armed any more', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery();
  for (let made = 0; made < 5; made += 1) expect((await store.attempt(id, 'failed')).status).toBe('failed');
  const last = await store.attempt(id, 'failed');
  expect(last).toMatchObject({ kind: 'done', status: 'dead_letter', alarms: [] });
  expect(await store.field(id, 'reason')).toBe('exhausted');
  expect(await store.alarms()).toEqual([]);
  expect(await store.begin(id)).toEqual({ kind: 'stale', arm: undefined });
  const delivery = await readDelivery(store.redis, store.keys, 'default', id);
  expect(delivery).toMatchObject({
    status: 'dead_letter',
    reason: 'exhausted',
    scheduleMade: 6,
    replaysMade: 0,
    nextAttemptAt: null,
    inFlight: false,
  });
  expect(delivery?.attempts.map(({ number, trigger, outcome }) => [number, trigger, outcome])).toEqual(
    [1, 2, 3, 4, 5, 6].map((n) => [n, 'schedule', 'failed']),
  );
});

test('an alarm does not ring early: it is told how long to wait, and nothing is used up', async () => {
  const store = new Store();
  const id = await store.delivery();
  await store.attempt(id, 'failed');
  const answer = await store.begin(id);
  expect(answer.kind).toBe('early');
  expect(answer.kind === 'early' && answer.waitMs).toBeGreaterThan(59_000);
  expect(answer.kind === 'early' && answer.waitMs).toBeLessThanOrEqual(60_000);
  expect(await store.number(id, 'attempts')).toBe(1);
});

test('410 is the end at once, whatever the schedule still holds', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery();
  expect(await store.attempt(id, 'gone')).toMatchObject({ status: 'dead_letter', alarms: [] });
  expect(await store.field(id, 'reason')).toBe('gone');
  expect(await store.number(id, 'scheduleMade')).toBe(1);
});

test('Retry-After lengthens a wait and never shortens it', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery();
  expect((await store.attempt(id, 'failed', { retryAfterMs: 90_000 })).alarms[0]?.waitMs).toBe(90_000);
  expect((await store.attempt(id, 'failed', { retryAfterMs: 90_000 })).alarms[0]?.waitMs).toBe(300_000);
  expect((await store.attempt(id, 'failed', { retryAfterMs: 0 })).alarms[0]?.waitMs).toBe(900_000);
});

test('a destination with a schedule of its own follows that one', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery(await store.endpoint(10, { scheduleMs: [0, 7_000] }));
  expect((await store.attempt(id, 'failed')).alarms[0]?.waitMs).toBe(7_000);
  expect((await store.attempt(id, 'failed')).status).toBe('dead_letter');
});

test('jitter only adds: a retry is never earlier than the schedule says, and at most the jitter later', async () => {
  const store = new Store({
    ...AT_ONCE,
    scheduleMs: [0, ...Array.from({ length: 20 }, () => 1_000)],
    jitterMs: 500,
  });
  const id = await store.delivery();
  for (let made = 0; made < 20; made += 1) {
    const wait = (await store.attempt(id, 'failed')).alarms[0]?.waitMs ?? 0;
    expect(wait).toBeGreaterThanOrEqual(1_000);
    expect(wait).toBeLessThanOrEqual(1_500);
  }
});

test('a first success ends it: sent, nothing armed, counted once', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery();
  await store.attempt(id, 'failed');
  expect(await store.attempt(id, 'sent', { code: '204' })).toMatchObject({
    kind: 'done',
    status: 'sent',
    alarms: [],
  });
  expect(await store.alarms()).toEqual([]);
  expect(await store.begin(id)).toEqual({ kind: 'stale', arm: undefined });
  expect(await store.ledger()).toMatchObject({
    'status:endpoint:sent': 1,
    'status:endpoint:failed': 0,
    'status:endpoint:pending': 0,
    'attempts:schedule': 2,
  });
  const delivery = await readDelivery(store.redis, store.keys, 'default', id);
  expect(delivery?.attempts.map((attempt) => [attempt.class, attempt.code])).toEqual([
    ['http_5xx', ''],
    ['sent', '204'],
  ]);
});

test('an old alarm is told which one is valid now, so that a lost job is set again', async () => {
  const store = new Store();
  const id = await store.delivery();
  await store.attempt(id, 'failed');
  const answer = await store.begin(id, `${id}-1`);
  expect(answer).toMatchObject({ kind: 'stale', arm: { alarmId: `${id}-2` } });
  expect(answer.kind === 'stale' && answer.arm?.waitMs).toBeGreaterThan(59_000);
});

test('an alarm of a delivery that does not exist is told so and forgotten', async () => {
  const store = new Store();
  await store.redis.zadd(store.keys.alarms('deliveries'), 1, 'nobody.ep_x-1');
  expect(await store.begin('nobody.ep_x', 'nobody.ep_x-1')).toEqual({ kind: 'missing' });
  expect(await store.alarms()).toEqual([]);
});

test('a wait that is armed late is looked at before it is due, and its job still rings on time', async () => {
  const store = new Store({ ...AT_ONCE, armAheadMs: 10_000 });
  const id = await store.delivery();
  await store.attempt(id, 'failed');
  const lookAt = Number(await store.redis.zscore(store.keys.alarms('deliveries'), await store.alarm(id)));
  expect((await store.number(id, 'nextAttemptAt')) - lookAt).toBe(5_000);
});
