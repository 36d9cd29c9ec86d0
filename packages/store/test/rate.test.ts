import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { AT_ONCE, Store } from './support/store.ts';

const rated = async (store: Store, perSecond: number, burst: number, count: number) => {
  const endpoint = await store.endpoint(100, {}, { perSecond, burst });
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push(await store.delivery(endpoint));
  return { endpoint, ids };
};
/** As if `ms` had passed since the last attempt at the endpoint, for its rate and for those who look at gates. */
async function timePasses(store: Store, endpoint: string, ms: number): Promise<void> {
  await store.redis.hincrbyfloat(store.keys.gate(endpoint), 'tat', -ms);
  await store.redis.zincrby(store.keys.gates, -ms, endpoint);
}
const RATE = { gatePeriodMs: 60_000 };

test('over its rate an alarm parks: no attempt, no alarm, no job, and somebody looks when the rate lets one through', async () => {
  const store = new Store(RATE);
  const {
    endpoint,
    ids: [a = '', b = '', c = ''],
  } = await rated(store, 0.1, 2, 3);
  await store.go(a);
  await store.go(b);
  const answer = await store.begin(c);
  expect(answer).toMatchObject({ kind: 'parked', why: 'rate' });
  const wait = answer.kind === 'parked' && answer.why === 'rate' ? answer.lookInMs : 0;
  expect(wait).toBeGreaterThan(5_000);
  expect(wait).toBeLessThanOrEqual(10_000);
  expect(await store.alarms()).not.toContain(`${c}-1`);
  expect(await store.number(c, 'attempts')).toBe(0);
  const lookAt = Number(await store.redis.zscore(store.keys.gates, endpoint));
  expect(lookAt - (await store.now())).toBeGreaterThan(5_000);
  const { alarms, nextInMs } = await store.transitions.sweepGates(10);
  expect(alarms).toEqual([]);
  expect(nextInMs).toBeGreaterThan(5_000);
});

test('a look at the right time releases as many as the rate lets through, the oldest first, and says when to look again', async () => {
  const store = new Store(RATE);
  const { endpoint, ids } = await rated(store, 0.1, 2, 6);
  for (const id of ids) await store.begin(id);
  expect(await store.waiting(endpoint)).toHaveLength(4);
  await timePasses(store, endpoint, 25_000); // two and a half tokens
  const { alarms, nextInMs } = await store.transitions.sweepGates(10);
  expect(alarms).toHaveLength(2);
  expect(nextInMs).toBeGreaterThan(1_000);
  expect(nextInMs).toBeLessThanOrEqual(10_000);
  const spent = await store.redis.hget(store.keys.gate(endpoint), 'tat');
  for (const { alarmId } of alarms) await store.go(alarmId.slice(0, alarmId.lastIndexOf('-')), alarmId);
  expect(await store.redis.hget(store.keys.gate(endpoint), 'tat')).toBe(spent); // the release had paid for them
});

test('the end of an attempt hands no slot on that the rate does not allow', async () => {
  const store = new Store(RATE);
  const {
    endpoint,
    ids: [a = '', b = ''],
  } = await rated(store, 0.1, 1, 2);
  const go = await store.go(a);
  await store.begin(b);
  expect(await store.end(go, 'sent', { handOffToken: newId() })).toMatchObject({
    handOff: undefined,
    alarms: [],
  });
  expect(await store.waiting(endpoint)).toEqual([`${b}-1`]);
});

test('a waiter for a slot that then meets the rate is looked for when the rate lets it through', async () => {
  const store = new Store(RATE);
  const endpoint = await store.endpoint(1, {}, { perSecond: 0.1, burst: 1 });
  const [a, b] = [await store.delivery(endpoint), await store.delivery(endpoint)];
  const go = await store.go(a);
  expect(await store.begin(b)).toEqual({ kind: 'parked', why: 'cap' });
  await store.end(go, 'sent');
  const lookAt = Number(await store.redis.zscore(store.keys.gates, endpoint));
  expect(lookAt - (await store.now())).toBeLessThanOrEqual(10_000); // not the 60 s of a gate that is only full
});

test('every scheduled attempt counts against the rate, retries too; a replay by a person passes and counts', async () => {
  const store = new Store({ ...RATE, ...AT_ONCE });
  const {
    ids: [a = '', b = ''],
  } = await rated(store, 0.1, 2, 2);
  await store.attempt(a, 'failed');
  await store.attempt(a, 'failed');
  expect(await store.begin(a)).toMatchObject({ kind: 'parked', why: 'rate' });
  await store.goReplay(b);
  expect(await store.begin(b, `${b}-1`)).toMatchObject({ kind: 'busy' });
});

test('a clock that was set back by a year does not stop an endpoint for a year', async () => {
  const store = new Store(RATE);
  const {
    endpoint,
    ids: [a = ''],
  } = await rated(store, 10, 1, 1);
  await store.redis.hset(store.keys.gate(endpoint), 'tat', (await store.now()) + 365 * 86_400_000);
  const answer = await store.begin(a);
  expect(answer).toMatchObject({ kind: 'parked', why: 'rate' });
  expect(answer.kind === 'parked' && answer.why === 'rate' && answer.lookInMs).toBeLessThanOrEqual(100);
});

test('no window of time holds more attempts than burst and rate allow, whoever begins them and in whatever order', async () => {
  const store = new Store({ gatePeriodMs: 50 });
  const [perSecond, burst] = [40, 5];
  const { ids } = await rated(store, perSecond, burst, 40);
  const begun: number[] = [];
  const jobs: string[] = ids.map((id) => `${id}-1`);
  const deadline = performance.now() + 25_000;
  const dispatcher = async (): Promise<void> => {
    while (begun.length < ids.length && performance.now() < deadline) {
      const alarmId = jobs.shift();
      if (alarmId === undefined) {
        jobs.push(...(await store.transitions.sweepGates(10)).alarms.map((alarm) => alarm.alarmId));
        continue;
      }
      const id = alarmId.slice(0, alarmId.lastIndexOf('-'));
      const answer = await store.transitions.beginAttempt(id, alarmId, newId());
      if (answer.kind !== 'go') continue;
      begun.push(await store.number(id, 'runAt'));
      jobs.push(...(await store.end(answer.go, 'sent')).alarms.map((alarm) => alarm.alarmId));
    }
  };
  await Promise.all([dispatcher(), dispatcher(), dispatcher()]);
  expect(begun).toHaveLength(ids.length);
  const times = begun.toSorted((a, b) => a - b);
  // A released waiter may begin later than its token's time, so a window may be that much shorter than the tokens in it.
  for (let from = 0; from < times.length; from += 1)
    for (let to = from; to < times.length; to += 1) {
      const allowed = burst + ((times[to]! - times[from]! + SLACK_MS) / 1_000) * perSecond;
      expect(to - from + 1).toBeLessThanOrEqual(Math.floor(allowed) + 1);
    }
  expect(times.at(-1)! - times[0]!).toBeGreaterThanOrEqual(
    ((ids.length - burst - 1) / perSecond) * 1_000 - SLACK_MS,
  );
});
/** From a release to its begin, on a busy machine. */
const SLACK_MS = 500;
