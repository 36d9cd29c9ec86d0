import type { Redis } from '@breakwater/store/connection';
import type { Keyspace } from '@breakwater/store/keys';
import { cursorFor, readCursor } from './cursor.ts';

/**
 * One page of an operator's endpoints, in the order of their ids, so that one which is added or removed between two pages
 * moves no other. Throws AppError request_invalid for a cursor of another query.
 */
export async function pageOfEndpointIds(
  redis: Redis,
  keys: Keyspace,
  operator: string,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<{ readonly ids: string[]; readonly nextCursor: string | null }> {
  const query = { list: 'endpoints', operator };
  const after = page.cursor === undefined ? '' : readCursor(page.cursor, query).place.id;
  const known = (await redis.smembers(keys.endpoints(operator))).filter((id) => id > after).toSorted();
  const ids = known.slice(0, page.limit);
  const last = ids.at(-1);
  return {
    ids,
    nextCursor:
      known.length > ids.length && last !== undefined
        ? cursorFor(query, 'endpoints', { score: 0, id: last })
        : null,
  };
}
