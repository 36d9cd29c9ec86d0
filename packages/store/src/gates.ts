import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import type { DestinationPolicy } from './policy.ts';

/** How fast a destination may be called on average, and how many attempts may begin at once after a pause. */
export interface Rate {
  readonly perSecond: number;
  /** One second's worth, at least one, where it is left out. */
  readonly burst?: number;
}

/** Writes what a destination has of its own. Pause, ramp and breaker stay as they are. */
export async function writeGate(
  redis: Redis,
  keys: Keyspace,
  destination: string,
  cap: number,
  policy: DestinationPolicy,
  rate?: Rate,
): Promise<void> {
  const key = keys.gate(destination);
  const write = redis
    .multi()
    .hset(key, 'cap', cap, 'policy', JSON.stringify(policy))
    .hdel(key, 'rate_per_s', 'rate_burst');
  if (rate) write.hset(key, 'rate_per_s', rate.perSecond);
  if (rate?.burst !== undefined) write.hset(key, 'rate_burst', rate.burst);
  await write.exec();
}

/** Why and since when nothing is sent to a destination; times by Redis' clock. */
export interface PauseState {
  readonly paused: boolean;
  readonly pausedAt: number | null;
  readonly pausedBy: string | null;
  readonly pausedReason: string | null;
  /** It had failed for too long, and nobody asked for it. A success ends it. */
  readonly pausedAutomatically: boolean;
  /** First failure since the last success; null where the last answer was a success. */
  readonly failingSince: number | null;
}

/** A destination that was just made. */
export const NOT_PAUSED: PauseState = {
  paused: false,
  pausedAt: null,
  pausedBy: null,
  pausedReason: null,
  pausedAutomatically: false,
  failingSince: null,
};

const instant = (text: string | null | undefined): number | null => (text ? Number(text) : null);

export async function readPause(redis: Redis, keys: Keyspace, destination: string): Promise<PauseState> {
  const [paused, at, by, reason, auto, failing] = await redis.hmget(
    keys.gate(destination),
    'paused',
    'pausedAt',
    'pausedBy',
    'pausedReason',
    'pausedAuto',
    'failingSince',
  );
  const isPaused = paused === '1';
  return {
    paused: isPaused,
    pausedAt: isPaused ? instant(at) : null,
    pausedBy: isPaused ? by || null : null,
    pausedReason: isPaused ? reason || null : null,
    pausedAutomatically: isPaused && auto === '1',
    failingSince: instant(failing),
  };
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

/** Who moves a gate and why; kept in the audit log. */
export interface GateBy {
  readonly operator: string;
  readonly actor: string;
  readonly reason: string;
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
