import { expect, test } from '@jest/globals';
import { newEndpointId } from '@breakwater/contracts/ids';
import { listReplayRuns, readReplayNotes, readReplayRun } from '../src/replay-runs.ts';
import { sweepRetention } from '../src/retention.ts';
import { advance, change, dead, deads, runOf, startRun, tryRun } from './support/runs.ts';
import { AT_ONCE, Store } from './support/store.ts';

const bulkAlarm = (id: string, run: string): string => `${id}-rbulk.${run}`;

test('a run asks for each of its deliveries once, counts what comes of them, and is done', async () => {
  const store = new Store();
  const ids = await deads(store, 3);
  const run = await startRun(store, ids);
  const { state, alarms } = await advance(store, run);
  expect({ state, alarms: alarms.map(({ alarmId }) => alarmId) }).toEqual({
    state: 'running',
    alarms: ids.map((id) => bulkAlarm(id, run)),
  });
  expect(alarms.every(({ bulk }) => bulk)).toBe(true);
  expect(await runOf(store, run)).toMatchObject({ matched: 3, requested: 3, open: 3, remaining: 0 });
  const [first = '', second = '', third = ''] = ids;
  await store.end(await store.go(first, bulkAlarm(first, run)), 'sent');
  await store.end(await store.go(second, bulkAlarm(second, run)), 'failed', { code: '503' });
  expect((await runOf(store, run)).state).toBe('running');
  await store.end(await store.go(third, bulkAlarm(third, run)), 'sent');
  expect(await runOf(store, run)).toMatchObject({ state: 'done', sent: 2, failed: 1, open: 0 });
  expect(await readReplayNotes(store.redis, store.keys, run)).toEqual([
    { kind: 'failed', why: 'http_5xx 503', delivery: second },
  ]);
  expect(await store.redis.zrange(store.keys.replayActive, 0, '-1')).toEqual([]);
});

test('no delivery is asked for twice and none is left out, however many processes drive the run at once', async () => {
  const store = new Store();
  const other = new Store({}, undefined, store.keys);
  const ids = await deads(store, 60);
  const run = await startRun(store, ids);
  const drive = async (driver: Store): Promise<string[]> => {
    const asked: string[] = [];
    for (;;) {
      const { alarms, waitMs } = await advance(driver, run, 2);
      asked.push(...alarms.map(({ alarmId }) => alarmId));
      if (alarms.length === 0 && waitMs > 0) return asked;
    }
  };
  const asked = (await Promise.all([drive(store), drive(other), drive(store), drive(other)])).flat();
  expect(asked.toSorted()).toEqual(ids.map((id) => bulkAlarm(id, run)).toSorted());
  expect((await runOf(store, run)).requested).toBe(60);
});

test('an answer that got lost costs no delivery its replay: the alarm is in the store, and the sweeper sets it', async () => {
  const store = new Store({ graceMs: 0 });
  const id = await dead(store);
  const run = await startRun(store, [id]);
  await advance(store, run); // whoever asked dies before it sets the job
  expect((await store.transitions.sweepAlarms('deliveries', 10)).map(({ alarmId }) => alarmId)).toEqual([
    bulkAlarm(id, run),
  ]);
});

test('what cannot be replayed is refused with a reason, and the others go on', async () => {
  const store = new Store({ ...AT_ONCE, scheduleMs: [0, 0] });
  const pausedTo = newEndpointId();
  const paused = await dead(store, pausedTo);
  await store.pause(pausedTo);
  const flying = await dead(store);
  await store.goReplay(flying);
  const open = await dead(store);
  await store.replay(open);
  const resolved = await dead(store);
  await store.transitions.resolve(resolved, 'default', 'why', 'me');
  const sent = await store.delivery();
  await store.attempt(sent, 'sent');
  const [foreign = ''] = await store.event([{ d: newEndpointId() }], { operator: 'owner' });
  await store.attempt(foreign, 'gone');
  const fine = await dead(store);
  const run = await startRun(store, [paused, flying, open, resolved, sent, foreign, 'nothing', fine]);
  expect((await advance(store, run)).alarms.map(({ alarmId }) => alarmId)).toEqual([bulkAlarm(fine, run)]);
  expect((await runOf(store, run)).refused).toEqual({
    paused: 1,
    in_flight: 1,
    already: 1,
    resolved: 1,
    wrong_status: 1,
    not_found: 2,
  });
  expect((await readReplayNotes(store.redis, store.keys, run))[0]).toEqual({
    kind: 'refused',
    why: 'paused',
    delivery: paused,
  });
});

