import type { Delivery, DeliveryStatus } from '@breakwater/contracts/delivery';
import { deliveryId, eventKey } from '@breakwater/contracts/ids';
import { typeMatches } from '@breakwater/contracts/type-pattern';
import type { Redis } from '@breakwater/store/connection';
import { deadGroupName } from '@breakwater/store/dead-groups';
import { readDeliveries } from '@breakwater/store/deliveries';
import { readPlan } from '@breakwater/store/events';
import { countInIndexes, type IndexPlace, readIndexPage } from '@breakwater/store/indexes';
import type { Keyspace } from '@breakwater/store/keys';

export interface DeliveryQuery {
  readonly operator: string;
  /** One, or any of several. */
  readonly status?: DeliveryStatus | readonly DeliveryStatus[];
  /** Destination id. */
  readonly destination?: string;
  readonly source?: string;
  /** `*` stands for any text. */
  readonly type?: string;
  readonly eventId?: string;
  /** Class of the latest attempt, where that failed. */
  readonly failureClass?: string;
  /** Why it was given up, see DeadLetterReason. */
  readonly reason?: string;
  /** With a status: it took that status within these. Else: created within these. ms since the epoch, both included. */
  readonly since?: number;
  readonly until?: number;
}

/** An entry that was looked at. */
export interface Step {
  /** Name of the index, and the place in it. */
  readonly way: string;
  readonly place: IndexPlace;
  /** The delivery, where it fits the query. */
  readonly delivery: Delivery | undefined;
}

/** Entries read at once, with their records: about 2 ms of Redis in two steps. */
export const CHUNK = 100;

/** One way to go through deliveries: indexes of one order as if they were one, or the deliveries of `ids`. */
type Way =
  | {
      readonly name: string;
      readonly indexes: readonly string[];
      readonly from: number;
      readonly to: number;
    }
  | { readonly name: string; readonly ids: readonly string[] };

/**
 * Goes through deliveries, newest first, by the index that has the fewest entries for the query, and tells every entry that it looks
 * at. The caller ends it when it has seen enough.
 *
 * `begun`: go on behind a place of an earlier walk. Places are kept in indexes that are in the order of creation or, of a status, of
 * the last change. So what fits the query all the time is told once, whatever else changes meanwhile, also by the caller.
 * `sources`: where an event id may have come from, when the query names no source; undefined where that is not known.
 */
export async function* walkDeliveries(
  redis: Redis,
  keys: Keyspace,
  query: DeliveryQuery,
  sources: readonly string[] | undefined,
  begun?: { readonly way: string; readonly place: IndexPlace },
): AsyncGenerator<Step> {
  const { eventId, source } = query;
  const from = source === undefined ? sources : [source];
  const way =
    eventId === undefined || from === undefined
      ? await chooseIndex(redis, keys, query, begun?.way)
      : { name: 'event', ids: await idsOfEvent(redis, keys, query.operator, from, eventId) };
  let place: IndexPlace = begun?.place ?? { score: 'ids' in way ? -1 : way.to, id: '' };
  for (;;) {
    const entries = await nextEntries(redis, way, place);
    if (entries.length === 0) return;
    const records = await readDeliveries(
      redis,
      keys,
      entries.map(({ id }) => id),
    );
    const byId = new Map(records.map((record) => [record.id, record]));
    for (const entry of entries) {
      const delivery = byId.get(entry.id);
      byId.delete(entry.id); // it may have moved from one index to another between two reads
      place = entry;
      yield { way: way.name, place, delivery: delivery && fits(delivery, query) ? delivery : undefined };
    }
  }
}

async function nextEntries(redis: Redis, way: Way, place: IndexPlace): Promise<IndexPlace[]> {
  if ('ids' in way) {
    const from = place.score + 1;
    return way.ids.slice(from, from + CHUNK).map((id, index) => ({ id, score: from + index }));
  }
  const pages = await Promise.all(
    way.indexes.map((index) => readIndexPage(redis, index, place, way.from, CHUNK)),
  );
  const [only] = pages;
  if (only && pages.length === 1) return only;
  const merged = pages
    .flat()
    .toSorted((one, other) => other.score - one.score || (one.id < other.id ? 1 : -1));
  return merged.slice(0, CHUNK);
}

