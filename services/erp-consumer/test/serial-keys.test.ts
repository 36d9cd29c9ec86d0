import { hashId } from '@breakwater/contracts/ids';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { DESTINATION, type Fleet, openFleet } from './support.ts';

let fleet: Fleet;
beforeEach(async () => void (fleet = await openFleet()));
afterEach(() => fleet[Symbol.asyncDispose]());

const postedOf = (key: string): string[] =>
  fleet.erp.posted.filter((document) => document.key === key).map(({ reference }) => reference);
const names = (key: string, count: number): string[] =>
  Array.from({ length: count }, (_, nth) => `${key}-${String(nth).padStart(2, '0')}`);

const KEYS = ['A', 'B', 'C'];
const EACH = 12;

test('two replicas post one document of a key at a time, once each, in the order of acceptance', async () => {
  const acceptedAt = Date.now() - 60_000;
  const oldest = Promise.withResolvers<void>();
  fleet.erp.answer = ({ reference }) => (reference.endsWith('-00') ? { after: oldest.promise } : {});
  await Promise.all([fleet.replica(), fleet.replica()]);
  for (const key of KEYS) await fleet.accept(`${key}-00`, { key }, acceptedAt);
  await waitUntil(() => fleet.erp.working() === KEYS.length, { what: 'the oldest of each key to be posted' });

  // While the ERP works at those, the others are fanned out in the wrong order.
  const others = KEYS.flatMap((key) => names(key, EACH).map((id, nth) => ({ key, id, nth }))).filter(
    ({ nth }) => nth > 0,
  );
  await Promise.all(
    others.toReversed().map(({ key, id, nth }) => fleet.accept(id, { key }, acceptedAt + nth)),
  );
  const waiting = async (): Promise<number> => {
    const gates = KEYS.map((key) => fleet.keys.waiting(`${DESTINATION}/${hashId('key', key)}`));
    const counts = await Promise.all(gates.map((gate) => fleet.redis.zcard(gate)));
    return counts.reduce((sum, count) => sum + count, 0);
  };
  await waitUntil(async () => (await waiting()) === others.length, {
    what: 'the others to wait',
    timeoutMs: 30_000,
  });
  oldest.resolve();

  await waitUntil(() => fleet.erp.posted.length >= KEYS.length * EACH, {
    what: 'all documents',
    timeoutMs: 60_000,
  });
  for (const key of KEYS) expect(postedOf(key)).toEqual(names(key, EACH));
  expect(fleet.erp.overlaps).toEqual([]);
}, 120_000);

test('a key at which the ERP is stuck keeps no other key waiting', async () => {
  const stuck = Promise.withResolvers<void>();
  fleet.erp.answer = ({ key }) => (key === 'HOT' ? { after: stuck.promise } : {});
  for (const id of names('HOT', 30)) await fleet.accept(id, { key: 'HOT' });
  const others = ['C1', 'C2', 'C3', 'C4'].flatMap((key) => names(key, 3).map((id) => ({ key, id })));
  for (const { key, id } of others) await fleet.accept(id, { key });
  await Promise.all([fleet.replica(), fleet.replica()]);
  await waitUntil(() => fleet.erp.posted.length === others.length, {
    what: 'the documents of the other keys',
    timeoutMs: 25_000, // less than the post's own timeout, which would end the one that is stuck
  });
  expect(postedOf('HOT')).toEqual([]);
  stuck.resolve();
  await waitUntil(() => postedOf('HOT').length === 30, {
    what: 'the documents of the hot key',
    timeoutMs: 60_000,
  });
  expect(fleet.erp.overlaps).toEqual([]);
}, 120_000);
