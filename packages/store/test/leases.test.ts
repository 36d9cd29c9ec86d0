import { newId } from '@breakwater/contracts/ids';
import { expect, test } from '@jest/globals';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { holdLease, releaseLease } from '../src/leases.ts';
import { readReconciliationPart, storeReconciliation } from '../src/reconciliations.ts';
import { Store } from './support/store.ts';

const LONG_MS = 60_000;

test('one holder at a time has a lease, and its own command that is sent again finds it held', async () => {
  const { redis, keys } = new Store();
  const hold = (who: string, forMs = LONG_MS) => holdLease(redis, keys, 'work', who, forMs);
  expect(await hold('a')).toBe(true);
  expect(await hold('b')).toBe(false);
  expect(await hold('a')).toBe(true); // the reply was lost
  await releaseLease(redis, keys, 'work', 'b');
  expect(await hold('b')).toBe(false);
  await releaseLease(redis, keys, 'work', 'a');
  expect(await hold('b', 1)).toBe(true);
  await waitUntil(() => hold('c'), { what: 'the lease of a holder that died to lapse' });
});

test('of many that ask at the same moment one gets the lease', async () => {
  const { redis, keys } = new Store();
  const asked = await Promise.all(
    Array.from({ length: 50 }, () => holdLease(redis, keys, 'work', newId(), LONG_MS)),
  );
  expect(asked.filter(Boolean)).toHaveLength(1);
});

test('whoever lost the lease while it worked keeps no result', async () => {
  const { redis, keys } = new Store();
  const keep = (identity: string, summary: string) =>
    storeReconciliation(redis, keys, 'receipts', { name: 'work', identity }, { summary });
  await holdLease(redis, keys, 'work', 'stopped', LONG_MS);
  await redis.del(keys.lease('work')); // it lapsed
  await holdLease(redis, keys, 'work', 'next', LONG_MS);
  expect(await keep('next', 'new')).toBe(true);
  expect(await keep('stopped', 'old')).toBe(false);
  expect(await readReconciliationPart(redis, keys, 'receipts', 'summary')).toBe('new');
});
