import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { readDelivery } from '../src/deliveries.ts';
import { AT_ONCE, Store } from './support/store.ts';

/** What a failed replay must not move. */
async function standing(store: Store, id: string): Promise<Record<string, string | null>> {
  const names = ['status', 'statusAt', 'seq', 'nextAttemptAt', 'scheduleMade', 'reason', 'heldFrom'];
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await store.field(id, name)] as const)),
  );
}

test('a replay is one more attempt of the same record, counted apart, and its success ends the schedule', async () => {
  const store = new Store();
  const id = await store.delivery();
  await store.attempt(id, 'failed');
  const go = await store.goReplay(id);
  expect(go).toMatchObject({ attempt: 2, trigger: 'replay', delivery: id });
  expect(await store.end(go, 'sent')).toMatchObject({ kind: 'done', status: 'sent', alarms: [] });
  expect(await store.alarms()).toEqual([]);
  expect(await store.begin(id)).toEqual({ kind: 'stale', arm: undefined });
  const delivery = await readDelivery(store.redis, store.keys, 'default', id);
  expect(delivery).toMatchObject({ id, status: 'sent', scheduleMade: 1, replaysMade: 1 });
  expect(delivery?.attempts.map(({ number, trigger, outcome }) => [number, trigger, outcome])).toEqual([
    [1, 'schedule', 'failed'],
    [2, 'replay', 'sent'],
  ]);
  expect(await store.ledger()).toMatchObject({
    'attempts:schedule': 1,
    'attempts:replay': 1,
    'status:endpoint:sent': 1,
  });
});

test('a failed replay leaves status, schedule and the armed retry as they were', async () => {
  const store = new Store();
  const id = await store.delivery();
  await store.attempt(id, 'failed');
  const before = await standing(store, id);
  const go = await store.goReplay(id);
  const answer = await store.end(go, 'failed', { retryAfterMs: 86_400_000 });
  expect(answer.alarms[0]?.alarmId).toBe(await store.alarm(id));
  expect(answer.alarms[0]?.waitMs).toBeLessThanOrEqual(60_000);
  expect(await standing(store, id)).toEqual(before);
  expect(await store.alarms()).toEqual([await store.alarm(id)]);
  expect(await store.number(id, 'replaysMade')).toBe(1);
});

test('a failed replay of a dead letter leaves it dead, with its reason', async () => {
  const store = new Store();
  const id = await store.delivery();
  await store.attempt(id, 'gone');
  const before = await standing(store, id);
  await store.end(await store.goReplay(id), 'failed');
  expect(await standing(store, id)).toEqual(before);
  expect(await store.alarms()).toEqual([]);
  const [, , lateMs] = (await store.redis.hget(store.keys.delivery(id), 'a2'))?.split('|') ?? [];
  expect(lateMs).toBe('0'); // nothing was due that it could be late for
  expect((await store.replay(id)).kind).toBe('ok'); // and may be replayed again
});

test('a 410 that a replay learns ends the delivery', async () => {
  const store = new Store();
  const id = await store.delivery();
  await store.attempt(id, 'failed');
  expect(await store.end(await store.goReplay(id), 'gone')).toMatchObject({
    status: 'dead_letter',
    alarms: [],
  });
  expect(await store.field(id, 'reason')).toBe('gone');
  expect(await store.number(id, 'scheduleMade')).toBe(1);
  expect(await store.alarms()).toEqual([]);
});

test('a 410 does not take back what was sent', async () => {
  const store = new Store();
  const id = await store.delivery();
  await store.attempt(id, 'sent');
  await store.end(await store.goReplay(id, { acknowledged: true }), 'gone');
  expect(await store.status(id)).toBe('sent');
});

test('a replay is refused while an attempt is in flight', async () => {
  const store = new Store();
  const id = await store.delivery();
  await store.go(id);
  expect(await store.replay(id)).toMatchObject({ kind: 'in_flight' });
  expect(await store.redis.xlen(store.keys.audit)).toBe(0);
});

test('a replay is refused while another one is open, and to a paused destination', async () => {
  const store = new Store();
  const endpoint = await store.endpoint(1);
  const id = await store.delivery(endpoint);
  const first = newId();
  await store.replay(id, { replayId: first });
  expect(await store.replay(id)).toEqual({ kind: 'already', replayId: first });
  const other = await store.delivery(endpoint);
  await store.pause(endpoint);
  expect(await store.replay(other)).toEqual({ kind: 'paused' });
});

test('what was sent is sent again only by someone who says that the receiver dedupes', async () => {
  const store = new Store();
  const id = await store.delivery();
  await store.attempt(id, 'sent');
  expect(await store.replay(id)).toEqual({ kind: 'needs_acknowledgement' });
  expect((await store.replay(id, { acknowledged: true })).kind).toBe('ok');
});

test("another operator's delivery does not exist, to read as to replay", async () => {
  const store = new Store();
  const [id = ''] = await store.event([{ d: await store.endpoint(1) }], { operator: 'owner' });
  expect(await store.replay(id, { operator: 'default' })).toEqual({ kind: 'not_found' });
  expect(await store.replay('x'.repeat(22) + '.ep_none')).toEqual({ kind: 'not_found' });
  expect(await readDelivery(store.redis, store.keys, 'default', id)).toBeUndefined();
  expect((await store.replay(id, { operator: 'owner' })).kind).toBe('ok');
});

