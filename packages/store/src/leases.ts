import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import { loadScript } from './script.ts';

const holdScript = loadScript('hold-lease', { prelude: false });

/**
 * Takes a lease, or holds on to it, for `forMs`. Resolves to whether it is held. `identity` is the process' own: a command
 * that was sent again after a reconnect finds the lease that it had taken itself.
 */
export async function holdLease(
  redis: Redis,
  keys: Keyspace,
  name: string,
  identity: string,
  forMs: number,
): Promise<boolean> {
  const [held] = await holdScript.run(redis, [keys.lease(name)], [identity, Math.max(1, Math.round(forMs))]);
  return held === 1;
}

/** Gives a lease up. That of another holder stays as it is. */
export async function releaseLease(
  redis: Redis,
  keys: Keyspace,
  name: string,
  identity: string,
): Promise<void> {
  await holdScript.run(redis, [keys.lease(name)], [identity, 0]);
}
