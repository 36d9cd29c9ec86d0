import { expect, test } from '@jest/globals';
import { readPause } from '../src/gates.ts';
import { AT_ONCE, BY, Store } from './support/store.ts';

const DAY_MS = 86_400_000;
const open = (more: Parameters<Store['under']>[0] = {}): Store =>
  new Store({ ...AT_ONCE, scheduleMs: Array.from({ length: 20 }, () => 0), ...more });
/** As if it had been failing for so long. */
const failingFor = async (store: Store, endpoint: string, ms: number): Promise<void> =>
  void (await store.redis.hset(store.keys.gate(endpoint), 'failingSince', (await store.now()) - ms));
const audit = async (store: Store): Promise<string[]> =>
  (await store.redis.xrange(store.keys.audit, '-', '+')).map(([, fields]) => String(fields[1]));

/** An endpoint that the next failure pauses, and a delivery to it. */
async function nearlyPaused(store: Store) {
  const endpoint = await store.endpoint(5);
  const id = await store.delivery(endpoint);
  await store.attempt(id, 'failed');
  await failingFor(store, endpoint, 5 * DAY_MS);
  return { endpoint, id };
}
async function paused(more: Parameters<Store['under']>[0] = {}) {
  const store = open(more);
  const made = await nearlyPaused(store);
  await store.attempt(made.id, 'failed');
  return { store, ...made };
}

test('an endpoint that failed for five days without one success is paused, never silently: reason, audit entry, ledger', async () => {
  const store = open();
  const { endpoint, id } = await nearlyPaused(store);
  const answer = await store.attempt(id, 'failed');
  expect(answer).toMatchObject({ gate: 'paused', status: 'failed' });
  expect(await readPause(store.redis, store.keys, endpoint)).toMatchObject({
    paused: true,
    pausedAutomatically: true,
    pausedBy: 'breakwater',
    pausedReason: 'it failed for 5 days without one success, at last with http_5xx',
  });
  expect(await audit(store)).toEqual(['destination.auto-pause']);
  expect((await store.ledger())['pauses:auto']).toBe(1);
  expect(await store.begin(id)).toEqual({ kind: 'parked', why: 'paused' });
  expect(await store.status(id)).toBe('held');
});

test('one success of any delivery starts the five days again, in the step that records it', async () => {
  const store = open();
  const { endpoint, id } = await nearlyPaused(store);
  await store.attempt(await store.delivery(endpoint), 'sent');
  expect(await readPause(store.redis, store.keys, endpoint)).toMatchObject({ failingSince: null });
  expect(await store.attempt(id, 'failed')).toMatchObject({ gate: undefined });
});

test('a success that comes too late for its own attempt starts them again as well', async () => {
  const store = open();
  const { endpoint, id } = await nearlyPaused(store);
  const go = await store.go(id);
  await store.lapse(id);
  await store.go(
    id,
    `${id}-${(await store.transitions.sweepAlarms('deliveries', 10))[0]!.alarmId.split('-').at(-1)}`,
  );
  await store.end(go, 'sent');
  expect(await readPause(store.redis, store.keys, endpoint)).toMatchObject({ failingSince: null });
});

test('failures of four days pause nothing, nor do our own bugs, nor a deployment that does not want it', async () => {
  const store = open();
  const { endpoint, id } = await nearlyPaused(store);
  expect((await store.attempt(id, 'failed', { class: 'configuration' })).gate).toBeUndefined();
  await failingFor(store, endpoint, 4 * DAY_MS);
  expect((await store.attempt(id, 'failed')).gate).toBeUndefined();
  const never = open({ pauseAfterMs: 0 });
  const other = await nearlyPaused(never);
  expect((await never.attempt(other.id, 'failed')).gate).toBeUndefined();
});

test('an ERP target is never paused like that: it has its breaker', async () => {
  const store = open();
  const erp = await store.erp();
  const [id = ''] = await store.event([{ d: erp }]);
  await store.attempt(id, 'failed');
  await failingFor(store, erp, 50 * DAY_MS);
  expect((await store.attempt(id, 'failed')).gate).toBeUndefined();
});

test('an attempt that was in flight at the pause and succeeds ends it, with a ramp', async () => {
  const store = open();
  const { endpoint, id } = await nearlyPaused(store);
  const go = await store.go(await store.delivery(endpoint));
  await store.attempt(id, 'failed');
  await store.begin(id);
  const answer = await store.end(go, 'sent');
  expect(answer.gate).toBe('resumed');
  expect(answer.alarms.map(({ alarmId }) => alarmId.slice(0, alarmId.lastIndexOf('-')))).toEqual([id]);
  expect(await readPause(store.redis, store.keys, endpoint)).toMatchObject({ paused: false });
  expect(await audit(store)).toEqual(['destination.auto-pause', 'destination.auto-resume']);
});

test('a success that no delivery made ends it too, and leaves a pause by a person alone', async () => {
  const { store, endpoint, id } = await paused();
  await store.begin(id);
  const { resumed, alarms } = await store.transitions.noteRecovery(endpoint, BY);
  expect(resumed).toBe(true);
  expect(alarms).toHaveLength(1);
  await store.pause(endpoint);
  expect(await store.transitions.noteRecovery(endpoint, BY)).toEqual({ resumed: false, alarms: [] });
  expect(await readPause(store.redis, store.keys, endpoint)).toMatchObject({
    paused: true,
    pausedAutomatically: false,
    pausedBy: 'tester',
    pausedReason: 'test',
  });
});

