import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { readBreaker } from '../src/gates.ts';
import type { EndInput } from '../src/transitions.ts';
import { AT_ONCE, BREAKER, BY, Store } from './support/store.ts';

/** A target with a breaker and many retries, so that deliveries last as long as a test needs them. */
async function target(breaker: Partial<typeof BREAKER> = {}, cap = 10) {
  const store = new Store({ ...AT_ONCE, scheduleMs: Array.from({ length: 500 }, () => 0) });
  const erp = await store.erp(cap, { breaker: { ...BREAKER, ...breaker } });
  const fresh = async (): Promise<string> => (await store.event([{ d: erp }]))[0] ?? '';
  return {
    store,
    erp,
    fresh,
    results: async (text: string, more: Partial<EndInput> = {}) => {
      for (const result of text)
        await store.attempt(await fresh(), result === '1' ? 'posted' : 'failed', more);
    },
    state: async () => (await readBreaker(store.redis, store.keys, erp)).state,
    /** As if the backoff were over. */
    backoffIsOver: async () => {
      const past = (await store.now()) - 1;
      await store.redis.hset(store.keys.gate(erp), 'openUntil', past);
      await store.redis.zadd(store.keys.gates, 'XX', past, erp);
    },
    backoffMs: async () => Number(await store.redis.hget(store.keys.gate(erp), 'backoffMs')),
  };
}

test('five failures in a row open it; four and a success do not', async () => {
  const { results, state } = await target();
  await results('00001000');
  expect(await state()).toBe('closed');
  await results('00');
  expect(await state()).toBe('open');
});

test('unknown outcomes count as failures', async () => {
  const { store, fresh, state } = await target();
  for (let n = 0; n < 5; n += 1) await store.attempt(await fresh(), 'unknown');
  expect(await state()).toBe('open');
});

test('more than half of the last 20 open it, however far apart they came; exactly half does not', async () => {
  const half = '0011'.repeat(5);
  const { results, state } = await target();
  await results(half);
  expect(await state()).toBe('closed');
  await results('0011'.repeat(10)); // a window that slides over halves only
  expect(await state()).toBe('closed');
  await results('100100'); // 0, 0, 1, 1, 0, 0 fall out meanwhile
  expect(await state()).toBe('closed');
  await results('0'); // and now a 1: 11 of 20, three in a row
  expect(await state()).toBe('open');
});

test('fewer than 20 results say nothing about half of them', async () => {
  const { results, state } = await target();
  await results('0001'.repeat(4) + '000');
  expect(await state()).toBe('closed');
  await results('0');
  expect(await state()).toBe('open');
});

test('a refused document is no failure of the ERP, nor is a mapping that fails here', async () => {
  const { store, fresh, state, results } = await target();
  await results('0000');
  for (let n = 0; n < 6; n += 1) await store.attempt(await fresh(), 'rejected', { class: 'mapping' });
  for (let n = 0; n < 6; n += 1) await store.attempt(await fresh(), 'failed', { class: 'configuration' });
  expect(await state()).toBe('closed');
  await store.attempt(await fresh(), 'rejected'); // the ERP answered: it is well
  await results('0000');
  expect(await state()).toBe('closed');
});

test('a mapping that fails here closes nothing either, and leaves the probe to the next', async () => {
  const { store, fresh, results, state, backoffIsOver } = await target();
  await results('00000');
  await backoffIsOver();
  const probe = await store.go(await fresh());
  expect(probe.probe).toBe(true);
  await store.end(probe, 'rejected', { class: 'mapping' });
  expect(await state()).toBe('half_open');
  expect((await store.go(await fresh())).probe).toBe(true);
});

test('while it is open nothing begins and no attempt is used up', async () => {
  const { store, erp, fresh, results } = await target();
  const early = await fresh();
  await results('00000');
  const id = await fresh();
  for (const each of [id, early]) expect(await store.begin(each)).toEqual({ kind: 'parked', why: 'breaker' });
  expect((await store.transitions.sweepGates(10)).alarms).toEqual([]);
  expect(await store.number(id, 'attempts')).toBe(0);
  expect(await store.number(id, 'scheduleMade')).toBe(0);
  expect(await store.status(id)).toBe('pending'); // held is for a person's pause
  expect(await store.waiting(erp)).toHaveLength(2);
});

