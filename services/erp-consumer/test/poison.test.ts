import { newId } from '@breakwater/contracts/ids';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { DESTINATION, type Fleet, openFleet } from './support.ts';

let fleet: Fleet;
beforeEach(async () => void (fleet = await openFleet()));
afterEach(() => fleet[Symbol.asyncDispose]());

const statusBecomes = (id: string, status: string): Promise<unknown> =>
  waitUntil(async () => (await fleet.statuses([id]))[0] === status, {
    what: `${id} to become ${status}`,
    timeoutMs: 20_000,
  });

test('a document that the ERP refuses is a dead letter at once, with the words of the ERP, after one post', async () => {
  fleet.erp.answer = () => ({ status: 422, json: { error: 'warehouse W9 is closed' } });
  const id = await fleet.accept('e-1', { key: 'W9' });
  await fleet.replica();
  await statusBecomes(id, 'dead_letter');
  expect(await fleet.record(id)).toMatchObject({ reason: 'rejected', attempts: '1' });
  const sample = await fleet.redis.hgetall(fleet.keys.sample(id));
  expect(JSON.stringify(sample)).toContain('warehouse W9 is closed');
  expect(fleet.erp.requests).toBe(2); // one look-up, one post
});

test('a document that cannot be made is a dead letter before the ERP hears of it', async () => {
  const id = await fleet.accept('e-1', { key: 'W1', amount: 'much' });
  await fleet.replica();
  await statusBecomes(id, 'dead_letter');
  expect(await fleet.record(id)).toMatchObject({ reason: 'mapping_failed', attempts: '1' });
  expect(fleet.erp.requests).toBe(0);
});

/** Dead letters as a night of refused documents leaves them. */
async function bury(count: number): Promise<void> {
  const one = async (nth: number): Promise<void> => {
    const id = await fleet.accept(`dead-${nth}`, {});
    const begun = await fleet.transitions.beginAttempt(id, `${id}-1`, newId());
    if (begun.kind !== 'go') throw new Error(`not begun: ${begun.kind}`);
    await fleet.transitions.endAttempt({
      delivery: id,
      alarmId: `${id}-1`,
      attempt: begun.go.attempt,
      outcome: 'rejected',
      class: 'erp_rejected',
      code: '422',
      handOffToken: '',
    });
  };
  const AT_ONCE = 50;
  for (let from = 0; from < count; from += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => one(from + index)));
}

test('thousands of dead letters, and more to come, stop nothing: what is right is posted', async () => {
  fleet.erp.answer = ({ reference }) => (reference.startsWith('dead') ? { status: 422 } : {});
  await bury(2_000);
  const dead = async (): Promise<number> =>
    Number(await fleet.redis.hget(fleet.keys.ledger, 'status:receipts:dead_letter'));
  expect(await dead()).toBe(2_000);
  const good: string[] = [];
  for (let nth = 0; nth < 20; nth += 1) {
    good.push(await fleet.accept(`good-${nth}`, { key: `K${nth % 7}` }));
    await fleet.accept(`dead-more-${nth}`, { key: `K${nth % 7}` });
  }
  await fleet.replica();
  for (const id of good) await statusBecomes(id, 'sent');
  await waitUntil(async () => (await dead()) === 2_020, {
    what: 'the others to be dead letters',
    timeoutMs: 60_000,
  });
  expect(fleet.erp.posted.map(({ reference }) => reference).toSorted()).toEqual(
    good.map((_id, nth) => `good-${nth}`).toSorted(),
  );
  expect(await fleet.breaker()).toBe('closed'); // refusals are no failure of the ERP
  expect(await fleet.redis.zcard(fleet.keys.waiting(DESTINATION))).toBe(0);
}, 120_000);
