import type { Redis } from 'ioredis';
import { redisNowMs } from './clock.ts';

/** What a Redis says of itself. */
export interface ServerInfo {
  readonly version: string;
  /** What went wrong when it last wrote to its disk; empty where nothing did. */
  readonly persistenceFaults: readonly string[];
  /** It is a copy of another one, and takes no writes. */
  readonly replica: boolean;
  /** How far its clock is ahead of ours, ms; the way there is taken into account, which leaves an error of half of it. */
  readonly clockAheadMs: number;
  /** How long a question takes, ms. */
  readonly roundTripMs: number;
}

const FAULTS = ['aof_last_write_status', 'aof_last_bgrewrite_status', 'rdb_last_bgsave_status'] as const;

export async function readServerInfo(redis: Redis): Promise<ServerInfo> {
  const info = await redis.info();
  const read = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  await redis.ping(); // the first answer on a connection takes longer
  const before = Date.now();
  const started = performance.now();
  const theirs = await redisNowMs(redis);
  const roundTripMs = performance.now() - started;
  return {
    version: read('redis_version'),
    persistenceFaults: FAULTS.filter((name) => read(name) !== 'ok' && read(name) !== '').map(
      (name) => `${name} is ${read(name)}`,
    ),
    replica: read('role') === 'slave',
    clockAheadMs: Math.round(theirs - (before + roundTripMs / 2)),
    roundTripMs,
  };
}
