import type { Logger } from '@breakwater/runtime/logger';
import { messageOf } from '@breakwater/runtime/errors';

interface ErrorEmitter {
  on(event: 'error', listener: (error: Error) => void): unknown;
}

/** BullMQ repeats connection errors on every object; each becomes one debug line, the connection itself has told already. */
export function quiet(emitter: ErrorEmitter, logger: Logger): void {
  emitter.on('error', (error: Error) => logger.debug({ reason: messageOf(error) }, 'queue error'));
}

/** BullMQ keeps a stream of its own events per queue; nobody here reads it, so it stays small. */
export const EVENT_STREAM_LENGTH = 1_000;
