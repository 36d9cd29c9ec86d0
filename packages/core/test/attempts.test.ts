import { expect, test } from '@jest/globals';
import type { AttemptResult } from '@breakwater/contracts/attempt-result';
import { readDelivery } from '@breakwater/store/deliveries';
import type { Go } from '@breakwater/store/go';
import { createAttempts } from '../src/attempts.ts';
import { createBodyMemory } from '../src/body-memory.ts';
import { createTurns } from '../src/turns.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { openWork } from './support/deliveries.ts';

/** Rings alarms with a performer that answers as told and writes down what it was asked. */
function rig(
  perform: (go: Go) => Promise<AttemptResult> | AttemptResult,
  { signal = new AbortController().signal, turns = createTurns(), memory = createBodyMemory() } = {},
) {
  const work = openWork();
  const made: Go[] = [];
  const metrics: string[] = [];
  const attempt = createAttempts({
    ...work,
    signal,
    wakeGatesIn: () => undefined,
    turns,
    memory,
    perform: async (go) => {
      made.push(go);
      return perform(go);
    },
    onAttempt: (destination, outcome) => metrics.push(`${destination} ${outcome}`),
  });
  return {
    ...work,
    made,
    metrics,
    ring: (alarmId: string, behind = false) =>
      attempt(alarmId.slice(0, alarmId.lastIndexOf('-')), alarmId, behind),
  };
}

const BY = { operator: 'default', reason: 'test', actor: 'tester' };
const SENT: AttemptResult = { kind: 'sent', code: '200' };

test('a ring makes one attempt, records it and sets the next alarm', async () => {
  const { ring, made, metrics, delivery, redis, keys, status } = rig(() => ({
    kind: 'failed',
    class: 'http_5xx',
    code: '500',
    message: '',
  }));
  const id = await delivery();
  expect(await ring(`${id}-1`)).toEqual({ kind: 'done' });
  expect(made).toHaveLength(1);
  expect(metrics).toEqual(['endpoint failed']);
  expect(await status(id)).toBe('failed');
  expect(Number(await redis.hget(`${keys.queues}:deliveries:${id}-2`, 'delay'))).toBe(3_600_000);
});

test('a ring for what is in flight or not due comes later; for what is done it does nothing', async () => {
  const { ring, made, delivery, begin, end } = rig(() => SENT);
  const id = await delivery();
  const go = await begin(id);
  expect(await ring(`${id}-1`)).toMatchObject({ kind: 'later' });
  await end(go, 'failed');
  expect(await ring(`${id}-2`)).toMatchObject({ kind: 'later' });
  expect(made).toHaveLength(0);
});

test('an old alarm that rings sets the one that is valid', async () => {
  const { ring, delivery, begin, end, redis, keys } = rig(() => SENT);
  const id = await delivery();
  await end(await begin(id), 'failed');
  expect(await ring(`${id}-1`)).toEqual({ kind: 'done' });
  expect(await redis.exists(`${keys.queues}:deliveries:${id}-2`)).toBe(1);
});

test('a delivery whose event is gone is a dead letter that says so, not an attempt for ever', async () => {
  const { ring, made, delivery, redis, keys } = rig(() => SENT);
  const id = await delivery();
  await redis.del(keys.event(id.slice(0, id.indexOf('.'))));
  await ring(`${id}-1`);
  expect(made).toHaveLength(0);
  expect(await readDelivery(redis, keys, 'default', id)).toMatchObject({
    status: 'dead_letter',
    reason: 'mapping_failed',
  });
  expect(await redis.hget(keys.sample(id), 'text')).toContain('record of the event is gone');
});

test('a bug in the attempt is recorded as such and the delivery is tried again, not lost', async () => {
  const { ring, delivery, redis, keys } = rig(() => {
    throw new TypeError('a bug');
  });
  const id = await delivery();
  await ring(`${id}-1`);
  expect(await readDelivery(redis, keys, 'default', id)).toMatchObject({
    status: 'failed',
    inFlight: false,
    attempts: [{ outcome: 'failed', class: 'internal' }],
  });
});

/** Two or more deliveries that wait at a gate which is opened for the first of them. Resolves to their ids and the alarm to ring. */
async function line(
  work: ReturnType<typeof rig>,
  length: number,
): Promise<{ ids: string[]; alarmId: string }> {
  const there = await work.endpoint(10);
  await work.transitions.setGate(there, 'pause', BY);
  const ids: string[] = [];
  for (let index = 0; index < length; index += 1) ids.push(await work.delivery(there));
  for (const id of ids) await work.ring(`${id}-1`);
  const [alarm] = await work.transitions.setGate(there, 'resume', BY);
  const alarmId = alarm?.alarmId ?? '';
  const first = alarmId.slice(0, alarmId.lastIndexOf('-'));
  return { ids: [first, ...ids.filter((id) => id !== first)], alarmId };
}

test('a fast worker takes the waiters of its destination over, one after the other', async () => {
  const work = rig(() => SENT);
  const { ids, alarmId } = await line(work, 3);
  await work.ring(alarmId);
  expect(work.made[0]?.delivery).toBe(ids[0]);
  expect(work.made.length).toBeGreaterThan(1);
  expect(await Promise.all(work.made.map((go) => work.status(go.delivery)))).toEqual(
    work.made.map(() => 'sent'),
  );
});

