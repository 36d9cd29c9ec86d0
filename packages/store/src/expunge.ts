import type { Redis } from 'ioredis';
import { auditEntry } from './audit.ts';
import type { Keyspace } from './keys.ts';

/** Those of these deliveries that a response sample is stored of. */
export async function withSample(redis: Redis, keys: Keyspace, ids: readonly string[]): Promise<string[]> {
  const pipeline = redis.pipeline();
  for (const id of ids) pipeline.exists(keys.sample(id));
  const replies = (await pipeline.exec()) ?? [];
  return ids.filter((_id, index) => {
    const [error, found] = replies[index] ?? [];
    if (error) throw error;
    return found === 1;
  });
}

/**
 * Removes the samples of these deliveries, with one audit entry that names them all, in one step. A few hundred at a time:
 * an entry for each would push everything else out of the audit log when a whole endpoint's are removed.
 */
export async function removeSamples(
  redis: Redis,
  keys: Keyspace,
  ids: readonly string[],
  by: { readonly operator: string; readonly actor: string; readonly reason: string },
): Promise<void> {
  if (ids.length === 0) return;
  const entry = { action: 'delivery.expunge', ...by, deliveries: ids.join(' ') };
  const replies = await redis
    .multi()
    .del(ids.map((id) => keys.sample(id)))
    .xadd(...auditEntry(keys.audit, entry))
    .exec();
  for (const [error] of replies ?? []) if (error) throw error;
}
