import { createEventProducer, type EventProducer } from '@breakwater/queue/event-producer';
import type { Logger } from '@breakwater/runtime/logger';
import { closeRedis, connectRedis, type Redis } from '@breakwater/store/connection';
import { type DurabilityGuard, watchDurability } from '@breakwater/store/durability';
import type { Keyspace } from '@breakwater/store/keys';
import { createMemoryBudget, type Release } from './memory-budget.ts';

/** A connection that events are queued over, and what is known of the Redis at its other end. */
export interface Lane {
  readonly redis: Redis;
  readonly durability: DurabilityGuard;
  readonly producer: EventProducer;
  readonly close: () => Promise<void>;
}

export interface LaneOptions {
  readonly redisUrl: string;
  readonly keys: Keyspace;
  readonly relaxed: boolean;
  readonly logger: Logger;
}

/** `commandTimeoutMs`: longer than the connection's own, where commands are of many megabytes. */
export function openLane({ redisUrl, keys, relaxed, logger }: LaneOptions, commandTimeoutMs?: number): Lane {
  const redis =
    commandTimeoutMs === undefined
      ? connectRedis(redisUrl, 'producer', logger)
      : connectRedis(redisUrl, 'scripts', logger, { commandTimeout: commandTimeoutMs });
  const durability = watchDurability(redis, relaxed, logger);
  const producer = createEventProducer(redis, keys, logger);
  return {
    redis,
    durability,
    producer,
    async close() {
      durability.close();
      await producer.close();
      await closeRedis(redis);
    },
  };
}

/** The default of what a source takes. What is larger goes its own way to Redis. */
export const LARGE_BYTES = 1_048_576;
/**
 * Storing 25 MiB takes Redis and its disk 0.7 to 2 s on two busy cores, and four that come at once go one after another. Providers
 * that send so much wait 10 s (GitHub, GitLab).
 */
const MORE_MS_PER_MIB = 250;
/** Of one command; what has not been answered by then is not waited for by anybody any more. */
const COMMAND_TIMEOUT_MS = 15_000;

/** How much longer than any other event one with so many bytes may take. */
export const moreTimeMs = (bytes: number): number =>
  bytes <= LARGE_BYTES ? 0 : Math.ceil((bytes / 2 ** 20) * MORE_MS_PER_MIB);

export interface LargeLane {
  /** Waits until no other large event is on its way; undefined when that took too long. */
  readonly enter: (waitMs: number) => Promise<{ readonly lane: Lane; readonly leave: Release } | undefined>;
  readonly close: () => Promise<void>;
}

/**
 * The way of large events: a connection of its own, opened with the first of them, one at a time. Side by side they would share one
 * disk and all be late; on the connection of the others they would stand in front of whatever comes behind them, the look
 * at Redis' settings included, and without that everything is refused.
 */
export function createLargeLane(options: LaneOptions, onClose: () => void): LargeLane {
  const turn = createMemoryBudget(1);
  const closing = new AbortController();
  let opened: Lane | undefined;
  return {
    async enter(waitMs) {
      const leave = await turn.take(1, waitMs, closing.signal);
      if (leave === undefined) return undefined;
      if (opened === undefined) {
        opened = openLane(options, COMMAND_TIMEOUT_MS);
        opened.redis.on('close', onClose);
      }
      return { lane: opened, leave };
    },
    async close() {
      closing.abort();
      opened?.redis.disconnect(); // nobody waits any more for what is on its way
      await opened?.close();
    },
  };
}
