import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { messageOf } from '@breakwater/runtime/errors';
import type { Logger } from '@breakwater/runtime/logger';
import { startLoop } from '@breakwater/runtime/poll';
import type { Redis } from '@breakwater/store/connection';
import type { Keyspace } from '@breakwater/store/keys';
import { readMemory } from '@breakwater/store/memory';

export interface CapacityWatch {
  /** Why no more events are taken; empty while there is room. */
  readonly overload: () => readonly string[];
  readonly close: () => void;
}

const EVERY_MS = 500; // at some thousand events a second the backlog grows by a few thousand between two looks

/** Watches Redis' memory and the events that wait for fan-out. Asked per request it would double the work of accepting. */
export function watchCapacity(
  redis: Redis,
  keys: Keyspace,
  limits: BreakwaterConfig['ingest'],
  logger: Logger,
): CapacityWatch {
  let overload: readonly string[] = [];
  const stop = startLoop(
    EVERY_MS,
    async () => {
      if (redis.status !== 'ready') return;
      const [{ used, max }, waiting] = await Promise.all([readMemory(redis), redis.llen(keys.waitingEvents)]);
      const found: string[] = [];
      if (max > 0 && used > max * limits.maxMemoryRatio)
        found.push(`Redis uses ${Math.round((100 * used) / max)}% of its memory`);
      if (waiting > limits.maxWaitingEvents) found.push(`${waiting} events wait for fan-out`);
      if (found.length > 0 && overload.length === 0) logger.warn({ overload: found }, 'refusing events');
      if (found.length === 0 && overload.length > 0) logger.info('taking events again');
      overload = found;
    },
    (error) => logger.debug({ reason: messageOf(error) }, 'capacity not known'),
  );
  return { overload: () => overload, close: () => void stop() };
}
