import type { Delivery, DeliveryStatus } from '@breakwater/contracts/delivery';
import { typeMatches } from '@breakwater/contracts/type-pattern';
import type { Redis } from '@breakwater/store/connection';
import { listDeliveryIds, readDeliveries } from '@breakwater/store/deliveries';
import type { Keyspace } from '@breakwater/store/keys';

export interface SelectFilter {
  readonly operator: string;
  readonly status: DeliveryStatus;
  /** Destination id. */
  readonly destination?: string;
  /** Why it was given up, see DeadLetterReason. */
  readonly reason?: string;
  /** Class of its last attempt, see failure-class.ts. */
  readonly failureClass?: string;
  readonly source?: string;
  /** `*` stands for any text. */
  readonly type?: string;
  readonly eventId?: string;
  /** It took its status within these, ms since the epoch, both included. */
  readonly since?: number;
  readonly until?: number;
}

/** Records read at once: enough to hide the way to Redis, few enough to hold in memory with all their attempts. */
const CHUNK = 200;

/**
 * Every delivery of an operator that the filter lets through, the latest change first. The ids are read once, at the
 * beginning, so that a caller who replays or resolves while iterating skips nothing and sees nothing twice; what changed
 * meanwhile is left out.
 */
export async function* selectDeliveries(
  redis: Redis,
  keys: Keyspace,
  filter: SelectFilter,
): AsyncGenerator<Delivery> {
  const { operator, status, destination } = filter;
  const wanted = { operator, statuses: [status], ...(destination !== undefined && { destination }) };
  const listed = await listDeliveryIds(redis, keys, wanted, 0, Number.MAX_SAFE_INTEGER);
  const ids = [...new Set(listed)]; // pages of a list that changes may overlap
  for (let from = 0; from < ids.length; from += CHUNK) {
    for (const delivery of await readDeliveries(redis, keys, ids.slice(from, from + CHUNK))) {
      if (matches(delivery, filter)) yield delivery;
    }
  }
}

function matches(delivery: Delivery, filter: SelectFilter): boolean {
  const { operator, status, reason, failureClass, source, type, eventId, since, until } = filter;
  const { event, statusAt } = delivery;
  if (delivery.operator !== operator || delivery.status !== status) return false;
  if (reason !== undefined && delivery.reason !== reason) return false;
  if (failureClass !== undefined && delivery.attempts.at(-1)?.class !== failureClass) return false;
  if (source !== undefined && event.source !== source) return false;
  if (eventId !== undefined && event.id !== eventId) return false;
  if (type !== undefined && !typeMatches(type, event.type)) return false;
  return statusAt >= (since ?? 0) && statusAt <= (until ?? Number.POSITIVE_INFINITY);
}
