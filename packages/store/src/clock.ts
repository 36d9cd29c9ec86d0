import type { Redis } from 'ioredis';

/** Redis' clock in ms: the one clock that all processes share. */
export async function redisNowMs(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}