test('a run says of what left meanwhile that its retention is over, also of a named one, and of no other', async () => {
  const KEEP_MS = 60_000;
  const store = new Store({ ...AT_ONCE, retentionMs: KEEP_MS });
  const { redis, keys } = store;
  const [chosen = '', named = '', waits = '', forgotten = ''] = await deads(store, 4);
  const run = await startRun(store, [chosen], { found: true });
  const eventOf = (id: string): string => id.slice(0, id.indexOf('.'));
  for (const id of [named, waits]) await redis.set(keys.dedupe(eventOf(id)), `job-${eventOf(id)}`);
  await redis.hset(keys.eventJob(`job-${eventOf(waits)}`), 'name', 'event'); // its event is to be fanned out again
  for (const id of [chosen, named, waits, forgotten]) {
    await redis.hset(keys.delivery(id), 'statusAt', (await store.now()) - KEEP_MS - 1);
    await redis.zadd(keys.retention, 1, eventOf(id));
  }
  expect(await sweepRetention(redis, keys, KEEP_MS)).toMatchObject({ deliveries: 4 });
  await advance(store, run);
  expect(await runOf(store, run)).toMatchObject({ state: 'done', refused: { expired: 1 } });
  expect(await readReplayNotes(redis, keys, run)).toEqual([
    { kind: 'refused', why: 'expired', delivery: chosen },
  ]);
  const byName = await startRun(store, [named, waits, forgotten]);
  await advance(store, byName);
  expect((await runOf(store, byName)).refused).toEqual({ expired: 1, not_found: 2 });
});

test('what was sent is sent again only by a run whose starter said that the receivers dedupe', async () => {
  const store = new Store();
  const id = await store.delivery();
  await store.attempt(id, 'sent');
  const careless = await startRun(store, [id], { status: 'sent' });
  await advance(store, careless);
  expect(await runOf(store, careless)).toMatchObject({
    state: 'done',
    refused: { needs_acknowledgement: 1 },
  });
  const run = await startRun(store, [id], { status: 'sent', acknowledged: true });
  expect((await advance(store, run)).alarms).toHaveLength(1);
});

test('a cancelled run asks for nothing more; resumed, it goes on with what is left', async () => {
  const store = new Store();
  const ids = await deads(store, 3);
  const run = await startRun(store, ids);
  await advance(store, run, 1);
  expect(await change(store, run, 'cancel')).toBeUndefined();
  expect(await change(store, run, 'cancel')).toBeUndefined(); // a resent command
  expect(await advance(store, run)).toEqual({ state: 'cancelled', waitMs: 0, alarms: [] });
  expect(await runOf(store, run)).toMatchObject({ state: 'cancelled', remaining: 2, requested: 1 });
  // What was asked for before is attempted all the same, and counted.
  await store.end(await store.go(ids[0] ?? '', bulkAlarm(ids[0] ?? '', run)), 'sent');
  expect(await runOf(store, run)).toMatchObject({ state: 'cancelled', sent: 1 });
  expect(await change(store, run, 'resume')).toBeUndefined();
  expect((await advance(store, run)).alarms.map(({ alarmId }) => alarmId)).toEqual(
    ids.slice(1).map((id) => bulkAlarm(id, run)),
  );
  for (const id of ids.slice(1)) await store.end(await store.go(id, bulkAlarm(id, run)), 'sent');
  expect((await runOf(store, run)).state).toBe('done');
  expect(await change(store, run, 'resume')).toEqual({ state: 'done' });
  expect(await change(store, run, 'cancel', 'somebody')).toBe('not_found');
  const actions = (await store.redis.xrange(store.keys.audit, '-', '+')).map(([, fields]) => fields[1]);
  expect(actions).toEqual(['replays.start', 'replays.cancel', 'replays.resume']);
});

