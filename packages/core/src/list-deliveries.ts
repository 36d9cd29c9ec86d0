import type { Delivery } from '@breakwater/contracts/delivery';
import type { Redis } from '@breakwater/store/connection';
import type { Keyspace } from '@breakwater/store/keys';
import { cursorFor, readCursor } from './cursor.ts';
import { type DeliveryQuery, walkDeliveries } from './delivery-walk.ts';

export interface DeliveryPage {
  readonly deliveries: Delivery[];
  /** For the page behind this one; null when there is none. A page may be short, or empty, and still not be the last. */
  readonly nextCursor: string | null;
  /** Entries of the index that were looked at for this page. */
  readonly scanned: number;
}

/**
 * Entries of an index that one page looks at, at most: what bounds the work of a filter that fits almost nothing. About
 * 20 ms of Redis in ten steps.
 */
export const SCAN_MAX = 1_000;

/**
 * One page of deliveries, newest first. It goes through the one index that has the fewest entries for this query and looks
 * at SCAN_MAX of them at most, so every combination of filters answers in bounded work; where the other filters fit
 * little, pages are short and `nextCursor` says where to go on. The cursor is a place, not a number of entries.
 * Throws AppError request_invalid for a cursor of another query.
 */
export async function listDeliveries(
  redis: Redis,
  keys: Keyspace,
  query: DeliveryQuery,
  /** Where an event id may have come from, when the query names no source. */
  sources: readonly string[] | undefined,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<DeliveryPage> {
  const begun = page.cursor === undefined ? undefined : readCursor(page.cursor, query);
  const deliveries: Delivery[] = [];
  let scanned = 0;
  for await (const { way, place, delivery } of walkDeliveries(redis, keys, query, sources, begun)) {
    scanned += 1;
    if (delivery) deliveries.push(delivery);
    if (deliveries.length === page.limit || scanned === SCAN_MAX)
      return { deliveries, nextCursor: cursorFor(query, way, place), scanned };
  }
  return { deliveries, nextCursor: null, scanned };
}
