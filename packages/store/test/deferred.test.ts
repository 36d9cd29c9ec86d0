import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import { readDelivery } from '../src/deliveries.ts';
import { AT_ONCE, Store } from './support/store.ts';

test('a deferred attempt uses up nothing: no row, no scheduled attempt, no count; only its number is gone, it was a fence', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery();
  await store.attempt(id, 'failed');
  expect(await store.attempt(id, 'deferred')).toMatchObject({ kind: 'done', status: 'failed' });
  expect(await store.ledger()).toMatchObject({ 'attempts:schedule': 1 });
  expect(await store.number(id, 'scheduleMade')).toBe(1);
  expect((await store.go(id)).attempt).toBe(3);
  const delivery = await readDelivery(store.redis, store.keys, 'default', id);
  expect(delivery?.attempts.map(({ number }) => number)).toEqual([1]);
});

test('a deferred attempt is not asked for again at once: a reason that lasts must not become a hot loop', async () => {
  const store = new Store();
  const id = await store.delivery();
  const answer = await store.attempt(id, 'deferred');
  expect(answer.alarms).toEqual([{ alarmId: `${id}-2`, waitMs: 1_000 }]);
  expect((await store.begin(id)).kind).toBe('early');
  const replay = await store.goReplay(id);
  expect((await store.end(replay, 'deferred')).alarms.map(({ alarmId }) => alarmId)).not.toContain(
    replay.alarmId,
  );
  const lookAt = Number(await store.redis.zscore(store.keys.alarms('deliveries'), replay.alarmId));
  expect(lookAt - (await store.now())).toBeGreaterThan(500); // its job id is still taken by the job that is ending
  expect(lookAt - (await store.now())).toBeLessThanOrEqual(1_000);
});

test('a deferral that was recorded twice is one', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery();
  const go = await store.go(id);
  await store.end(go, 'deferred');
  const [record, ledger] = [await store.redis.hgetall(store.keys.delivery(id)), await store.ledger()];
  expect((await store.end(go, 'deferred')).kind).toBe('done');
  expect(await store.redis.hgetall(store.keys.delivery(id))).toEqual(record);
  expect(await store.ledger()).toEqual(ledger);
});

test('a deferred attempt gives its slots away: to another key, while those of its own key wait behind it', async () => {
  const store = new Store(AT_ONCE);
  const erp = await store.erp(1);
  const keyed = async (name: string): Promise<string> =>
    (await store.event([{ d: erp, k: `${erp}/${name}` }]))[0] ?? '';
  const [first, second, other] = [await keyed('k'), await keyed('k'), await keyed('m')];
  const go = await store.go(first);
  await store.begin(second);
  await store.begin(other);
  const answer = await store.end(go, 'deferred');
  expect(answer.alarms.map(({ alarmId }) => alarmId)).toContain(`${other}-2`);
  expect(await store.running(`${erp}/k`)).toEqual([]);
  expect(await store.running(erp)).toEqual([other]);
});

test('a deferral after a late success arms nothing: the delivery is done', async () => {
  const store = new Store(AT_ONCE);
  const id = await store.delivery();
  const slow = await store.go(id);
  await store.lapse(id);
  await store.transitions.sweepAlarms('deliveries', 10);
  const go = await store.go(id);
  await store.end(slow, 'sent');
  expect(await store.end(go, 'deferred')).toMatchObject({ status: 'sent', alarms: [] });
  expect(await store.alarms()).toEqual([]);
  expect((await store.begin(id, `${id}-9`)).kind).toBe('stale');
});

test('a deferred replay of a dead letter is still open, and comes again', async () => {
  const store = new Store({ graceMs: 0 });
  const id = await store.delivery();
  await store.attempt(id, 'gone');
  const replay = await store.goReplay(id);
  await store.end(replay, 'deferred');
  expect(await store.status(id)).toBe('dead_letter');
  expect(await store.alarms()).toEqual([replay.alarmId]);
  expect(await store.transitions.beginAttempt(id, replay.alarmId, newId())).toMatchObject({
    kind: 'go',
    go: { trigger: 'replay' },
  });
});
