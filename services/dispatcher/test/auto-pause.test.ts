import { expect, test } from '@jest/globals';
import { setEndpointPaused } from '@breakwater/core/destination-gates';
import { testEndpoint } from '@breakwater/core/test-endpoint';
import { createGuardedClient } from '@breakwater/http/egress';
import { readPause } from '@breakwater/store/gates';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { afterwards, openFleet, openReceiver } from './support.ts';

const BY = { operator: 'default', actor: 'tester', reason: 'maintenance' };
const retrySchedule = ['0s', ...Array.from({ length: 40 }, () => '300ms')];

/** An endpoint that was paused because it answers 500, with one delivery held. */
async function pausedByItself(autoPause: Record<string, string>) {
  const fleet = await openFleet(2, { retrySchedule, autoPause });
  const receiver = await openReceiver();
  receiver.answer = (response) => response.writeHead(500).end();
  const endpoint = await fleet.endpoint(receiver.url);
  await fleet.publish(endpoint);
  await waitUntil(async () => (await fleet.count('held')) === 1, {
    what: 'the delivery to be held',
    timeoutMs: 20_000,
  });
  const pause = () => readPause(fleet.redis, fleet.keys, endpoint);
  expect(await pause()).toMatchObject({ paused: true, pausedAutomatically: true, pausedBy: 'breakwater' });
  return { fleet, receiver, endpoint, pause };
}

test('an endpoint that only fails is paused, its delivery held, and one success of a held delivery sets it free', async () => {
  const { fleet, receiver, endpoint, pause } = await pausedByItself({ after: '1s', probeEvery: '1s' });
  await fleet.publish(endpoint);
  receiver.answer = (response) => response.writeHead(200).end();
  await waitUntil(async () => (await fleet.count('sent')) === 2, {
    what: 'both to be sent',
    timeoutMs: 20_000,
  });
  expect(await pause()).toMatchObject({ paused: false, failingSince: null });
}, 60_000);

test('a test by hand that succeeds sets it free as well, one that fails does not; nor an endpoint that a person paused', async () => {
  const { fleet, receiver, endpoint, pause } = await pausedByItself({ after: '1s', probeEvery: '1h' });
  const client = createGuardedClient(fleet.breakwater.egress, fleet.breakwater.samples);
  afterwards(() => client.close());
  const tried = () =>
    testEndpoint({ ...fleet, client }, { operator: 'default', id: endpoint, actor: 'tester' });
  expect(await tried()).toMatchObject({ ok: false, resumed: false });
  expect(await pause()).toMatchObject({ paused: true });
  receiver.answer = (response) => response.writeHead(200).end();
  expect(await tried()).toMatchObject({ ok: true, resumed: true });
  await waitUntil(async () => (await fleet.count('sent')) === 1, {
    what: 'it to be sent',
    timeoutMs: 20_000,
  });
  await setEndpointPaused(fleet, endpoint, true, BY);
  expect(await tried()).toMatchObject({ ok: true, resumed: false });
  expect(await pause()).toMatchObject({ paused: true, pausedAutomatically: false, pausedBy: 'tester' });
}, 60_000);

test('what is held for too long becomes a dead letter that says so, while the endpoint stays paused', async () => {
  const { fleet, pause } = await pausedByItself({ after: '1s', probeEvery: '1h', heldFor: '1s' });
  await waitUntil(async () => (await fleet.count('dead_letter')) === 1, {
    what: 'the dead letter',
    timeoutMs: 20_000,
  });
  const [id = ''] = await fleet.redis.zrange(fleet.keys.byStatus('default', 'dead_letter'), 0, '-1');
  expect(await fleet.redis.hget(fleet.keys.delivery(id), 'reason')).toBe('held_expired');
  expect(await pause()).toMatchObject({ paused: true });
}, 60_000);
