import { deliveryId } from '@breakwater/contracts/ids';
import { DELIVERY_STATUSES, TERMINAL_STATUSES, type DeliveryStatus } from '@breakwater/contracts/delivery';
import type { Redis } from '@breakwater/store/connection';
import type { Keyspace } from '@breakwater/store/keys';
import { parsePlan } from '@breakwater/store/events';

export interface EventStatus {
  readonly key: string;
  /** Fanned out, and so counted by the ledger. */
  readonly recorded: boolean;
  readonly deliveries: readonly EventDelivery[];
}

export interface EventDelivery {
  readonly id: string;
  readonly destination: string;
  /** Undefined where it is the event id. */
  readonly reference: string | undefined;
  readonly status: DeliveryStatus | 'missing';
  readonly reason: string;
}

const BATCH = 500; // commands of one pipeline, so that many events do not hold up others

/** Where events stand, by their keys; in the given order. */
export async function readEventStatuses(
  redis: Redis,
  keys: Keyspace,
  eventKeys: readonly string[],
): Promise<EventStatus[]> {
  const statuses: EventStatus[] = [];
  for (let from = 0; from < eventKeys.length; from += BATCH) {
    const batch = eventKeys.slice(from, from + BATCH);
    const plans = await Promise.all(batch.map((key) => redis.hget(keys.event(key), 'plan')));
    statuses.push(
      ...(await Promise.all(batch.map((key, index) => readOne(redis, keys, key, plans[index] ?? null)))),
    );
  }
  return statuses;
}

async function readOne(redis: Redis, keys: Keyspace, key: string, plan: string | null): Promise<EventStatus> {
  if (plan === null) return { key, recorded: false, deliveries: [] };
  const entries = parsePlan(plan);
  const deliveries = entries.map(async ({ d: destination }): Promise<EventDelivery> => {
    const id = deliveryId(key, destination);
    const [status, reason, reference] = await redis.hmget(keys.delivery(id), 'status', 'reason', 'reference');
    return {
      id,
      destination,
      reference: reference ?? undefined,
      status: DELIVERY_STATUSES.find((each) => each === status) ?? 'missing',
      reason: reason ?? '',
    };
  });
  return { key, recorded: true, deliveries: await Promise.all(deliveries) };
}

/** Has everything that follows from the event been done, or visibly died? */
export function isTerminal(status: EventStatus): boolean {
  return (
    status.recorded &&
    status.deliveries.every((delivery) => TERMINAL_STATUSES.some((terminal) => terminal === delivery.status))
  );
}
