import { expect, test } from '@jest/globals';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { DESTINATION, openFleet } from './support.ts';

/** 5 s to 5 min, a hundred times faster. */
const BACKOFF = { from: '100ms', to: '3s' };
/** Two attempts a delivery: were outages to use them up, all would be dead within seconds. */
const TARGET = {
  breaker: { backoff: BACKOFF },
  retrySchedule: ['0s', '1s'],
  maxInFlight: 4,
  serialKey: undefined,
};
const COUNT = 40;

test('in a long outage the ERP hears a handful of probes of two replicas, and afterwards all is posted, nothing dead', async () => {
  await using fleet = await openFleet(TARGET);
  const { erp } = fleet;
  erp.isDown = true;
  const ids = await Promise.all(
    Array.from({ length: COUNT }, (_, nth) => fleet.accept(`e-${nth}`, { key: `K${nth}` })),
  );
  await Promise.all([fleet.replica(), fleet.replica()]);
  await waitUntil(async () => (await fleet.breaker()) !== 'closed', {
    what: 'the breaker to open',
    timeoutMs: 30_000,
  });
  const backoffMs = async (): Promise<number> =>
    Number(await fleet.redis.hget(fleet.keys.gate(DESTINATION), 'backoffMs'));
  await waitUntil(async () => (await backoffMs()) === 3_000, {
    what: 'the longest backoff',
    timeoutMs: 60_000,
  });

  // A failed look-up is read once more and nothing is posted: two requests an attempt. Five failures opened it, with up to
  // four in flight (the cap); then one probe for each doubling, 100 ms to 3 s: 5, and the one that a slow look here lets pass.
  expect(erp.requests).toBeLessThanOrEqual(2 * (5 + 3 + 5 + 3));
  const statuses = await fleet.statuses(ids);
  expect(statuses.filter((status) => status === 'dead_letter')).toEqual([]);

  erp.isDown = false;
  await waitUntil(async () => (await fleet.statuses(ids)).every((status) => status === 'sent'), {
    what: 'all to be sent',
    timeoutMs: 60_000,
    intervalMs: 200,
  });
  expect(erp.posted.map(({ reference }) => reference).toSorted()).toEqual(
    Array.from({ length: COUNT }, (_, nth) => `e-${nth}`).toSorted(),
  );
  expect(erp.overlaps).toEqual([]);
  expect(await fleet.breaker()).toBe('closed');
}, 150_000);

test('a replica that stops while the breaker is open strands nothing, whoever held the next probe', async () => {
  await using fleet = await openFleet(TARGET);
  const { erp } = fleet;
  erp.isDown = true;
  const ids = await Promise.all(
    Array.from({ length: 12 }, (_, nth) => fleet.accept(`e-${nth}`, { key: `K${nth}` })),
  );
  const stop = await fleet.replica();
  await waitUntil(async () => (await fleet.breaker()) !== 'closed', {
    what: 'the breaker to open',
    timeoutMs: 30_000,
  });
  await stop();
  erp.isDown = false;
  await fleet.replica();
  await waitUntil(async () => (await fleet.statuses(ids)).every((status) => status === 'sent'), {
    what: 'all to be sent',
    timeoutMs: 60_000,
    intervalMs: 200,
  });
  expect(erp.posted).toHaveLength(12);
}, 120_000);
