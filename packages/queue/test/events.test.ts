import { expect, test } from '@jest/globals';
import { newId } from '@breakwater/contracts/ids';
import type { EventJob } from '@breakwater/contracts/jobs';
import { Queue } from 'bullmq';
import { pause } from '@breakwater/runtime/poll';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { createEventProducer } from '../src/event-producer.ts';
import { createQueueMaintenance } from '../src/maintenance.ts';
import { startEventWorker } from '../src/workers.ts';
import { afterwards, connect, eventJob, freshKeys, silent } from './support/queue.ts';

function open() {
  const keys = freshKeys();
  const producer = createEventProducer(connect('producer'), keys, silent);
  afterwards(() => producer.close());
  const redis = connect('scripts');
  const maintenance = createQueueMaintenance(redis, keys, silent);
  afterwards(() => maintenance.close());
  const queue = new Queue('events', { connection: redis, prefix: keys.queues });
  afterwards(() => queue.close());
  return {
    maintenance,
    redis,
    queue,
    add: (job: EventJob, jobId = `j${newId()}`, dedupe = newId()) =>
      producer.add(job, jobId, { id: dedupe, ttlMs: 60_000 }),
    work: (
      handle: (job: EventJob) => Promise<void>,
      options: { concurrency?: number; payloadBytes?: number } = {},
    ) => {
      const worker = startEventWorker(
        { redis: connect('worker'), keys, concurrency: 1, logger: silent, ...options },
        handle,
      );
      afterwards(() => worker.close());
      return worker;
    },
  };
}

test('the first job of a dedupe id owns it; every later one is told whose it is, and queues nothing', async () => {
  const { add, maintenance } = open();
  const [first, second, dedupe] = [`j${newId()}`, `j${newId()}`, newId()];
  expect(await add(eventJob('e1'), first, dedupe)).toBe(first);
  expect(await add(eventJob('e1'), second, dedupe)).toBe(first);
  expect(await maintenance.waitingEvents()).toBe(1);
});

test('a command that was sent twice finds its own claim: a lost reply makes no duplicate of it', async () => {
  const { add, maintenance } = open();
  const [jobId, dedupe] = [`j${newId()}`, newId()];
  expect([await add(eventJob('e1'), jobId, dedupe), await add(eventJob('e1'), jobId, dedupe)]).toEqual([
    jobId,
    jobId,
  ]);
  expect(await maintenance.waitingEvents()).toBe(1);
});

test('an event whose fan-out fails is not lost: it waits to be tried again', async () => {
  const { add, queue, work } = open();
  await add(eventJob('e1'));
  let tries = 0;
  work(async () => {
    tries += 1;
    if (tries === 1) throw new Error('Redis was away');
  });
  await waitUntil(
    async () => tries === 2 && (await queue.getJobCountByTypes('wait', 'active', 'delayed', 'failed')) === 0,
    { what: 'the second try' },
  );
});

test('a job that nobody can read is parked and told of, and is run again with all its tries once it can be read', async () => {
  const { queue, work, maintenance } = open();
  await queue.add(
    'event',
    { ...eventJob('e1'), v: 99 },
    { jobId: 'unreadable', attempts: 20, removeOnFail: false },
  );
  const seen: string[] = [];
  const worker = work(async (job) => void seen.push(job.eventId));
  await waitUntil(async () => (await queue.getFailedCount()) === 1, { what: 'the job to fail' });
  const failed = await queue.getJob('unreadable');
  expect(failed?.failedReason).toContain('does not match any version known here');
  expect(failed?.attemptsMade).toBe(1);
  await worker.close();
  expect(await maintenance.retryFailedEvents(10)).toBe(0); // it would only fail again, every time
  expect(await maintenance.parkedEvents()).toEqual([
    { job: 'unreadable', failedAt: expect.any(Number), why: expect.stringContaining('payload version 99') },
  ]);
  expect(await failedAndParked(maintenance)).toEqual({ failed: 0, parked: 1 });

  await failed?.updateData(eventJob('e1')); // as after an upgrade that can read it
  expect(await maintenance.retryFailedEvents(10)).toBe(1);
  expect((await queue.getJob('unreadable'))?.attemptsMade).toBe(0);
  work(async (job) => void seen.push(job.eventId));
  await waitUntil(() => seen.length === 1, { what: 'the job to run' });
  expect(await maintenance.retryFailedEvents(10)).toBe(0);
});

