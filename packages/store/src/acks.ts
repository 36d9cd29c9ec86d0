import type { Redis } from 'ioredis';
import { redisNowMs } from './clock.ts';
import type { Keyspace } from './keys.ts';

const MINUTE_MS = 60_000;
/** Longer than anybody looks back. */
const FORGET_AFTER_S = 900;

/** Acknowledgements of a source that took no longer than `le` seconds, and longer than the next smaller bound; `+Inf` has no bound. */
export interface AckCount {
  readonly source: string;
  readonly le: string;
  readonly count: number;
}

/** Adds acknowledgements to the present minute, by Redis' clock. A lost answer makes ioredis send it again: they may count twice. */
export async function noteAcks(redis: Redis, keys: Keyspace, counts: readonly AckCount[]): Promise<void> {
  if (counts.length === 0) return;
  const key = keys.acks(Math.floor((await redisNowMs(redis)) / MINUTE_MS));
  const write = redis.multi();
  for (const { source, le, count } of counts) write.hincrby(key, `${le}:${source}`, count);
  await write.expire(key, FORGET_AFTER_S).exec();
}

/** Acknowledgements of the present minute and of those before it, `minutes` altogether. */
export async function readAcks(redis: Redis, keys: Keyspace, minutes: number): Promise<AckCount[]> {
  const present = Math.floor((await redisNowMs(redis)) / MINUTE_MS);
  const pipeline = redis.pipeline();
  for (let age = 0; age < minutes; age += 1) pipeline.hgetall(keys.acks(present - age));
  return ((await pipeline.exec()) ?? []).flatMap(([error, reply]) => {
    if (error) throw error;
    return Object.entries(reply as Record<string, string>).map(([field, count]): AckCount => {
      const colon = field.indexOf(':');
      return { le: field.slice(0, colon), source: field.slice(colon + 1), count: Number(count) };
    });
  });
}
