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

/** Groups read at once where only those of one destination are wanted. */
const CHUNK = 500;

/**
 * A page of an operator's groups of dead letters, the largest first, and the place behind it. The scripts that move the deliveries keep
 * the counts, so the work is that of the page, however many dead letters there are. With a `destination` the names of the other
 * groups are read as well: a class of each destination at most.
 */
export async function readDeadGroups(
  redis: Redis,
  keys: Keyspace,
  { operator, destination }: { readonly operator: string; readonly destination?: string },
  after: IndexPlace,
  limit: number,
): Promise<{ readonly groups: DeadGroup[]; readonly last: IndexPlace | undefined }> {
  const places: IndexPlace[] = [];
  const atOnce = destination === undefined ? limit : CHUNK;
  let page: IndexPlace[];
  let place = after;
  do {
    page = await readIndexPage(redis, keys.deadGroups(operator), place, Number.NEGATIVE_INFINITY, atOnce);
    place = page.at(-1) ?? place;
    places.push(...page.filter(({ id }) => destination === undefined || destinationOf(id) === destination));
  } while (page.length === atOnce && places.length < limit);
  places.splice(limit);
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
    const [count, oldest, newest] = replies.slice(3 * index);
    return {
      destination: destinationOf(id),
      failureClass: id.slice(id.lastIndexOf(':') + 1) || null,
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

const destinationOf = (group: string): string => group.slice(0, group.lastIndexOf(':'));

/** Of `[name, score]`; 0 for an empty reply. */
const timeOf = (reply: unknown): number => (Array.isArray(reply) ? Number(reply[1]) : 0);