test('a run that meets failures alone stops itself, and may be resumed', async () => {
  const store = new Store();
  const ids = await deads(store, 4);
  const run = await startRun(store, ids, { stopAfter: 2 });
  await advance(store, run, 2);
  for (const id of ids.slice(0, 2)) await store.end(await store.go(id, bulkAlarm(id, run)), 'failed');
  expect(await runOf(store, run)).toMatchObject({
    state: 'failed',
    error: '2 replays in a row failed',
    remaining: 2,
  });
  // Nobody watched: the log says what happened, why, and that no person did it.
  const last = (await store.redis.xrevrange(store.keys.audit, '+', '-', 'COUNT', 1))[0]?.[1];
  expect(last).toEqual(
    Object.entries({
      action: 'replays.fail',
      operator: 'default',
      actor: 'breakwater',
      replay: run,
      reason: '2 replays in a row failed',
    }).flat(),
  );
  expect((await advance(store, run)).alarms).toEqual([]);
  await change(store, run, 'resume');
  await advance(store, run, 1);
  const third = ids[2] ?? '';
  await store.end(await store.go(third, bulkAlarm(third, run)), 'failed'); // one in a row again
  expect((await runOf(store, run)).state).toBe('running');
});

test('the rate of a run and of a destination is kept, and one slow destination does not hold up the others', async () => {
  const store = new Store();
  const [narrow, wide] = [newEndpointId(), newEndpointId()];
  const there = await deads(store, 3, narrow);
  const elsewhere = await deads(store, 3, wide);
  const hour = 1 / 3_600;
  const slow = await startRun(store, await deads(store, 2), { perSecond: hour });
  const first = await advance(store, slow);
  expect(first.alarms).toHaveLength(1);
  expect(first.waitMs).toBeGreaterThan(3_000_000);
  expect((await advance(store, slow)).alarms).toEqual([]);
  const run = await startRun(store, [...there, ...elsewhere], { destinationPerSecond: hour });
  const { alarms } = await advance(store, run);
  expect(alarms.map(({ alarmId }) => alarmId)).toEqual(
    [there[0] ?? '', elsewhere[0] ?? ''].map((id) => bulkAlarm(id, run)),
  );
  // The destination's rate counts for all runs together.
  const second = await startRun(store, await deads(store, 1, narrow), { destinationPerSecond: hour });
  expect((await advance(store, second)).alarms).toEqual([]);
  expect((await runOf(store, run)).remaining).toBe(4);
});

test('only so many of its replays are without a result at a time', async () => {
  const store = new Store();
  const ids = await deads(store, 4);
  const run = await startRun(store, ids, { mayBeOpen: 2 });
  const { alarms, waitMs } = await advance(store, run);
  expect(alarms).toHaveLength(2);
  expect(waitMs).toBeGreaterThan(0);
  expect((await advance(store, run)).alarms).toEqual([]);
  await store.end(await store.go(ids[0] ?? '', alarms[0]?.alarmId), 'failed');
  expect((await advance(store, run)).alarms).toHaveLength(1);
});