test('the end of a call that began before the opening starts no other', async () => {
  const { store, fresh, results } = await target();
  const running = await store.go(await fresh());
  await results('00000');
  await store.begin(await fresh());
  expect(await store.end(running, 'posted', { handOffToken: newId() })).toMatchObject({
    status: 'sent',
    handOff: undefined,
    alarms: [],
  });
});

test('late results of calls begun before the opening neither close it nor make it wait longer', async () => {
  const { store, fresh, results, state, backoffIsOver, backoffMs } = await target();
  const [good, bad] = [await store.go(await fresh()), await store.go(await fresh())];
  await results('00000');
  await backoffIsOver();
  await store.end(good, 'posted');
  await store.end(bad, 'failed');
  expect(await state()).toBe('half_open');
  expect(await backoffMs()).toBe(BREAKER.fromMs);
});

test('after the backoff exactly one probe is made, for the whole fleet', async () => {
  const { store, fresh, results, state, backoffIsOver } = await target();
  await results('00000');
  const waiters = await Promise.all([fresh(), fresh(), fresh()]);
  for (const id of waiters) await store.begin(id);
  await backoffIsOver();
  const replicas = [store.under({}), store.under({})];
  const released = (await Promise.all(replicas.map((replica) => replica.sweepGates(10)))).flatMap(
    ({ alarms }) => alarms,
  );
  expect(released).toHaveLength(1);
  const late = await Promise.all([fresh(), fresh()]);
  for (const id of late) expect(await store.begin(id)).toEqual({ kind: 'parked', why: 'cap' });
  const alarmId = released[0]?.alarmId ?? '';
  expect((await store.go(alarmId.slice(0, alarmId.lastIndexOf('-')), alarmId)).probe).toBe(true);
  expect(
    (await Promise.all(replicas.map((replica) => replica.sweepGates(10)))).flatMap(({ alarms }) => alarms),
  ).toEqual([]);
  expect(await state()).toBe('half_open');
});

test('a probe whose process died is followed by another', async () => {
  const { store, fresh, results, backoffIsOver } = await target();
  await results('00000');
  await backoffIsOver();
  const id = await fresh();
  await store.go(id);
  await store.lapse(id);
  await store.transitions.sweepAlarms('erp', 10);
  expect((await store.go(await fresh())).probe).toBe(true);
});

test('each failed probe doubles the backoff, up to the maximum', async () => {
  const { store, fresh, results, state, backoffIsOver, backoffMs } = await target();
  await results('00000');
  const seen = [await backoffMs()];
  for (let n = 0; n < 3; n += 1) {
    await backoffIsOver();
    await store.attempt(await fresh(), 'failed');
    expect(await state()).toBe('open');
    seen.push(await backoffMs());
  }
  expect(seen).toEqual([60_000, 120_000, 200_000, 200_000]);
});

test('a good probe closes it with one slot, and one more with each success', async () => {
  const { store, erp, fresh, results, state, backoffIsOver } = await target();
  await results('00000');
  for (let waiters = 0; waiters < 6; waiters += 1) await store.begin(await fresh());
  await backoffIsOver();
  const [probe] = (await store.transitions.sweepGates(10)).alarms;
  const finish = async (alarmId = '') =>
    (await store.end(await store.go(alarmId.slice(0, alarmId.lastIndexOf('-')), alarmId), 'posted')).alarms;
  const first = await finish(probe?.alarmId);
  expect(await state()).toBe('closed');
  expect(first).toHaveLength(1);
  expect(await store.redis.hget(store.keys.gate(erp), 'ramp')).toBe('1');
  expect(await finish(first[0]?.alarmId)).toHaveLength(2);
});

test('once closed, it has forgotten its backoff and the failures before', async () => {
  const { store, fresh, results, state, backoffIsOver, backoffMs } = await target();
  await results('00000');
  await backoffIsOver();
  await store.attempt(await fresh(), 'failed');
  expect(await backoffMs()).toBe(120_000);
  await backoffIsOver();
  await store.attempt(await fresh(), 'posted');
  await results('0000');
  expect(await state()).toBe('closed');
  await results('0');
  expect(await state()).toBe('open');
  expect(await backoffMs()).toBe(60_000);
});

