import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import type { DestinationPolicy } from './policy.ts';

/** Writes what a destination has of its own. Pause, ramp and breaker stay as they are. */
export async function writeGate(
  redis: Redis,
  keys: Keyspace,
  destination: string,
  cap: number,
  policy: DestinationPolicy,
): Promise<void> {
  await redis.hset(keys.gate(destination), 'cap', cap, 'policy', JSON.stringify(policy));
}

/** What a destination has of its own; empty where it follows the deployment. */
export async function readPolicy(
  redis: Redis,
  keys: Keyspace,
  destination: string,
): Promise<DestinationPolicy> {
  const json = await redis.hget(keys.gate(destination), 'policy');
  return json === null ? {} : (JSON.parse(json) as DestinationPolicy);
}

export interface BreakerState {
  readonly state: 'closed' | 'half_open' | 'open';
  /** ms until the next probe; 0 unless open by itself. */
  readonly waitMs: number;
  /** Opened by a person, and stays so until a person closes it. */
  readonly forced: boolean;
}

/** State of a destination's breaker, by Redis' clock. */
export async function readBreaker(redis: Redis, keys: Keyspace, destination: string): Promise<BreakerState> {
  const [[openUntil, forced], [seconds, micros]] = await Promise.all([
    redis.hmget(keys.gate(destination), 'openUntil', 'forced'),
    redis.time(),
  ]);
  if (forced === '1') return { state: 'open', waitMs: 0, forced: true };
  const until = Number(openUntil ?? 0);
  const now = Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  if (until === 0) return { state: 'closed', waitMs: 0, forced: false };
  return until > now
    ? { state: 'open', waitMs: until - now, forced: false }
    : { state: 'half_open', waitMs: 0, forced: false };
}

/** How far the oldest alarm of a queue is past the time at which the sweeper would look for it, ms; 0 when none is. */
export async function pastDueMs(redis: Redis, keys: Keyspace, queue: 'deliveries' | 'erp'): Promise<number> {
  const [oldest, [seconds]] = await Promise.all([
    redis.zrange(keys.alarms(queue), 0, '0', 'WITHSCORES'),
    redis.time(),
  ]);
  return oldest[1] === undefined ? 0 : Math.max(0, Number(seconds) * 1_000 - Number(oldest[1]));
}