test("a bulk run's replay waits at a full gate, where a person's passes", async () => {
  const store = new Store();
  const endpoint = await store.endpoint(1);
  const [id, byHand] = [await dead(store, endpoint), await dead(store, endpoint)];
  const flying = await store.go(await store.delivery(endpoint));
  const run = await startRun(store, [id]);
  await advance(store, run);
  expect(await store.begin(id, bulkAlarm(id, run))).toEqual({ kind: 'parked', why: 'cap' });
  await store.end(await store.goReplay(byHand), 'failed');
  const { alarms } = await store.end(flying, 'sent');
  expect(alarms.map(({ alarmId }) => alarmId)).toContain(bulkAlarm(id, run));
  await store.end(await store.go(id, bulkAlarm(id, run)), 'sent');
  expect(await runOf(store, run)).toMatchObject({ state: 'done', sent: 1 });
});

test('a run that restarts schedules counts the first attempt of each', async () => {
  const store = new Store({ ...AT_ONCE, scheduleMs: [0, 60_000] });
  const ids = await deads(store, 2);
  const run = await startRun(store, ids, { mode: 'restart' });
  await advance(store, run);
  const [first = '', second = ''] = ids;
  expect((await store.attempt(first, 'failed')).status).toBe('failed');
  expect(await runOf(store, run)).toMatchObject({ failed: 1, open: 1 });
  await store.attempt(first, 'sent');
  expect(await runOf(store, run)).toMatchObject({ failed: 1, sent: 0, open: 1 });
  await store.attempt(second, 'sent');
  expect(await runOf(store, run)).toMatchObject({ state: 'done', failed: 1, sent: 1 });
});

test('a replay whose process dies again and again is given up and counted, and so is one that a resolution drops', async () => {
  const store = new Store();
  const [dying = '', dropped = ''] = await deads(store, 2);
  const run = await startRun(store, [dying, dropped]);
  await advance(store, run);
  await store.transitions.resolve(dropped, 'default', 'settled', 'me');
  for (let death = 1; death <= 4; death += 1) {
    await store.go(dying, bulkAlarm(dying, run));
    await store.lapse(dying);
    await store.transitions.sweepAlarms('deliveries', 10);
  }
  expect(await runOf(store, run)).toMatchObject({ state: 'done', failed: 2, open: 0 });
});

test("another operator's run does not exist", async () => {
  const store = new Store();
  const run = await startRun(store, [await dead(store)]);
  expect(await readReplayRun(store.redis, store.keys, 'somebody', run)).toBeUndefined();
  expect(await listReplayRuns(store.redis, store.keys, 'somebody', 0, 10)).toEqual([]);
  expect((await listReplayRuns(store.redis, store.keys, 'default', 0, 10)).map(({ id }) => id)).toEqual([
    run,
  ]);
});

test('a run that has ended leaves, and the list with it; one that is under way stays', async () => {
  const store = new Store();
  const [over, stopped, open] = [
    await startRun(store, ['nothing']),
    await startRun(store, [await dead(store)]),
    await startRun(store, [await dead(store)]),
  ];
  await advance(store, over);
  await change(store, stopped, 'cancel');
  const { keys, redis } = store;
  for (const id of [over, stopped]) expect(await redis.pttl(keys.replayRun(id))).toBeGreaterThan(0);
  expect(await redis.pttl(keys.replayRunIds(stopped))).toBeGreaterThan(0);
  await change(store, stopped, 'resume');
  for (const key of [keys.replayRun(stopped), keys.replayRunIds(stopped), keys.replayRunIds(open)])
    expect(await redis.pttl(key)).toBe(-1);
  await redis.del(keys.replayRun(over)); // its month is over
  expect((await listReplayRuns(redis, keys, 'default', 0, 10)).map(({ id }) => id).toSorted()).toEqual(
    [stopped, open].toSorted(),
  );
  expect(await redis.zscore(keys.replayRuns('default'), over)).toBeNull();
});

