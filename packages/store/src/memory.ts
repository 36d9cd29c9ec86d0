import type { Redis } from 'ioredis';

/** Redis' memory in bytes; `max` is 0 where it has no limit. */
export async function readMemory(redis: Redis): Promise<{ readonly used: number; readonly max: number }> {
  const info = await redis.info('memory');
  const read = (name: string): number => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1] ?? 0);
  return { used: read('used_memory'), max: read('maxmemory') };
}
