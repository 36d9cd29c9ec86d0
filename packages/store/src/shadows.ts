import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import { loadScript } from './script.ts';

const doneScript = loadScript('shadow-done', { prelude: false });

/** Dead letters, or deliveries that were, whose shadow job has to be brought into line, with the number of the change. */
export async function readShadows(
  redis: Redis,
  keys: Keyspace,
  limit: number,
): Promise<{ delivery: string; change: string }[]> {
  const reply = await redis.zrange(keys.shadows, 0, String(limit - 1), 'WITHSCORES');
  const entries = reply.map(String);
  return Array.from({ length: entries.length / 2 }, (_, index) => ({
    delivery: entries[2 * index] ?? '',
    change: entries[2 * index + 1] ?? '',
  }));
}

/** It is in line, unless it has changed since. */
export async function shadowDone(
  redis: Redis,
  keys: Keyspace,
  delivery: string,
  change: string,
): Promise<void> {
  await doneScript.run(redis, [keys.shadows], [delivery, change]);
}
