import type { DeliveryStatus } from '@breakwater/contracts/delivery';
import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import { loadScript } from './script.ts';

const pageIndex = loadScript('page-index', { prelude: false });

/** A place in an index. `id` is '' at the very beginning of a score. */
export interface IndexPlace {
  readonly score: number;
  readonly id: string;
}

/** Entries that follow `after` downwards in an index, at most `limit`; none whose score is below `bottom`. */
export async function readIndexPage(
  redis: Redis,
  key: string,
  after: IndexPlace,
  bottom: number,
  limit: number,
): Promise<IndexPlace[]> {
  const reply = await pageIndex.run(redis, [key], [scoreText(after.score), after.id, bottom, limit]);
  return Array.from({ length: reply.length / 2 }, (_, index) => ({
    id: String(reply[2 * index]),
    score: Number(reply[2 * index + 1]),
  }));
}

/** How many entries of each index are between two scores; one round trip, and work that does not grow with them. */
export async function countInIndexes(
  redis: Redis,
  indexes: readonly { readonly key: string; readonly from: number; readonly to: number }[],
): Promise<number[]> {
  const pipeline = redis.pipeline();
  for (const { key, from, to } of indexes) pipeline.zcount(key, scoreText(from), scoreText(to));
  return ((await pipeline.exec()) ?? []).map(([error, reply]) => {
    if (error) throw error;
    return Number(reply);
  });
}

/** How many deliveries of an operator are in each status. */
export async function countByStatus(
  redis: Redis,
  keys: Keyspace,
  operator: string,
  statuses: readonly DeliveryStatus[],
): Promise<Record<string, number>> {
  const everything = { from: Number.NEGATIVE_INFINITY, to: Number.POSITIVE_INFINITY };
  const counts = await countInIndexes(
    redis,
    statuses.map((status) => ({ key: keys.byStatus(operator, status), ...everything })),
  );
  return Object.fromEntries(statuses.map((status, index) => [status, counts[index] ?? 0]));
}

const scoreText = (score: number): string =>
  Number.isFinite(score) ? String(score) : score > 0 ? '+inf' : '-inf';