test('a job whose payload is no JSON at all is parked like any other, and holds up nobody', async () => {
  const { queue, work, maintenance, redis } = open();
  for (const jobId of ['damaged', 'failing']) {
    await queue.add('event', eventJob(jobId), { jobId, removeOnFail: false });
  }
  await redis.hset(queue.toKey('damaged'), 'data', '{"v":1,');
  const seen: string[] = [];
  const worker = work(async (job) => {
    seen.push(job.eventId);
    throw new Error('Redis was away');
  });
  await waitUntil(async () => (await queue.getFailedCount()) === 2, { what: 'both to fail' });
  await worker.close();
  expect(seen).toEqual(['failing']);
  expect(await maintenance.parkedEvents()).toEqual([
    { job: 'damaged', failedAt: expect.any(Number), why: 'the payload is no JSON' },
  ]);
  expect(await failedAndParked(maintenance)).toEqual({ failed: 1, parked: 1 });
  expect(await maintenance.retryFailedEvents(10)).toBe(1);
  expect(await redis.hget(queue.toKey('damaged'), 'data')).toBe('{"v":1,'); // kept as it was
});

test('parked jobs do not hide those that can be run again', async () => {
  const { queue, work, maintenance } = open();
  for (let number = 0; number < 3; number += 1)
    await queue.add('event', { v: 99 }, { jobId: `unreadable${number}`, removeOnFail: false });
  await queue.add('event', eventJob('e1'), { jobId: 'readable', removeOnFail: false });
  const worker = work(() => Promise.reject(new Error('Redis was away')));
  await waitUntil(async () => (await queue.getFailedCount()) === 4, { what: 'all to fail' });
  await worker.close();
  expect(await failedAndParked(maintenance)).toEqual({ failed: 1, parked: 3 });
  expect(await maintenance.retryFailedEvents(1)).toBe(1);
  expect(await failedAndParked(maintenance)).toEqual({ failed: 0, parked: 3 });
});

const failedAndParked = async (maintenance: ReturnType<typeof createQueueMaintenance>) => {
  const depths = (await maintenance.depths()).filter(({ queue }) => queue === 'events');
  const of = (wanted: string): number | undefined => depths.find(({ state }) => state === wanted)?.jobs;
  return { failed: of('failed'), parked: of('parked') };
};

test('two sweepers at once run a failed event once', async () => {
  const { queue, work, maintenance } = open();
  await queue.add('event', eventJob('e1'), { jobId: 'failing', removeOnFail: false });
  const worker = work(() => Promise.reject(new Error('Redis was away')));
  await waitUntil(async () => (await queue.getFailedCount()) === 1, { what: 'the job to fail' });
  await worker.close();
  await Promise.all([maintenance.retryFailedEvents(10), maintenance.retryFailedEvents(10)]);
  expect(await queue.getWaitingCount()).toBe(1);
  expect(await queue.getFailedCount()).toBe(0);
});

test('a shadow of a dead letter is made once and taken away once', async () => {
  const { maintenance } = open();
  const job = {
    v: 1 as const,
    delivery: `${newId()}.ep_x`,
    event: newId(),
    destination: 'ep_x',
    reason: 'gone',
  };
  const jobs = async (): Promise<number> =>
    (await maintenance.depths())
      .filter(({ queue }) => queue === 'dead-letters')
      .reduce((sum, each) => sum + each.jobs, 0);
  for (let times = 0; times < 2; times += 1) await maintenance.shadow(job.delivery, job);
  expect(await jobs()).toBe(1);
  for (let times = 0; times < 2; times += 1) await maintenance.shadow(job.delivery, undefined);
  expect(await jobs()).toBe(0);
});

test('large events are taken a few at a time, since twenty of them would end the process; small ones together', async () => {
  const { add, work } = open();
  const large = 'x'.repeat(100_000);
  const order = [large, large, '', '', '', '', large, large, large, large, large];
  const together = Promise.withResolvers<void>(); // the small ones end in one moment
  for (const [index, body] of order.entries()) await add({ ...eventJob(`e${index}`), body });
  let bytes = 0;
  let [mostBytes, mostSmall, inHand, done] = [0, 0, 0, 0];
  work(
    async (job) => {
      bytes += job.body.length;
      inHand += 1;
      mostBytes = Math.max(mostBytes, bytes);
      if (job.body === '') mostSmall = Math.max(mostSmall, inHand);
      if (inHand === 4) together.resolve();
      await (job.body === '' ? together.promise : pause(20));
      bytes -= job.body.length;
      inHand -= 1;
      done += 1;
    },
    { concurrency: 4, payloadBytes: 50_000 },
  );
  await waitUntil(() => done === order.length, { what: 'all events' });
  expect(mostSmall).toBe(4);
  expect(mostBytes).toBeLessThanOrEqual(2 * large.length); // one by the loop, one by an end
});