test('what a person resolved is closed', async () => {
  const store = new Store();
  const id = await store.delivery();
  expect(await store.transitions.resolve(id, 'default', 'why', 'me')).toBe('wrong_status');
  await store.attempt(id, 'gone');
  expect(await store.transitions.resolve(id, 'somebody', 'why', 'me')).toBe('not_found');
  expect(await store.transitions.resolve(id, 'default', 'why', 'me')).toBeUndefined();
  expect(await store.transitions.resolve(id, 'default', 'why', 'me')).toBeUndefined();
  expect(await store.replay(id)).toEqual({ kind: 'resolved' });
  expect(await store.ledger()).toMatchObject({
    'status:endpoint:dead_letter': 0,
    'status:endpoint:resolved': 1,
  });
});

test('a replay request that was sent twice is one replay with one entry in the audit log', async () => {
  const store = new Store();
  const id = await store.delivery();
  const replayId = newId();
  const first = await store.replay(id, { replayId, reason: 'receiver fixed', actor: 'ada' });
  expect(await store.replay(id, { replayId })).toEqual(first);
  const entries = (await store.redis.xrange(store.keys.audit, '-', '+')) as [string, string[]][];
  expect(entries).toHaveLength(1);
  expect(entries[0]?.[1]).toEqual(
    expect.arrayContaining(['delivery.replay', 'receiver fixed', 'ada', id, replayId]),
  );
});

test('a scheduled success drops a replay that had not begun: nobody acknowledged a second send', async () => {
  const store = new Store();
  const id = await store.delivery();
  const asked = await store.replay(id);
  const alarmId = asked.kind === 'ok' ? asked.alarm.alarmId : '';
  await store.attempt(id, 'sent');
  expect(await store.begin(id, alarmId)).toEqual({ kind: 'stale', arm: undefined });
  expect(await store.alarms()).toEqual([]);
  expect(await store.number(id, 'attempts')).toBe(1);
});

test('restarting gives a dead letter its whole schedule again, beginning now', async () => {
  const store = new Store({ ...AT_ONCE, scheduleMs: [0, 1_000] });
  const id = await store.delivery();
  await store.attempt(id, 'failed');
  await store.attempt(id, 'failed');
  expect(await store.status(id)).toBe('dead_letter');
  const replayId = newId();
  const asked = await store.replay(id, { mode: 'restart', replayId });
  expect(asked).toEqual({ kind: 'ok', alarm: { alarmId: await store.alarm(id), waitMs: 0 } });
  expect(await store.replay(id, { mode: 'restart', replayId })).toEqual(asked);
  expect(await store.status(id)).toBe('failed');
  expect((await store.under({ earlyMs: 0 }).beginAttempt(id, await store.alarm(id), newId())).kind).toBe(
    'go',
  );
  await store.lapse(id);
  await store.transitions.sweepAlarms('deliveries', 10);
  expect((await store.attempt(id, 'failed')).alarms[0]?.waitMs).toBe(1_000);
  expect((await store.attempt(id, 'failed')).status).toBe('dead_letter');
  expect(await store.number(id, 'attempts')).toBe(5);
  expect(await store.number(id, 'replaysMade')).toBe(0);
});

test("a replay passes a full gate: it is a person's probe", async () => {
  const store = new Store();
  const endpoint = await store.endpoint(1);
  await store.go(await store.delivery(endpoint));
  const id = await store.delivery(endpoint);
  expect(await store.begin(id)).toEqual({ kind: 'parked', why: 'cap' });
  expect((await store.goReplay(id)).trigger).toBe('replay');
});

test('a failed replay of what is held leaves it held', async () => {
  const store = new Store();
  const endpoint = await store.endpoint(1);
  const id = await store.delivery(endpoint);
  const asked = await store.replay(id); // before the pause
  await store.pause(endpoint);
  expect(await store.begin(id)).toEqual({ kind: 'parked', why: 'paused' });
  const before = await standing(store, id);
  expect(before['status']).toBe('held');
  await store.end(await store.go(id, asked.kind === 'ok' ? asked.alarm.alarmId : ''), 'failed');
  expect(await standing(store, id)).toEqual(before);
});

test('a replay whose process died is repeated; after three free deaths it is given up, the schedule untouched', async () => {
  const store = new Store();
  const id = await store.delivery();
  await store.attempt(id, 'failed');
  const before = await standing(store, id);
  const asked = await store.replay(id);
  const alarmId = asked.kind === 'ok' ? asked.alarm.alarmId : '';
  for (let death = 1; death <= 4; death += 1) {
    await store.go(id, alarmId);
    await store.lapse(id);
    await store.transitions.sweepAlarms('deliveries', 10);
  }
  expect(await store.begin(id, alarmId)).toEqual({ kind: 'stale', arm: undefined });
  // A due scheduled alarm was looked at too, so it may have a new name; when it is due has not changed.
  expect(await standing(store, id)).toMatchObject({
    status: 'failed',
    nextAttemptAt: before['nextAttemptAt'],
    scheduleMade: '1',
  });
});
