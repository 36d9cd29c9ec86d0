import { QUEUES, type EventJob } from '@breakwater/contracts/jobs';
import type { Logger } from '@breakwater/runtime/logger';
import type { Keyspace } from '@breakwater/store/keys';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { EVENT_STREAM_LENGTH, quiet } from './connection.ts';

export interface EventProducer {
  /**
   * Claims the dedupe id and queues the event in one atomic Redis step. Resolves to the id of the job that owns the
   * claim: `jobId` itself when this call made it (also when the command was sent twice), another's for a duplicate.
   * `delayMs`: how long the event waits before fan-out may begin.
   */
  readonly add: (
    job: EventJob,
    jobId: string,
    dedupe: { readonly id: string; readonly ttlMs: number },
    delayMs?: number,
  ) => Promise<string>;
  readonly close: () => Promise<void>;
}

const ATTEMPTS = 20; // fan-out fails only for trouble with Redis or a bug; what fails for good is kept and swept

/** `redis` is a producer connection. The queue is made when Redis answers first: BullMQ's start-up hangs without it. */
export function createEventProducer(redis: Redis, keys: Keyspace, logger: Logger): EventProducer {
  let current: Promise<Queue> | undefined;
  const open = async (): Promise<Queue> => {
    const queue = new Queue(QUEUES.events, {
      connection: redis,
      prefix: keys.queues,
      streams: { events: { maxLen: EVENT_STREAM_LENGTH } },
    });
    quiet(queue, logger);
    try {
      await queue.waitUntilReady();
    } catch (error) {
      current = undefined; // its initialisation is spoilt for ever; the next call makes a new one
      throw error;
    }
    return queue;
  };
  return {
    async add(job, jobId, dedupe, delayMs = 0) {
      current ??= open();
      const queue = await current;
      const added = await queue.add('event', job, {
        jobId,
        deduplication: { id: dedupe.id, ttl: dedupe.ttlMs },
        ...(delayMs > 0 && { delay: delayMs }),
        attempts: ATTEMPTS,
        backoff: { type: 'exponential', delay: 500 },
        removeOnComplete: true,
        removeOnFail: false,
        stackTraceLimit: 1,
      });
      return added.id ?? '';
    },
    async close() {
      const queue = await current?.catch(() => undefined);
      await queue?.close();
    },
  };
}
