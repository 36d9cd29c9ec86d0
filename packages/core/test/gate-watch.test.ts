import { expect, test } from '@jest/globals';
import { newEndpointId, newId } from '@breakwater/contracts/ids';
import { writeGate } from '@breakwater/store/gates';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { startGateWatch } from '../src/gate-watch.ts';
import { afterwards } from './support/acceptor.ts';
import { openWork } from './support/deliveries.ts';

/** An endpoint that takes one attempt a second, with one begun and one parked. Resolves to what the latter was told. */
async function parked(work: ReturnType<typeof openWork>, perSecond: number): Promise<{ lookInMs: number }> {
  const endpoint = newEndpointId();
  await writeGate(work.redis, work.keys, endpoint, 10, {}, { perSecond, burst: 1 });
  await work.begin(await work.delivery(endpoint));
  const id = await work.delivery(endpoint);
  const answer = await work.transitions.beginAttempt(id, `${id}-1`, newId());
  if (answer.kind !== 'parked' || answer.why !== 'rate') throw new Error(JSON.stringify(answer));
  return answer;
}

test('who was parked for the rate gets a job without anybody ending an attempt, although the watch was asleep', async () => {
  const work = openWork();
  const watch = startGateWatch(work, 3_600_000);
  afterwards(watch.stop);
  await new Promise((resolve) => setTimeout(resolve, 100)); // its first look is over; the next one is in an hour
  const { lookInMs } = await parked(work, 5);
  watch.wakeIn(lookInMs);
  await waitUntil(async () => (await work.jobs()).length === 1, { what: 'the job of the waiter' });
});

test('also when the process that parked it died: the watch of another one looks by itself', async () => {
  const work = openWork();
  await parked(work, 5);
  afterwards(startGateWatch(work).stop);
  await waitUntil(async () => (await work.jobs()).length === 1, { what: 'the job of the waiter' });
});

test('a watch whose Redis fails goes on, and one that was stopped looks no more', async () => {
  const work = openWork();
  let looks = 0;
  const failing = {
    sweepGates: () => {
      looks += 1;
      return Promise.reject(new Error('no Redis'));
    },
  } as unknown as typeof work.transitions;
  const watch = startGateWatch({ ...work, transitions: failing });
  for (let times = 1; times <= 3; times += 1) {
    watch.wakeIn(0);
    await waitUntil(() => looks >= times, { what: `look ${times}` });
  }
  await watch.stop();
  const before = looks;
  watch.wakeIn(0);
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(looks).toBe(before);
});
