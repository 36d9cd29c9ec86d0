import { remedyFor } from '@breakwater/contracts/failure-class';
import { type DestinationKind, destinationKind, destinationName } from '@breakwater/contracts/ids';
import type { Redis } from '@breakwater/store/connection';
import { type DeadGroup, readDeadGroups } from '@breakwater/store/dead-groups';
import type { Keyspace } from '@breakwater/store/keys';
import { cursorFor, readCursor } from './cursor.ts';

export interface DeadLetterGroup extends Omit<DeadGroup, 'destination'> {
  readonly destination: { readonly kind: DestinationKind; readonly id: string; readonly name: string };
  /** What to do about the class; empty where there is none. */
  readonly remedy: string;
}

/**
 * One page of an operator's dead letters, of one destination or of all, grouped by destination and class, the largest group first. Counts are exact at the moment
 * of reading. A group that grows or shrinks between two pages may be listed twice or not at all.
 * Throws AppError request_invalid for a cursor of another query.
 */
export async function listDeadLetterGroups(
  redis: Redis,
  keys: Keyspace,
  wanted: { readonly operator: string; readonly destination?: string },
  page: { readonly limit: number; readonly cursor?: string },
): Promise<{ readonly groups: DeadLetterGroup[]; readonly nextCursor: string | null }> {
  const query = { list: 'dead-letter-groups', ...wanted };
  const after =
    page.cursor === undefined
      ? { score: Number.POSITIVE_INFINITY, id: '' }
      : readCursor(page.cursor, query).place;
  const { groups, last } = await readDeadGroups(redis, keys, wanted, after, page.limit);
  return {
    groups: groups.map(({ destination: id, ...group }) => ({
      destination: {
        kind: destinationKind(id),
        id,
        name: destinationName(id),
      },
      ...group,
      remedy: group.failureClass === null ? '' : remedyFor(group.failureClass),
    })),
    nextCursor: last ? cursorFor(query, 'groups', last) : null,
  };
}
