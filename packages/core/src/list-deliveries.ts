import type { Delivery, DeliveryStatus } from '@breakwater/contracts/delivery';
import { deliveryId, eventKey } from '@breakwater/contracts/ids';
import { typeMatches } from '@breakwater/contracts/type-pattern';
import type { Redis } from '@breakwater/store/connection';
import { deadGroupName } from '@breakwater/store/dead-groups';
import { readDeliveries } from '@breakwater/store/deliveries';
import { readPlan } from '@breakwater/store/events';
import { countInIndexes, type IndexPlace, readIndexPage } from '@breakwater/store/indexes';
import type { Keyspace } from '@breakwater/store/keys';
import { cursorFor, readCursor } from './cursor.ts';

export interface DeliveryQuery {
  readonly operator: string;
  readonly status?: DeliveryStatus;
  /** Destination id. */
  readonly destination?: string;
  readonly source?: string;
  /** `*` stands for any text. */
  readonly type?: string;
  readonly eventId?: string;
  /** Class of the latest attempt, where that failed. */
  readonly failureClass?: string;
  /** With a status: it took that status within these. Else: created within these. ms since the epoch, both included. */
  readonly since?: number;
  readonly until?: number;
}

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
const CHUNK = 100;

/** One way to go through deliveries: `key` is an index, or the deliveries are those of `ids`. */
type Way =
  | { readonly name: string; readonly key: string; readonly from: number; readonly to: number }
  | { readonly name: string; readonly ids: readonly string[] };

/**
 * One page of deliveries, newest first. It goes through the one index that has the fewest entries for this query and looks
 * at SCAN_MAX of them at most, so every combination of filters answers in bounded work; where the other filters fit
 * little, pages are short and `nextCursor` says where to go on.
 *
 * The cursor is a place, not a number of entries. Indexes are in the order of creation, and the one of a status in the order of
 * its last change, so what fits a query as long as the pages are read is listed once, whatever else changes meanwhile.
 * Throws AppError request_invalid for a cursor of another query.
 */
export async function listDeliveries(
  redis: Redis,
  keys: Keyspace,
  query: DeliveryQuery,
  /** Where an event id may have come from, when the query names no source. */
  sources: readonly string[],
  page: { readonly limit: number; readonly cursor?: string },
): Promise<DeliveryPage> {
  const known = page.cursor === undefined ? undefined : readCursor(page.cursor, query);
  const way =
    query.eventId === undefined
      ? await chooseIndex(redis, keys, query, known?.way)
      : { name: 'event', ids: await idsOfEvent(redis, keys, query, query.eventId, sources) };
  let place: IndexPlace = known?.place ?? { score: 'ids' in way ? -1 : way.to, id: '' };
  const deliveries: Delivery[] = [];
  let scanned = 0;
  for (;;) {
    const entries = await nextEntries(redis, way, place, Math.min(CHUNK, SCAN_MAX - scanned));
    if (entries.length === 0) return { deliveries, nextCursor: null, scanned };
    const records = await readDeliveries(
      redis,
      keys,
      entries.map(({ id }) => id),
    );
    const byId = new Map(records.map((record) => [record.id, record]));
    for (const entry of entries) {
      scanned += 1;
      place = entry;
      const delivery = byId.get(entry.id);
      if (delivery && fits(delivery, query)) deliveries.push(delivery);
      if (deliveries.length === page.limit || scanned === SCAN_MAX)
        return { deliveries, nextCursor: cursorFor(query, way.name, place), scanned };
    }
  }
}

async function nextEntries(redis: Redis, way: Way, place: IndexPlace, limit: number): Promise<IndexPlace[]> {
  if (!('ids' in way)) return readIndexPage(redis, way.key, place, way.from, limit);
  const from = place.score + 1;
  return way.ids.slice(from, from + limit).map((id, index) => ({ id, score: from + index }));
}

/** The index with the fewest entries; of a query that was begun, the one that it was begun with. */
async function chooseIndex(
  redis: Redis,
  keys: Keyspace,
  { operator, status, destination, source, failureClass, since, until }: DeliveryQuery,
  begun: string | undefined,
): Promise<Extract<Way, { key: string }>> {
  const asked = { from: since ?? Number.NEGATIVE_INFINITY, to: until ?? Number.POSITIVE_INFINITY };
  // Nothing takes a status before it is created, and it may take it long after.
  const created = status === undefined ? asked : { from: Number.NEGATIVE_INFINITY, to: asked.to };
  const everything = { name: 'all', key: keys.byOperator(operator), ...created };
  const ways = [
    everything,
    ...(status === undefined ? [] : [{ name: 'status', key: keys.byStatus(operator, status), ...asked }]),
    ...(destination === undefined
      ? []
      : [{ name: 'to', key: keys.byDestination(operator, destination), ...created }]),
    ...(source === undefined ? [] : [{ name: 'from', key: keys.bySource(operator, source), ...created }]),
    ...(failureClass === undefined
      ? []
      : [{ name: 'why', key: keys.byClass(operator, failureClass), ...created }]),
    ...(status !== 'dead_letter' || destination === undefined || failureClass === undefined
      ? []
      : [
          {
            name: 'dead',
            key: keys.byDeadGroup(operator, deadGroupName(destination, failureClass)),
            ...asked,
          },
        ]),
  ];
  const chosen = ways.find(({ name }) => name === begun);
  if (chosen) return chosen;
  const counts = await countInIndexes(redis, ways);
  const fewest = counts.indexOf(Math.min(...counts));
  return ways[fewest] ?? everything;
}

/** The deliveries of an event of this id, of one source or of each that has one: read from the events' plans. */
async function idsOfEvent(
  redis: Redis,
  keys: Keyspace,
  { operator, source }: DeliveryQuery,
  eventId: string,
  sources: readonly string[],
): Promise<string[]> {
  const wanted = source === undefined ? sources : [source];
  const events = wanted.map((each) => eventKey(operator, each, eventId));
  const plans = await Promise.all(events.map((event) => readPlan(redis, keys, event)));
  return events.flatMap((event, index) => (plans[index] ?? []).map(({ d }) => deliveryId(event, d)));
}

function fits(delivery: Delivery, query: DeliveryQuery): boolean {
  const { event, createdAt, statusAt } = delivery;
  if (delivery.operator !== query.operator) return false;
  if (query.status !== undefined && delivery.status !== query.status) return false;
  if (query.destination !== undefined && delivery.destination.id !== query.destination) return false;
  if (query.source !== undefined && event.source !== query.source) return false;
  if (query.eventId !== undefined && event.id !== query.eventId) return false;
  if (query.type !== undefined && !typeMatches(query.type, event.type)) return false;
  if (query.failureClass !== undefined && delivery.failureClass !== query.failureClass) return false;
  const at = query.status === undefined ? createdAt : statusAt;
  return at >= (query.since ?? 0) && at <= (query.until ?? Number.POSITIVE_INFINITY);
}