test('one held delivery asks from time to time whether the endpoint works again: a success resumes it', async () => {
  const { store, endpoint, id } = await paused();
  const second = await store.delivery(endpoint);
  await store.begin(id);
  await store.begin(second);
  expect((await store.transitions.sweepGates(10)).alarms).toEqual([]); // not yet time
  await store.redis.hset(store.keys.gate(endpoint), 'probeAt', 1);
  const asked = (await store.transitions.sweepGates(10)).alarms.map(({ alarmId }) => alarmId);
  expect(asked).toHaveLength(1);
  expect((await store.transitions.sweepGates(10)).alarms).toEqual([]); // one at a time
  const probe = asked[0]!.slice(0, asked[0]!.lastIndexOf('-'));
  const answer = await store.attempt(probe, 'sent');
  expect(answer).toMatchObject({ gate: 'resumed', status: 'sent' });
  expect(answer.alarms).toHaveLength(1); // the other one
});

test('a no costs the one that asked no scheduled attempt: it is held again, first in the line', async () => {
  const { store, endpoint, id } = await paused();
  await store.begin(id);
  const made = await store.number(id, 'scheduleMade');
  await store.redis.hset(store.keys.gate(endpoint), 'probeAt', 1);
  await store.transitions.sweepGates(10);
  const second = await store.delivery(endpoint);
  await store.begin(second);
  const answer = await store.attempt(id, 'failed');
  expect(answer).toMatchObject({ gate: undefined, status: 'failed' });
  expect(await store.begin(id)).toEqual({ kind: 'parked', why: 'paused' });
  expect(await store.status(id)).toBe('held');
  expect(await store.number(id, 'scheduleMade')).toBe(made);
  expect((await store.waiting(endpoint))[0]).toBe(await store.alarm(id));
});

test('one that fails for a reason of its own does not ask for all: they ask in turn, and each is held as long as before', async () => {
  const { store, endpoint, id: poison } = await paused();
  const [second, third] = [await store.delivery(endpoint), await store.delivery(endpoint)];
  for (const id of [poison, second, third]) await store.begin(id);
  const heldSince = await store.redis.zscore(store.keys.waiting(endpoint), await store.alarm(poison));
  const nextToAsk = async (): Promise<string> => {
    await store.redis.hset(store.keys.gate(endpoint), 'probeAt', 1);
    const [asked] = (await store.transitions.sweepGates(10)).alarms;
    return asked?.alarmId.slice(0, asked.alarmId.lastIndexOf('-')) ?? '';
  };
  const askers: string[] = [];
  for (let asks = 0; asks < 4; asks += 1) {
    const asker = await nextToAsk();
    askers.push(asker);
    await store.attempt(asker, 'failed');
    await store.begin(asker);
  }
  expect(new Set(askers.slice(0, 3))).toEqual(new Set([poison, second, third]));
  expect(askers[3]).toBe(askers[0]);
  expect(await store.redis.zscore(store.keys.waiting(endpoint), await store.alarm(poison))).toBe(heldSince);
});

test('those who waited for a slot when the pause came are held as well, a bounded number with each look', async () => {
  const store = open();
  const endpoint = await store.endpoint(1);
  const ids = await store.event(Array.from({ length: 1 }, () => ({ d: endpoint })));
  await store.go(ids[0] ?? '');
  const waiters: string[] = [];
  for (let index = 0; index < 250; index += 1) waiters.push(await store.delivery(endpoint));
  await Promise.all(waiters.map((id) => store.begin(id)));
  await store.pause(endpoint);
  const held = async (): Promise<number> => (await store.ledger())['status:endpoint:held'] ?? 0;
  await store.transitions.sweepGates(10);
  expect(await held()).toBeGreaterThan(0);
  expect(await held()).toBeLessThan(200);
  for (let looks = 0; looks < 10; looks += 1) {
    await store.redis.zadd(store.keys.gates, 1, endpoint);
    await store.transitions.sweepGates(10);
  }
  expect(await held()).toBe(250);
});

test('what was held for thirty days becomes a dead letter, held_expired; what is held for less stays', async () => {
  const store = open();
  const endpoint = await store.endpoint(5);
  const [old, young] = [await store.delivery(endpoint), await store.delivery(endpoint)];
  await store.pause(endpoint);
  await store.begin(old);
  await store.begin(young);
  const now = await store.now();
  await store.redis.zadd(store.keys.waiting(endpoint), 'XX', now - 31 * DAY_MS, `${old}-1`);
  await store.transitions.sweepGates(10);
  expect(await store.status(old)).toBe('held'); // the pause is young: it had waited for a slot before
  await store.redis.hset(store.keys.gate(endpoint), 'pausedAt', now - 30 * DAY_MS - 1);
  await store.transitions.sweepGates(10);
  expect(await store.status(old)).toBe('dead_letter');
  expect(await store.field(old, 'reason')).toBe('held_expired');
  expect(await store.status(young)).toBe('held');
  expect(await store.waiting(endpoint)).toEqual([`${young}-1`]);
  expect(await store.alarms()).toEqual([]);
});

test('where thousands expire at once, each look ends a bounded number of them', async () => {
  const store = open({ heldForMs: 0 });
  const endpoint = await store.endpoint(5);
  await store.pause(endpoint);
  const ids: string[] = [];
  for (let index = 0; index < 150; index += 1) ids.push(await store.delivery(endpoint));
  await Promise.all(ids.map((id) => store.begin(id)));
  const dead = async (): Promise<number> => (await store.ledger())['status:endpoint:dead_letter'] ?? 0;
  const { nextInMs } = await store.transitions.sweepGates(10);
  expect(await dead()).toBe(100);
  expect(nextInMs).toBeLessThanOrEqual(100);
  await store.redis.zadd(store.keys.gates, 1, endpoint);
  await store.transitions.sweepGates(10);
  expect(await dead()).toBe(150);
});
