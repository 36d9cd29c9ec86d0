import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';

/** Keeps what a session stands for, sealed by whoever calls. `hash`: of the session's id, so that Redis gives nobody one. */
export async function keepSession(
  redis: Redis,
  keys: Keyspace,
  hash: string,
  session: { readonly sealed: string; readonly ttlMs: number },
): Promise<void> {
  await redis.set(keys.session(hash), session.sealed, 'PX', session.ttlMs);
}

/** What was kept; null where there is no such session, or it has ended. */
export const readSession = (redis: Redis, keys: Keyspace, hash: string): Promise<string | null> =>
  redis.get(keys.session(hash));

export async function endSession(redis: Redis, keys: Keyspace, hash: string): Promise<void> {
  await redis.del(keys.session(hash));
}
