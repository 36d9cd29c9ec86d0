import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Delivery } from '@breakwater/contracts/delivery';
import { type Guard, startGuard } from '@breakwater/local-stack/guard';
import type { Child } from '@breakwater/local-stack/processes';
import { pause } from '@breakwater/runtime/poll';
import { type OwnRedis, startOwnRedis } from '../support/redis.ts';
import { type Hold, type RedisProxy, startRedisProxy } from '../support/redis-proxy.ts';
import { scriptCall, startStepRig, type StepRig } from '../support/step-rig.ts';
import { waitUntil } from '../support/wait-until.ts';

let guard: Guard;
let redis: OwnRedis;
beforeAll(async () => {
  guard = startGuard();
  redis = await startOwnRedis();
}, 30_000);
afterAll(async () => {
  await redis.close();
  guard.close();
});

const DEADLINE_MS = 90_000;
const begin = scriptCall('begin-attempt');
const end = scriptCall('end-attempt');
const record = scriptCall('record-event');
/** BullMQ's add to `deliveries`, and its end of a job there: the only ones that name these keys. */
const addsAlarm = (sent: string): boolean => sent.includes(':deliveries:id\r\n');
const finishesJob = (sent: string): boolean => sent.includes(':deliveries:completed\r\n') && !addsAlarm(sent);

interface Step {
  readonly what: string;
  readonly hold?: Hold;
  /** The step is over, as the record shows; for those that Redis is let do. */
  readonly done?: (delivery: Delivery) => boolean;
  readonly endpoints?: number;
  /** Requests for each delivery in the end, and outcomes of its attempts. */
  readonly requests: number;
  readonly outcomes: readonly string[];
  /** Some deliveries may be under way by then: each of those has one interrupted attempt more, whose request may have been sent. */
  readonly somebodyIsUnderWay?: true;
}

const STEPS: readonly Step[] = [
  {
    what: 'the fan-out is half done',
    hold: { at: record, when: 'before', nth: 2 },
    endpoints: 130,
    requests: 1,
    outcomes: ['sent'],
    somebodyIsUnderWay: true, // the alarms of the first hundred ring before the rest is recorded
  },
  {
    what: 'the records are made and no job is added',
    hold: { at: addsAlarm, when: 'before' },
    requests: 1,
    outcomes: ['sent'],
  },
  {
    what: 'the intent is written and nothing sent',
    hold: { at: begin, when: 'after' },
    done: ({ inFlight }) => inFlight,
    requests: 1,
    outcomes: ['interrupted', 'sent'],
  },
  { what: 'the request is sent and not answered', requests: 2, outcomes: ['interrupted', 'sent'] },
  {
    what: 'the answer is read and not recorded',
    hold: { at: end, when: 'before' },
    requests: 2,
    outcomes: ['interrupted', 'sent'],
  },
  {
    what: 'the result is recorded and the process does not know',
    hold: { at: end, when: 'after' },
    done: ({ status }) => status === 'sent',
    requests: 1,
    outcomes: ['sent'],
  },
  {
    what: 'the result is recorded and the job not ended',
    hold: { at: finishesJob, when: 'before' },
    requests: 1,
    outcomes: ['sent'],
  },
];

/** Starts a dispatcher and resolves when it has come to the step. */
async function dispatchUntil(
  rig: StepRig,
  { hold, done }: Step,
): Promise<{ child: Child; proxy: RedisProxy }> {
  if (hold === undefined) rig.answer(false);
  const proxy = await startRedisProxy(redis.url, hold ?? { at: () => false, when: 'before' });
  rig.defer(() => proxy.close());
  const child = await rig.dispatcher(proxy.url);
  await rig.accept();
  let there = false;
  void proxy.reached.then(() => (there = true));
  await waitUntil(() => there || (!hold && rig.requests.length > 0), {
    what: `the step that it is ended at: ${child.tail().join('\n')}`,
    timeoutMs: DEADLINE_MS,
  });
  if (done)
    await waitUntil(async () => (await rig.deliveries()).some(done), {
      what: 'Redis to do it',
      timeoutMs: DEADLINE_MS,
    });
  return { child, proxy };
}

