import { getHeapStatistics } from 'node:v8';
import {
  type AlarmJob,
  decodeAlarmJob,
  decodeEventJob,
  type EventJob,
  QUEUES,
} from '@breakwater/contracts/jobs';
import type { Logger } from '@breakwater/runtime/logger';
import { messageOf } from '@breakwater/runtime/errors';
import type { Keyspace } from '@breakwater/store/keys';
import { DelayedError, type Job, UnrecoverableError, Worker, type WorkerOptions } from 'bullmq';
import type { Redis } from 'ioredis';
import { quiet } from './connection.ts';

export interface WorkerHandle {
  /** Takes no new job and waits for those in hand. */
  readonly close: () => Promise<void>;
  /** Jobs in hand right now. */
  readonly running: () => boolean;
}

interface Common {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly concurrency: number;
  readonly logger: Logger;
  /** For payloads of events in hand; a part of this process' heap by default. */
  readonly payloadBytes?: number;
}

const COMMON_OPTIONS = {
  // Renewed by timer; covers a stalled event loop, not a job's length. A job that Redis handed out while its answer was lost
  // (a restart) is taken for running until the lock and two checks are over, so both are short: 15 to 25 s.
  lockDuration: 15_000,
  stalledInterval: 5_000,
  // A stalled event is a dead process, nothing about the event; BullMQ would fail it without running it after one.
  maxStalledCount: 10,
  removeOnComplete: { count: 0 },
} as const;

/**
 * Runs fan-out for every accepted event. A job that cannot be decoded fails at once and is kept. The claim of a coalescing
 * event ends before `handle` begins: until then equal notifications are merged into it, and whatever `handle` sets off
 * looks at the resource later than all of them. A notification that comes after that is an event of its own.
 */
export function startEventWorker(options: Common, handle: (job: EventJob) => Promise<void>): WorkerHandle {
  const fanOut = async (job: Job<unknown>): Promise<void> => {
    const event = decode(job, decodeEventJob);
    if (event.v === 3) await job.removeDeduplicationKey(); // only where it is still this job's
    await handle(event);
  };
  return startWorker(options, QUEUES.events, fanOut, PayloadWorker);
}

/**
 * A BullMQ worker that has room takes jobs one by one until it is full or there are none, and begins with the first of them
 * only then. So when thousands become due at once, a first attempt among them waits for as many round trips as the worker
 * has places; several workers with fewer places each take theirs at the same time.
 */
const TAKEN_AT_ONCE = 100;

export type AlarmAnswer = { readonly kind: 'done' } | { readonly kind: 'later'; readonly waitMs: number };

/** Rings alarms: `handle` asks the record and, where it says go, makes the attempt. `behind`: first attempts go before it. */
export function startAlarmWorker(
  options: Common & { readonly queue: 'deliveries' | 'erp' },
  handle: (alarm: AlarmJob, alarmId: string, behind: boolean) => Promise<AlarmAnswer>,
): WorkerHandle {
  const ring = async (job: Job<unknown>, token?: string): Promise<void> => {
    const answer = await handle(decode(job, decodeAlarmJob), job.id ?? '', job.priority > 0);
    if (answer.kind === 'done') return;
    await job.moveToDelayed(Date.now() + answer.waitMs, token);
    throw new DelayedError();
  };
  const workers: WorkerHandle[] = [];
  for (let left = options.concurrency; left > 0; left -= TAKEN_AT_ONCE)
    workers.push(
      startWorker({ ...options, concurrency: Math.min(left, TAKEN_AT_ONCE) }, options.queue, ring),
    );
  return {
    close: async () => void (await Promise.all(workers.map((worker) => worker.close()))),
    running: () => workers.some((worker) => worker.running()),
  };
}

/**
 * A payload that is no JSON would throw while BullMQ takes the job, which would then come back as stalled for minutes. As
 * no payload at all it fails at once, like any other that cannot be read; in Redis it stays as it is.
 */
