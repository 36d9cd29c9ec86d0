import type { Redis } from 'ioredis';
import { type IndexPlace, readIndexPage } from './indexes.ts';
import type { Keyspace } from './keys.ts';

/** Dead letters of one destination whose latest attempt failed with one class. */
export interface DeadGroup {
  readonly destination: string;
  /** Class of the latest attempt; null where there was none, or its success is known. */
  readonly failureClass: string | null;
  readonly count: number;
  /** When the first and the last of them died, ms. */
  readonly oldestAt: number;
  readonly newestAt: number;
}

export const deadGroupName = (destination: string, failureClass: string): string =>
  `${destination}:${failureClass}`;

/**
 * A page of an operator's groups of dead letters, the largest first, and the place behind it. The scripts that move the deliveries keep
 * the counts, so the work is that of the page, however many dead letters there are.
 */
export async function readDeadGroups(
  redis: Redis,
  keys: Keyspace,
  operator: string,
  after: IndexPlace,
  limit: number,
): Promise<{ readonly groups: DeadGroup[]; readonly last: IndexPlace | undefined }> {
  const places = await readIndexPage(
    redis,
    keys.deadGroups(operator),
    after,
    Number.NEGATIVE_INFINITY,
    limit,
  );
  const pipeline = redis.pipeline();
  for (const { id } of places) {
    const index = keys.byDeadGroup(operator, id);
    pipeline.zcard(index).zrange(index, 0, '0', 'WITHSCORES').zrange(index, '-1', '-1', 'WITHSCORES');
  }
  const replies = ((await pipeline.exec()) ?? []).map(([error, reply]) => {
    if (error) throw error;
    return reply;
  });
  const groups = places.map(({ id }, index): DeadGroup => {
    const colon = id.lastIndexOf(':');
    const [count, oldest, newest] = replies.slice(3 * index);
    return {
      destination: id.slice(0, colon),
      failureClass: id.slice(colon + 1) || null,
      count: Number(count),
      oldestAt: timeOf(oldest),
      newestAt: timeOf(newest),
    };
  });
  return {
    groups: groups.filter(({ count }) => count > 0), // its last dead letter may have left in between
    last: places.length === limit ? places.at(-1) : undefined,
  };
}

/** Of `[name, score]`; 0 for an empty reply. */
const timeOf = (reply: unknown): number => (Array.isArray(reply) ? Number(reply[1]) : 0);
