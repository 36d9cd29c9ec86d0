import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { type Acceptor, createAcceptor } from '@breakwater/core/accept';
import { AppError } from '@breakwater/runtime/errors';
import { pause } from '@breakwater/runtime/poll';
import type { CliContext } from './context.ts';
import { SILENT } from './store-access.ts';

/** How long Redis' settings take to be known; ingest itself would answer 503 meanwhile. */
const READY_WITHIN_MS = 5_000;

/**
 * Runs `work` with the accept step that ingest uses. `limits`: those of the configuration, or stricter ones.
 * Throws AppError unavailable, with the reason, where no events are taken now.
 */
export async function withAcceptor<T>(
  context: CliContext,
  work: (acceptor: Acceptor) => Promise<T>,
  limits?: BreakwaterConfig['ingest'],
): Promise<T> {
  const { REDIS_URL, KEY_PREFIX, DURABILITY } = context.environment();
  const options = {
    redisUrl: REDIS_URL,
    keyPrefix: KEY_PREFIX,
    durability: DURABILITY,
    ingest: limits ?? context.config().ingest,
    logger: SILENT,
  };
  const acceptor = createAcceptor(options);
  try {
    const deadline = Date.now() + READY_WITHIN_MS;
    const isSettled = (): boolean => acceptor.capacityKnown() && acceptor.notReady().length === 0;
    while (!isSettled() && Date.now() < deadline) await pause(20);
    const [reason] = acceptor.notReady();
    if (reason !== undefined) throw new AppError('unavailable', `No events are accepted now: ${reason}.`);
    return await work(acceptor);
  } finally {
    await acceptor.close();
  }
}
