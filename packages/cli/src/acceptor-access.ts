import type { BreakwaterConfig } from '@breakwater/contracts/config';
import type { Acceptor } from '@breakwater/core/accept';
import { useAcceptor } from '@breakwater/core/use-acceptor';
import type { CliContext } from './context.ts';
import { SILENT } from './store-access.ts';

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
  return useAcceptor(options, work);
}