/** Everything is sent, and nobody has anything left to do. */
const settled = (rig: StepRig): Promise<unknown> =>
  waitUntil(
    async () => {
      const deliveries = await rig.deliveries();
      const open = deliveries.filter(({ status }) => status !== 'sent').length;
      return deliveries.length > 0 && open === 0 && (await rig.leftToDo()) === 0;
    },
    { what: 'all to be sent, with nothing left to do', timeoutMs: DEADLINE_MS, intervalMs: 200 },
  );

async function check(rig: StepRig, step: Step): Promise<void> {
  const { requests, outcomes, endpoints = 1, somebodyIsUnderWay = false } = step;
  const deliveries = await rig.deliveries();
  expect(deliveries).toHaveLength(endpoints);
  for (const delivery of deliveries) {
    const seen = delivery.attempts.map(({ outcome }) => outcome);
    const wasUnderWay = somebodyIsUnderWay && seen.length > outcomes.length;
    expect(seen).toEqual(wasUnderWay ? ['interrupted', ...outcomes] : outcomes);
    const sent = rig.requests.filter((request) => request.delivery === delivery.id).length;
    expect(wasUnderWay ? [requests, requests + 1] : [requests]).toContain(sent);
  }
}

test.concurrent.each(STEPS)(
  'a dispatcher that is killed when $what loses nothing, and what was recorded as sent is not sent again',
  async (step) => {
    const rig = await startStepRig(redis.url, guard, step.endpoints);
    try {
      const { child } = await dispatchUntil(rig, step);
      await child.kill();
      rig.answer(true);
      await rig.timePasses();
      await rig.dispatcher();
      await settled(rig);
      await check(rig, step);
    } finally {
      await rig.close();
    }
  },
  3 * DEADLINE_MS,
);

test.concurrent(
  'a dispatcher that is stopped past its lease after its request counts when it wakes: its late result is written down',
  async () => {
    const rig = await startStepRig(redis.url, guard);
    try {
      const step = STEPS.find(({ hold }) => hold === undefined)!;
      const { child } = await dispatchUntil(rig, step);
      process.kill(child.pid!, 'SIGSTOP');
      await rig.timePasses();
      rig.answer(true); // the answer waits in the socket of the process that sleeps
      await rig.dispatcher();
      await waitUntil(async () => (await rig.deliveries())[0]?.status === 'sent', {
        what: 'the other dispatcher to send it',
        timeoutMs: DEADLINE_MS,
      });
      process.kill(child.pid!, 'SIGCONT');
      const late = await waitUntil(async () => (await rig.deliveries())[0]?.attempts[0]?.lateResult, {
        what: 'the late result',
        timeoutMs: DEADLINE_MS,
      });
      expect(late.class).toBe('sent');
      await settled(rig);
      await check(rig, step);
    } finally {
      await rig.close();
    }
  },
  3 * DEADLINE_MS,
);

test.concurrent(
  'a dispatcher that is stopped past its lease before its request sends nothing when it wakes',
  async () => {
    const rig = await startStepRig(redis.url, guard);
    try {
      const step = STEPS.find(({ what }) => what.startsWith('the intent'))!;
      const { child, proxy } = await dispatchUntil(rig, step);
      const stopped = performance.now();
      process.kill(child.pid!, 'SIGSTOP');
      await rig.timePasses();
      const other = await rig.dispatcher();
      await settled(rig);
      const [first] = await rig.deliveries();
      // The process goes by its own clock, which nobody can put forward: what is left of its lease has to pass.
      await pause(Math.max(0, 16_000 - (performance.now() - stopped)));
      await other.kill();
      proxy.release();
      process.kill(child.pid!, 'SIGCONT');
      await rig.accept('second'); // now there is only the one that slept to deliver it
      await waitUntil(async () => rig.requests.some(({ delivery }) => delivery !== first!.id), {
        what: 'it to be awake and at work',
        timeoutMs: DEADLINE_MS,
      });
      await settled(rig);
      expect(rig.requests.filter(({ delivery }) => delivery === first!.id)).toHaveLength(step.requests);
      const now = (await rig.deliveries()).find(({ id }) => id === first!.id);
      expect(now!.attempts.map(({ outcome }) => outcome)).toEqual(step.outcomes);
    } finally {
      await rig.close();
    }
  },
  3 * DEADLINE_MS,
);
