import type { Delivery, DeliveryStatus } from '@breakwater/contracts/delivery';
import type { Redis } from '@breakwater/store/connection';
import type { Keyspace } from '@breakwater/store/keys';
import { type DeliveryQuery, walkDeliveries } from './delivery-walk.ts';

export interface SelectFilter extends DeliveryQuery {
  readonly status: DeliveryStatus;
  /** Where an event id may have come from; with neither this nor a source, an event id is looked for in an index. */
  readonly sources?: readonly string[];
}

/**
 * Every delivery of an operator that the filter lets through, newest first. A caller who replays or resolves while iterating skips
 * nothing and sees nothing twice; what changed meanwhile is left out.
 */
export async function* selectDeliveries(
  redis: Redis,
  keys: Keyspace,
  { sources, ...query }: SelectFilter,
): AsyncGenerator<Delivery> {
  for await (const { delivery } of walkDeliveries(redis, keys, query, sources)) if (delivery) yield delivery;
}