test('what a run has asked for is given up where its destination is paused meanwhile, so that the run goes on elsewhere', async () => {
  const store = new Store({ ...AT_ONCE, scheduleMs: [0, 0] });
  const endpoint = await store.endpoint(1);
  const [waits = '', rings = '', restarted = ''] = await deads(store, 3, endpoint);
  const elsewhere = await dead(store);
  await store.go(await store.delivery(endpoint)); // takes the only slot
  const run = await startRun(store, [waits, rings]);
  const restarting = await startRun(store, [restarted], { mode: 'restart' });
  await advance(store, run);
  await advance(store, restarting);
  expect(await store.begin(waits, bulkAlarm(waits, run))).toMatchObject({ kind: 'parked', why: 'cap' });
  await store.pause(endpoint);
  await store.transitions.sweepGates(10);
  expect(await store.begin(rings, bulkAlarm(rings, run))).toMatchObject({ kind: 'parked', why: 'paused' });
  expect(await store.begin(restarted)).toMatchObject({ kind: 'parked', why: 'paused' });
  expect(await runOf(store, run)).toMatchObject({ state: 'done', failed: 2, open: 0 });
  expect(await readReplayNotes(store.redis, store.keys, run)).toEqual([
    { kind: 'failed', why: 'paused', delivery: waits },
    { kind: 'failed', why: 'paused', delivery: rings },
  ]);
  // What the run had begun again is held as any schedule is; the run does not wait for it.
  expect(await runOf(store, restarting)).toMatchObject({ state: 'done', failed: 1, open: 0 });
  expect([await store.status(waits), await store.status(rings), await store.status(restarted)]).toEqual([
    'dead_letter',
    'dead_letter',
    'held',
  ]);
  expect(await store.waiting(endpoint)).toEqual([await store.alarm(restarted)]);
  const later = await startRun(store, [waits, elsewhere]);
  expect((await advance(store, later)).alarms).toHaveLength(1);
  expect((await runOf(store, later)).refused).toEqual({ paused: 1 });
});

test('an operator has three runs under way at once; a fourth, or one that would go on, is refused and named the three', async () => {
  const store = new Store();
  const ids = await deads(store, 5);
  const runs: string[] = [];
  for (const id of ids.slice(0, 3)) runs.push(await startRun(store, [id]));
  // Those of one millisecond have no order.
  const refused = { underWay: expect.arrayContaining(runs) };
  expect(await tryRun(store, ids.slice(3, 4))).toEqual(refused);
  expect(await store.redis.keys(`${store.keys.prefix}replay-run:*`)).toHaveLength(6); // three runs and their lists
  expect(await tryRun(store, ids.slice(3, 4), { operator: 'other' })).toBeUndefined();
  const [first = ''] = runs;
  await change(store, first, 'cancel');
  const fourth = await startRun(store, ids.slice(3, 4));
  expect(await change(store, first, 'resume')).toEqual({ underWay: [...runs.slice(1), fourth] });
  expect((await runOf(store, first)).state).toBe('cancelled');
  await advance(store, fourth);
  await store.end(await store.go(ids[3] ?? '', bulkAlarm(ids[3] ?? '', fourth)), 'sent'); // and it is done
  expect(await change(store, first, 'resume')).toBeUndefined();
});

test('a slot that is kept for a delivery of a bulk run is used at once: its job stands in no line of retries', async () => {
  const store = new Store({ ...AT_ONCE, scheduleMs: [0, 0] });
  const endpoint = await store.endpoint(1);
  const waits = await dead(store, endpoint);
  const busy = await store.go(await store.delivery(endpoint));
  const run = await startRun(store, [waits]);
  expect((await advance(store, run)).alarms).toMatchObject([{ bulk: true }]);
  expect(await store.begin(waits, bulkAlarm(waits, run))).toMatchObject({ kind: 'parked', why: 'cap' });
  const { alarms } = await store.end(busy, 'sent');
  expect(alarms).toEqual([{ alarmId: bulkAlarm(waits, run), waitMs: 0, bulk: false }]);
  expect(await store.running(endpoint)).toEqual([waits]);
});