class PatientWorker extends Worker<unknown> {
  protected override createJob(...[json, id]: Parameters<Worker<unknown>['createJob']>) {
    try {
      return super.createJob(json, id);
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return super.createJob({ ...json, data: 'null' }, id);
    }
  }
}

/**
 * Jobs are taken before anybody knows how large they are, and twenty of the largest events would end the process, and the
 * one that is started next. So while those in hand are large, none is taken beside them. BullMQ's loop takes one by one.
 * The end of a job takes the next one in the same step, which is what makes it fast; for a while after a large event only
 * one end at a time does, since those come in crowds.
 */
class PayloadWorker extends PatientWorker {
  payloadBytes = (getHeapStatistics().heap_size_limit * SHARE_OF_HEAP) / COPIES;
  readonly #places = this.concurrency;
  readonly #sizes = new Map<string, number>();
  #held = 0;
  #taking = 0;
  #carefulUntil = 0;

  protected override createJob(...[json, id]: Parameters<Worker<unknown>['createJob']>) {
    this.letGo(id); // one that came back
    this.#sizes.set(id, json.data.length);
    this.#hold(json.data.length);
    return super.createJob(json, id);
  }

  override async processJob(...[job, token, mayTake]: Parameters<Worker<unknown>['processJob']>) {
    let taker = false;
    try {
      return await super.processJob(job, token, () => {
        this.letGo(job.id);
        const careful = performance.now() < this.#carefulUntil;
        if (taker || (careful && this.#taking > 0) || mayTake?.() === false) return false;
        this.#taking += 1;
        return (taker = true);
      });
    } finally {
      this.letGo(job.id);
      if (taker) this.#taking -= 1;
    }
  }

  letGo(id = ''): void {
    this.#hold(-(this.#sizes.get(id) ?? 0));
    this.#sizes.delete(id);
  }

  #hold(bytes: number): void {
    this.#held += bytes;
    const full = this.#held > this.payloadBytes;
    if (full) this.#carefulUntil = performance.now() + CAREFUL_FOR_MS;
    this.concurrency = full ? 1 : this.#places;
  }
}

/** Of the heap, for payloads of jobs in hand ... */
const SHARE_OF_HEAP = 0.15;
/** ... which are held as text, as what it says, as bytes, and on their way back to Redis. */
const COPIES = 4;
const CAREFUL_FOR_MS = 60_000;

function startWorker(
  options: Common,
  name: string,
  process: (job: Job<unknown>, token?: string) => Promise<void>,
  Kind: typeof PatientWorker = PatientWorker,
): WorkerHandle {
  const { redis, keys, concurrency, logger, payloadBytes } = options;
  let inHand = 0;
  const workerOptions: WorkerOptions = {
    connection: redis,
    prefix: keys.queues,
    concurrency,
    ...COMMON_OPTIONS,
  };
  const worker = new Kind(
    name,
    async (job, token) => {
      inHand += 1;
      try {
        await process(job, token);
      } finally {
        inHand -= 1;
      }
    },
    workerOptions,
  );
  if (payloadBytes !== undefined && worker instanceof PayloadWorker) worker.payloadBytes = payloadBytes;
  quiet(worker, logger);
  worker.on('failed', (job, error) => {
    const facts = { queue: name, job: job?.id, reason: messageOf(error) };
    if (error instanceof UnrecoverableError)
      logger.error(facts, 'a job cannot be read: an event is parked, an alarm is set again by the sweeper');
    else logger.warn(facts, 'job failed');
  });
  return {
    close: () => worker.close(),
    running: () => inHand > 0,
  };
}

function decode<T>(job: Job<unknown>, read: (data: unknown) => T): T {
  try {
    return read(job.data);
  } catch (error) {
    // It will not parse next time either.
    throw new UnrecoverableError(
      `the payload of job ${job.id ?? '?'} does not match any version known here: ${messageOf(error)}`,
    );
  }
}