test('a worker that is stopping takes nobody over: the waiter gets an alarm for another process', async () => {
  const stopping = new AbortController();
  const work = rig(
    () => {
      stopping.abort();
      return SENT;
    },
    { signal: stopping.signal },
  );
  const { ids, alarmId } = await line(work, 2);
  await work.ring(alarmId);
  expect(work.made.map((go) => go.delivery)).toEqual([ids[0]]);
  expect(await work.status(ids[1] ?? '')).toBe('pending');
  expect(await work.jobs()).toEqual([`${ids[1]}-2`]);
});

test('neither a result nor a waiter that was taken over is lost because an alarm could not be set', async () => {
  const work = rig((go) =>
    go.alarmId === alarmId ? { kind: 'failed', class: 'http_5xx', code: '500', message: '' } : SENT,
  );
  const { ids, alarmId } = await line(work, 2);
  await work.redis.set(`${work.keys.queues}:deliveries:delayed`, 'no delayed job can be added to a text');
  await work.ring(alarmId);
  expect(await Promise.all(ids.map((id) => work.status(id)))).toEqual(['failed', 'sent']);
  expect(await work.redis.zscore(work.keys.alarms('deliveries'), `${ids[0]}-3`)).not.toBeNull(); // the sweeper finds it
});

test('a flood of retries that hang leaves the process to first attempts: those take no turns', async () => {
  const hang = Promise.withResolvers<AttemptResult>();
  const { made, delivery, begin, end, replay, redis, keys, ring } = rig(
    (go) => (go.attempt === 1 ? SENT : hang.promise),
    { turns: createTurns(1, 1_000_000) },
  );
  const retries = [await delivery(), await delivery()];
  for (const id of retries) {
    await end(await begin(id), 'gone');
    await replay(id, 'restart');
  }
  const rung: Promise<unknown>[] = [];
  for (const id of retries) rung.push(ring(`${id}-${await redis.hget(keys.delivery(id), 'seq')}`, true));
  await waitUntil(() => made.length === 1, { what: 'the first retry' });
  const fresh = await delivery();
  await ring(`${fresh}-1`);
  expect(made.map(({ delivery: id }) => id)).toEqual([retries[0], fresh]);
  hang.resolve(SENT);
  await Promise.all(rung);
  expect(made).toHaveLength(3);
});

test('an event that there is no memory for waits without an attempt, and no ordinary event waits for it', async () => {
  const answer = Promise.withResolvers<AttemptResult>();
  const memory = createBodyMemory(1_000_000); // one large event at a time
  const work = rig((go) => (go.bodyBytes > 1_048_576 ? answer.promise : SENT), { memory });
  const large = 'x'.repeat(2_000_000);
  const [first, second] = [
    await work.delivery(undefined, large),
    await work.delivery(undefined, large),
  ] as const;
  const ringing = work.ring(`${first}-1`);
  await waitUntil(() => work.made.length === 1, { what: 'the first to be sent' });
  const waiting = work.ring(`${second}-1`);
  const ordinary = await work.delivery(undefined, 'x'.repeat(20_000));
  await work.ring(`${ordinary}-1`);
  expect(await work.status(ordinary)).toBe('sent');
  await waiting; // gave up
  expect(work.made.map(({ delivery }) => delivery)).toEqual([first, ordinary]);
  expect(await readDelivery(work.redis, work.keys, 'default', second)).toMatchObject({
    status: 'pending',
    inFlight: false,
    scheduleMade: 0,
    attempts: [],
  });
  expect(await work.redis.zscore(work.keys.alarms('deliveries'), `${second}-2`)).not.toBeNull();
  answer.resolve(SENT);
  await ringing;
  expect(await work.status(first)).toBe('sent');
});

test('a text that is six times as long as JSON waits for the memory that it then takes', async () => {
  const answer = Promise.withResolvers<AttemptResult>();
  const memory = createBodyMemory(60_000_000); // three such bodies at a time, one as it is sent
  const work = rig((go) => (go.bodyBytes > 900_000 ? answer.promise : SENT), { memory });
  const control = '\u0001'.repeat(1_000_000);
  const [first, second] = [
    await work.delivery(undefined, control),
    await work.delivery(undefined, control),
  ] as const;
  const ringing = work.ring(`${first}-1`);
  await waitUntil(() => work.made.length === 1, { what: 'the first to be sent' });
  const waiting = work.ring(`${second}-1`);
  const ordinary = await work.delivery(undefined, 'x'.repeat(500_000));
  await work.ring(`${ordinary}-1`);
  await Promise.race([
    waiting,
    waitUntil(() => work.made.length > 2, { what: 'the second', timeoutMs: 60_000 }),
  ]);
  expect(work.made.map(({ delivery }) => delivery)).toEqual([first, ordinary]);
  expect(await work.status(second)).toBe('pending');
  await waiting; // gave up
  expect(await work.redis.zscore(work.keys.alarms('deliveries'), `${second}-2`)).not.toBeNull();
  answer.resolve(SENT);
  await ringing;
  expect(await work.status(first)).toBe('sent');
});
