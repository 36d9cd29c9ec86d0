import { expect, test } from '@jest/globals';
import { changeBulkReplay, findReplayRun, startBulkReplay } from '@breakwater/core/bulk-replay';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { openFleet, openReceiver } from './support.ts';

const DEADS = 60;
/** How many of a run may be without a result (bulk-replay.ts). */
const MAY_BE_OPEN = 20;
const FRESH = 30;

test('a bulk replay to an endpoint that hangs takes its few slots, and fresh events pass it', async () => {
  const fleet = await openFleet(1);
  const [ill, healthy] = [await openReceiver(), await openReceiver()];
  ill.answer = (response) => response.writeHead(410).end();
  const stuck = await fleet.endpoint(ill.url, 100); // its own cap is not what bounds the run
  const fresh = await fleet.endpoint(healthy.url);
  await Promise.all(Array.from({ length: DEADS }, () => fleet.publish(stuck)));
  await waitUntil(async () => (await fleet.count('dead_letter')) === DEADS, {
    what: 'the dead letters',
    timeoutMs: 60_000,
  });

  ill.answer = () => undefined;
  const run = await startBulkReplay(fleet, {
    selection: { operator: 'default', status: 'dead_letter' },
    filter: 'all',
    mode: 'single',
    acknowledged: false,
    reason: 'it was said to work again',
    actor: 'tester',
    perSecond: 1_000,
    destinationPerSecond: undefined,
    stopAfter: 0,
  });
  const now = () => findReplayRun(fleet, 'default', run?.id ?? '');
  await waitUntil(() => ill.open() === MAY_BE_OPEN, { what: 'the run to hang', timeoutMs: 25_000 });
  await Promise.all(Array.from({ length: FRESH }, () => fleet.publish(fresh)));
  // Nothing that hangs is let go, and none of it times out before the deadline.
  await waitUntil(() => healthy.received.length === FRESH, { what: 'the fresh events', timeoutMs: 25_000 });
  expect(ill.open()).toBe(MAY_BE_OPEN);
  expect(await now()).toMatchObject({ state: 'running', requested: MAY_BE_OPEN, open: MAY_BE_OPEN, sent: 0 });

  ill.answer = (response) => response.writeHead(200).end();
  ill.finish(200);
  await waitUntil(async () => (await now()).state === 'done', { what: 'the run', timeoutMs: 60_000 });
  expect(await now()).toMatchObject({ sent: DEADS, failed: 0, open: 0 });
  await expect(
    changeBulkReplay(fleet, {
      operator: 'default',
      id: run?.id ?? '',
      action: 'cancel',
      actor: 'tester',
      reason: '',
    }),
  ).rejects.toMatchObject({ code: 'wrong_status' });
}, 120_000);
