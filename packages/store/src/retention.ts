import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import { loadScript } from './script.ts';

const sweepScript = loadScript('sweep-retention', { prelude: true });

export interface Expired {
  readonly events: number;
  readonly deliveries: number;
  /** Of the events, those that no route or endpoint had wanted. */
  readonly unrouted: number;
  /** There is more to do now. */
  readonly more: boolean;
}

/** Bounds of one script: about 5 ms of Redis. */
const EVENTS = 100;
const DELIVERIES = 200;

/** Takes away what ended longer than `retentionMs` ago, one batch. Repeating it is safe. */
export async function sweepRetention(redis: Redis, keys: Keyspace, retentionMs: number): Promise<Expired> {
  const [events, deliveries, unrouted, more] = await sweepScript.run(
    redis,
    [keys.retention],
    [keys.prefix, retentionMs, EVENTS, DELIVERIES],
  );
  return {
    events: Number(events),
    deliveries: Number(deliveries),
    unrouted: Number(unrouted),
    more: Number(more) === 1,
  };
}

/**
 * Was there an event of this key, accepted and recorded, whose retention is over? Known as long as its dedupe record
 * lives, which is longer than the retention.
 */
export async function isExpired(redis: Redis, keys: Keyspace, eventKey: string): Promise<boolean> {
  const job = await redis.get(keys.dedupe(eventKey));
  if (job === null) return false;
  // The record is asked for last: an event is always a job, a record, or both, until it has left.
  const [waits, recorded] = [
    await redis.exists(keys.eventJob(job)),
    await redis.exists(keys.event(eventKey)),
  ];
  return waits === 0 && recorded === 0;
}
