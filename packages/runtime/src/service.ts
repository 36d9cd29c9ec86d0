import type { Logger } from './logger.ts';
import { pause } from './poll.ts';
import { AppError } from './errors.ts';

export interface ServiceContext {
  /** Aborted when the process is asked to stop; pass it to every loop and every wait. */
  readonly signal: AbortSignal;
  /** Registers a clean-up. Clean-ups run last registered first, so a thing closes before what it uses. */
  readonly defer: (label: string, close: () => unknown) => void;
  readonly logger: Logger;
}

export interface RunOptions {
  readonly name: string;
  readonly logger: Logger;
  readonly shutdownTimeoutMs: number;
}

/** How long a start that is to be given up may take to notice. */
const START_ABANDONED_AFTER_MS = 1_000;

/** Exit code when a shutdown does not finish in time (EX_SOFTWARE). */
const EXIT_HANGING = 70;

/**
 * Runs one service process: starts it, waits for SIGTERM or SIGINT, then closes everything in reverse. Resolves to the
 * exit code. A second signal of the same kind finds no handler, so it kills a shutdown that hangs.
 */
export async function runService(
  options: RunOptions,
  start: (context: ServiceContext) => Promise<void>,
): Promise<number> {
  const { logger, name, shutdownTimeoutMs } = options;
  const stopping = new AbortController();
  const stopped = Promise.withResolvers<string>();
  const onSignal = (signal: string): void => stopped.resolve(signal);
  process.once('SIGTERM', onSignal);
  process.once('SIGINT', onSignal);
  const stack = new AsyncDisposableStack();
  const defer: ServiceContext['defer'] = (label, close) => {
    stack.defer(async () => {
      logger.debug({ label }, 'closing');
      await close();
    });
  };

  let exitCode = 0;
  try {
    const starting = start({ signal: stopping.signal, defer, logger });
    const started = await Promise.race([starting.then(() => true), stopped.promise.then(() => false)]);
    if (started) logger.info(`${name} started`);
    else {
      stopping.abort(); // a start that waits for Redis, say, ends with it
      await Promise.race([starting.catch(() => undefined), pause(START_ABANDONED_AFTER_MS)]);
    }
    const reason = await stopped.promise;
    logger.info({ reason }, `${name} stopping`);
  } catch (error) {
    if (error instanceof AppError) {
      logger.error({ code: error.code }, [error.message, error.remedy].filter(Boolean).join('\n'));
    } else logger.error({ err: error }, `${name} failed to start`);
    exitCode = 1;
  }
  stopping.abort();
  // Not unref'd: were it the last handle, Node would end with "unsettled top-level await" instead.
  const deadline = setTimeout(() => {
    logger.error({ shutdownTimeoutMs }, 'shutdown timed out');
    process.exit(EXIT_HANGING);
  }, shutdownTimeoutMs);
  try {
    await stack.disposeAsync();
  } catch (error) {
    logger.error({ err: error }, 'unclean shutdown');
    exitCode = 1;
  }
  clearTimeout(deadline);
  process.off('SIGTERM', onSignal);
  process.off('SIGINT', onSignal);
  return exitCode;
}
