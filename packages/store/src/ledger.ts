import { DELIVERY_STATUSES, type DeliveryStatus } from '@breakwater/contracts/delivery';
import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';

/** The counters that change in the same script as the state they count. */
export interface Ledger {
  readonly accepted: ReadonlyMap<string, number>;
  readonly unrouted: ReadonlyMap<string, number>;
  /** Operator -> of the accepted and unrouted events of the reserved source, which operators share, those of the operator. */
  readonly published: ReadonlyMap<string, number>;
  readonly publishedUnrouted: ReadonlyMap<string, number>;
  readonly expected: ReadonlyMap<string, number>;
  readonly postings: ReadonlyMap<string, number>;
  /** Of the postings, those beyond the first of their event. */
  readonly doubles: ReadonlyMap<string, number>;
  readonly resolved: ReadonlyMap<string, number>;
  /** Destination label -> status -> deliveries now. */
  readonly deliveries: ReadonlyMap<string, ReadonlyMap<DeliveryStatus, number>>;
  /** Destination label -> deliveries ever made, and those that retention took away: made = those of each status + expired. */
  readonly created: ReadonlyMap<string, number>;
  readonly expired: ReadonlyMap<string, number>;
  readonly interrupted: number;
  /** Endpoints that were paused because they had failed for too long. */
  readonly autoPauses: number;
}

export async function readLedger(redis: Redis, keys: Keyspace): Promise<Ledger> {
  const fields = Object.entries(await redis.hgetall(keys.ledger));
  const group = (name: string): Map<string, number> =>
    new Map(
      fields
        .filter(([field]) => field.startsWith(`${name}:`))
        .map(([field, value]) => [field.slice(name.length + 1), Number(value)]),
    );
  const deliveries = new Map<string, Map<DeliveryStatus, number>>();
  for (const [labelled, value] of group('status')) {
    const colon = labelled.lastIndexOf(':');
    const label = labelled.slice(0, colon);
    const status = DELIVERY_STATUSES.find((each) => each === labelled.slice(colon + 1));
    if (!status) continue;
    deliveries.set(label, (deliveries.get(label) ?? new Map<DeliveryStatus, number>()).set(status, value));
  }
  const number = (name: string): number => Number(fields.find(([field]) => field === name)?.[1] ?? 0);
  return {
    accepted: group('accepted'),
    unrouted: group('unrouted'),
    published: group('published'),
    publishedUnrouted: group('published-unrouted'),
    expected: group('expected'),
    postings: group('postings'),
    doubles: group('doubles'),
    resolved: group('resolved'),
    deliveries,
    created: group('created'),
    expired: group('expired'),
    interrupted: number('interrupted'),
    autoPauses: number('pauses:auto'),
  };
}
