import { type DeadLetterJob, QUEUES } from '@breakwater/contracts/jobs';
import type { Logger } from '@breakwater/runtime/logger';
import type { Keyspace } from '@breakwater/store/keys';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { EVENT_STREAM_LENGTH, quiet } from './connection.ts';
import { type FailedEvent, failedEventPages } from './failed-event-pages.ts';
import { type ParkedEvent, sortFailedEvents } from './failed-events.ts';

export interface QueueDepth {
  readonly queue: string;
  readonly state: string;
  readonly jobs: number;
}

export interface QueueMaintenance {
  /** Brings the shadow of one delivery into line: a job in `dead-letters` while it is a dead letter, none otherwise. */
  readonly shadow: (delivery: string, wanted: DeadLetterJob | undefined) => Promise<void>;
  /** Runs failed `events` jobs again, but for those that cannot be read. Resolves to how many. */
  readonly retryFailedEvents: (limit: number) => Promise<number>;
  /** Failed `events` jobs, page by page. */
  readonly eachFailedEvent: () => AsyncIterable<FailedEvent[]>;
  /** Failed `events` jobs that this version cannot read: running them again would only fail again. */
  readonly parkedEvents: () => Promise<ParkedEvent[]>;
  /** Events that wait for fan-out. */
  readonly waitingEvents: () => Promise<number>;
  /** How long the oldest of them has waited, ms; 0 when none does. */
  readonly oldestWaitingEventMs: () => Promise<number>;
  readonly depths: () => Promise<QueueDepth[]>;
  readonly close: () => Promise<void>;
}

const STATES = ['wait', 'prioritized', 'delayed', 'active', 'failed'] as const;

export function createQueueMaintenance(redis: Redis, keys: Keyspace, logger: Logger): QueueMaintenance {
  const open = (name: string): Queue => {
    const queue = new Queue(name, {
      connection: redis,
      prefix: keys.queues,
      streams: { events: { maxLen: EVENT_STREAM_LENGTH } },
    });
    quiet(queue, logger);
    return queue;
  };
  const queues = Object.values(QUEUES).map((name) => open(name));
  const named = (name: string): Queue => queues.find((queue) => queue.name === name) ?? open(name);
  const deadLetters = named(QUEUES.deadLetters);
  const events = named(QUEUES.events);
  return {
    async shadow(delivery, wanted) {
      if (!wanted) return void (await deadLetters.remove(delivery));
      const job = await deadLetters.add('dead-letter', wanted, { jobId: delivery });
      await job.updateData(wanted); // it may have been there already, with the reason of an earlier death
    },
    async retryFailedEvents(limit) {
      const { runnable } = await sortFailedEvents(events, redis, limit);
      for (const job of runnable) {
        // A race with another sweeper is normal: whoever comes second finds the job in another state.
        await job
          .retry('failed', { resetAttemptsMade: true, resetAttemptsStarted: true })
          .catch(() => undefined);
      }
      return runnable.length;
    },
    eachFailedEvent: () => failedEventPages(events),
    parkedEvents: async () => (await sortFailedEvents(events, redis, Number.POSITIVE_INFINITY)).parked,
    waitingEvents: () => events.getWaitingCount(),
    async oldestWaitingEventMs() {
      // Not getJobs, which would read the bodies too: up to 25 MiB each.
      const oldest = await redis.lindex(events.toKey('wait'), -1);
      const since = oldest === null ? null : await redis.hget(events.toKey(oldest), 'timestamp');
      return since === null ? 0 : Math.max(0, Date.now() - Number(since));
    },
    async depths() {
      const depths: QueueDepth[] = [];
      for (const queue of queues) {
        const counts = await queue.getJobCounts(...STATES);
        // Told apart, since the one gets better by itself and the other needs a person.
        const parked =
          queue === events && (counts['failed'] ?? 0) > 0
            ? (await sortFailedEvents(events, redis, Number.POSITIVE_INFINITY)).parked.length
            : 0;
        for (const [state, jobs] of Object.entries(counts))
          depths.push({ queue: queue.name, state, jobs: state === 'failed' ? jobs - parked : jobs });
        if (queue === events) depths.push({ queue: queue.name, state: 'parked', jobs: parked });
      }
      return depths;
    },
    async close() {
      await Promise.all(queues.map((queue) => queue.close()));
    },
  };
}
