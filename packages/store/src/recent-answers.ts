import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';

/** Hours that are kept, the present one included; as many as the ring in prelude.lua has. */
export const RECENT_HOURS = 24;
const HOUR_MS = 3_600_000;

/** How a destination answered in the present hour and the 23 before it. */
export interface RecentAnswers {
  /** Attempts with a result, replays included. */
  readonly attempts: number;
  readonly sent: number;
  /** sent / attempts; null where there was none. */
  readonly successRate: number | null;
}

/** Of a destination that was just made. */
export const NO_ANSWERS: RecentAnswers = { attempts: 0, sent: 0, successRate: null };

/** Of each destination, in the given order; one round trip. By Redis' clock. */
export async function readRecentAnswers(
  redis: Redis,
  keys: Keyspace,
  destinations: readonly string[],
): Promise<RecentAnswers[]> {
  const pipeline = redis.pipeline();
  pipeline.time();
  for (const destination of destinations) pipeline.hvals(keys.recent(destination));
  const [time, ...rings] = ((await pipeline.exec()) ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply as string[];
  });
  const oldest = Math.floor((Number(time?.[0]) * 1_000) / HOUR_MS) - RECENT_HOURS + 1;
  return rings.map((ring) => {
    let [sent, attempts] = [0, 0];
    for (const [hour = 0, good = 0, bad = 0] of ring.map((text) => text.split(':').map(Number))) {
      if (hour < oldest) continue;
      sent += good;
      attempts += good + bad;
    }
    return { attempts, sent, successRate: attempts === 0 ? null : sent / attempts };
  });
}