test('a person may open it, and then only a person closes it, with a ramp', async () => {
  const { store, erp, fresh, state } = await target();
  const running = await store.go(await fresh());
  await store.transitions.setGate(erp, 'breaker-open', BY);
  expect(await store.begin(await fresh())).toEqual({ kind: 'parked', why: 'breaker' });
  await store.end(running, 'posted');
  expect(await state()).toBe('open');
  expect((await store.transitions.setGate(erp, 'breaker-close', BY)).length).toBe(1);
  expect(await state()).toBe('closed');
  expect(await store.redis.hget(store.keys.gate(erp), 'ramp')).toBe('1');
});

test('a pause by a person outlasts the breaker', async () => {
  const { store, erp, fresh, results, backoffIsOver } = await target();
  await results('00000');
  await store.pause(erp);
  await backoffIsOver();
  expect(await store.begin(await fresh())).toEqual({ kind: 'parked', why: 'paused' });
});

test('attempts that were put off while it was open neither dilute the rate nor end a row of failures', async () => {
  const { store, fresh, results, state } = await target();
  await results('0000');
  for (let n = 0; n < 50; n += 1) await store.attempt(await fresh(), 'deferred');
  expect(await state()).toBe('closed');
  await results('0');
  expect(await state()).toBe('open');
});

test('a probe that fails uses up nothing of its delivery, so no outage is long enough to dead-letter one', async () => {
  const store = new Store(AT_ONCE);
  const erp = await store.erp(10, { scheduleMs: [0, 0], breaker: BREAKER });
  const [id = ''] = await store.event([{ d: erp }]);
  const backoffIsOver = async () =>
    store.redis.hset(store.keys.gate(erp), 'openUntil', (await store.now()) - 1);
  for (const outcome of ['failed', 'unknown', 'failed', 'failed'] as const) {
    await backoffIsOver();
    const probe = await store.go(id);
    expect(probe.probe).toBe(true);
    const { status, alarms } = await store.end(probe, outcome);
    expect(status).toBe('failed');
    expect(alarms[0]?.waitMs).toBeGreaterThanOrEqual(1_000);
  }
  expect(await store.number(id, 'scheduleMade')).toBe(0);
  await backoffIsOver();
  expect(await store.attempt(id, 'posted')).toMatchObject({ status: 'sent' });
});

test('one that fails for a reason of its own gives way as the probe, so an ERP that is well is found out', async () => {
  const { store, erp, fresh, results, state, backoffIsOver } = await target();
  await results('00000');
  const [poison, well] = [await fresh(), await fresh()];
  for (const id of [poison, well]) await store.begin(id);
  // Who has waited longest is the probe, and two that came in one millisecond have no order.
  await store.redis.zadd(store.keys.waiting(erp), 'XX', 1, await store.alarm(poison));
  const probe = async () => {
    await backoffIsOver();
    const [alarm] = (await store.transitions.sweepGates(10)).alarms;
    const alarmId = alarm?.alarmId ?? '';
    return store.go(alarmId.slice(0, alarmId.lastIndexOf('-')), alarmId);
  };
  const first = await probe();
  expect(first.delivery).toBe(poison);
  const { alarms } = await store.end(first, 'unknown');
  await store.redis.hset(store.keys.delivery(poison), 'nextAttemptAt', 0, 'settleAt', 0);
  expect(await store.begin(poison, alarms[0]?.alarmId)).toEqual({ kind: 'parked', why: 'breaker' });
  expect(await store.waiting(erp)).toHaveLength(2);
  const second = await probe();
  expect(second.delivery).toBe(well);
  await store.end(second, 'posted');
  expect(await state()).toBe('closed');
});

test('after an outage the waiting ones are let through in rounds of 1, 2, 4, 8, up to the cap', async () => {
  const { store, fresh, results, backoffIsOver } = await target();
  await results('00000');
  const waiting = await Promise.all(Array.from({ length: 40 }, fresh));
  for (const id of waiting) await store.begin(id);
  await backoffIsOver();
  let { alarms } = await store.transitions.sweepGates(10);
  const rounds: number[] = [];
  for (let round = 0; round < 5; round += 1) {
    rounds.push(alarms.length);
    const running = [];
    for (const { alarmId } of alarms)
      running.push(await store.go(alarmId.slice(0, alarmId.lastIndexOf('-')), alarmId));
    const next: (typeof alarms)[number][] = [];
    for (const go of running) next.push(...(await store.end(go, 'posted')).alarms);
    alarms = next;
  }
  expect(rounds).toEqual([1, 1, 2, 4, 8]);
});