const statusesOf = ({ status }: DeliveryQuery): readonly DeliveryStatus[] | undefined =>
  typeof status === 'string' ? [status] : status && [...new Set(status)];

/** The index with the fewest entries; of a query that was begun, the one that it was begun with. */
async function chooseIndex(
  redis: Redis,
  keys: Keyspace,
  query: DeliveryQuery,
  begun: string | undefined,
): Promise<Extract<Way, { indexes: readonly string[] }>> {
  const { operator, destination, source, failureClass, since, until } = query;
  const statuses = statusesOf(query);
  const asked = { from: since ?? Number.NEGATIVE_INFINITY, to: until ?? Number.POSITIVE_INFINITY };
  // Nothing takes a status before it is created, and it may take it long after.
  const created = statuses === undefined ? asked : { from: Number.NEGATIVE_INFINITY, to: asked.to };
  const everything = { name: 'all', indexes: [keys.byOperator(operator)], ...created };
  const ways = [everything];
  if (statuses !== undefined)
    ways.unshift({
      name: 'status', // of equal ones the first: in the order of the change, as people expect
      indexes: statuses.map((status) => keys.byStatus(operator, status)),
      ...asked,
    });
  if (destination !== undefined)
    ways.push({ name: 'to', indexes: [keys.byDestination(operator, destination)], ...created });
  if (source !== undefined)
    ways.push({ name: 'from', indexes: [keys.bySource(operator, source)], ...created });
  if (failureClass !== undefined)
    ways.push({ name: 'why', indexes: [keys.byClass(operator, failureClass)], ...created });
  const onlyDead = statuses?.length === 1 && statuses[0] === 'dead_letter';
  if (onlyDead && destination !== undefined && failureClass !== undefined) {
    const group = deadGroupName(destination, failureClass);
    ways.push({ name: 'dead', indexes: [keys.byDeadGroup(operator, group)], ...asked });
  }
  const chosen = ways.find(({ name }) => name === begun);
  if (chosen) return chosen;
  const counts = await Promise.all(
    ways.map(async ({ indexes, from, to }) =>
      (
        await countInIndexes(
          redis,
          indexes.map((key) => ({ key, from, to })),
        )
      ).reduce((sum, each) => sum + each, 0),
    ),
  );
  return ways[counts.indexOf(Math.min(...counts))] ?? everything;
}

/** The deliveries of an event of this id, of each source that has one: read from the events' plans. */
async function idsOfEvent(
  redis: Redis,
  keys: Keyspace,
  operator: string,
  sources: readonly string[],
  eventId: string,
): Promise<string[]> {
  const events = sources.map((each) => eventKey(operator, each, eventId));
  const plans = await Promise.all(events.map((event) => readPlan(redis, keys, event)));
  return events.flatMap((event, index) => (plans[index] ?? []).map(({ d }) => deliveryId(event, d)));
}

function fits(delivery: Delivery, query: DeliveryQuery): boolean {
  const { event, createdAt, statusAt } = delivery;
  const statuses = statusesOf(query);
  if (delivery.operator !== query.operator) return false;
  if (statuses !== undefined && !statuses.includes(delivery.status)) return false;
  if (query.destination !== undefined && delivery.destination.id !== query.destination) return false;
  if (query.source !== undefined && event.source !== query.source) return false;
  if (query.eventId !== undefined && event.id !== query.eventId) return false;
  if (query.type !== undefined && !typeMatches(query.type, event.type)) return false;
  if (query.failureClass !== undefined && delivery.failureClass !== query.failureClass) return false;
  if (query.reason !== undefined && delivery.reason !== query.reason) return false;
  const at = statuses === undefined ? createdAt : statusAt;
  return at >= (query.since ?? 0) && at <= (query.until ?? Number.POSITIVE_INFINITY);
}
