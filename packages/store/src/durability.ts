import type { Logger } from '@breakwater/runtime/logger';
import { messageOf } from '@breakwater/runtime/errors';
import type { Redis } from 'ioredis';

/** What the shipped infra/redis/redis.conf says; anything weaker may forget what was acknowledged. */
const REQUIRED: Readonly<Record<string, string>> = {
  appendonly: 'yes',
  appendfsync: 'always',
  'no-appendfsync-on-rewrite': 'no',
  'maxmemory-policy': 'noeviction',
};

const RECHECK_MS = 1_000; // bounds what is acknowledged after a CONFIG SET by hand; four small reads
const RETRY_MS = 1_000; // nor that what was wrong is right again: meanwhile every event is refused

export interface DurabilityGuard {
  /** Changes with every reconnect: an answer that began under another number may come from another Redis. */
  readonly epoch: () => number;
  /** Settings that are too weak, or why they could not be read; empty when durable. */
  readonly weaknesses: () => readonly string[];
  /** True once the settings of the present connection are known, and good (or the operator has accepted weaker ones). */
  readonly trusted: () => boolean;
  /** Waits for the check of the present connection, at most `timeoutMs`. */
  readonly settled: (timeoutMs: number) => Promise<void>;
  readonly close: () => void;
}

/**
 * Watches the durability of a Redis: checked at start, after every reconnect, and every `recheckMs`; every second while it
 * is too weak or unknown. A refused CONFIG counts as weaker. With `relaxed`, weaknesses are logged and exported but
 * tolerated.
 */
export function watchDurability(
  redis: Redis,
  relaxed: boolean,
  logger: Logger,
  recheckMs = RECHECK_MS,
): DurabilityGuard {
  let epoch = 0;
  let checkedAt = 0;
  let checking: number | undefined; // the epoch that is being checked
  let weaknesses: readonly string[] | undefined;
  let waiting = Promise.withResolvers<void>();
  let reported = '';

  const check = async (): Promise<void> => {
    const mine = epoch;
    if (checking === mine) return;
    checking = mine;
    const found = await findWeaknesses(redis).catch((error: unknown) => [
      `Redis' settings could not be read: ${messageOf(error)}`,
    ]);
    if (checking === mine) checking = undefined;
    if (mine !== epoch || redis.status !== 'ready') return; // that was another connection's answer
    checkedAt = performance.now();
    weaknesses = found;
    if (found.length > 0 && reported !== found.join())
      logger.warn({ weaknesses: found, relaxed }, 'Redis is not durable');
    reported = found.join();
    waiting.resolve();
  };
  const onReady = (): void => {
    epoch += 1;
    void check();
  };
  const onClose = (): void => {
    epoch += 1;
    weaknesses = undefined;
    waiting.resolve();
    waiting = Promise.withResolvers<void>();
  };
  redis.on('ready', onReady);
  redis.on('close', onClose);
  if (redis.status === 'ready') onReady();
  const recheck = (): void => {
    if (redis.status !== 'ready') return;
    const good = weaknesses?.length === 0;
    if (!good || performance.now() - checkedAt >= recheckMs) void check();
  };
  const timer = setInterval(recheck, Math.min(RETRY_MS, recheckMs));
  timer.unref();

  return {
    epoch: () => epoch,
    weaknesses: () => weaknesses ?? ["Redis' settings are not known yet"],
    trusted: () =>
      redis.status === 'ready' && weaknesses !== undefined && (relaxed || weaknesses.length === 0),
    settled: async (timeoutMs) => {
      if (weaknesses !== undefined) return;
      const late = Promise.withResolvers<void>();
      const deadline = setTimeout(late.resolve, timeoutMs);
      await Promise.race([waiting.promise, late.promise]);
      clearTimeout(deadline);
    },
    close: () => {
      clearInterval(timer);
      redis.off('ready', onReady);
      redis.off('close', onClose);
    },
  };
}

/** Settings of a Redis that may forget what was acknowledged. Rejects where CONFIG is refused. */
export async function findWeaknesses(redis: Redis): Promise<string[]> {
  // `CONFIG GET a b` needs Redis 7; one by one works everywhere.
  const found: string[] = [];
  for (const [name, required] of Object.entries(REQUIRED)) {
    const reply = await redis.config('GET', name);
    const value = reply[1];
    if (value !== required) found.push(`${name} is ${value ?? 'unknown'}, must be ${required}`);
  }
  return found;
}
