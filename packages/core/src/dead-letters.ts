import type { Delivery } from '@breakwater/contracts/delivery';
import { AppError } from '@breakwater/runtime/errors';
import type { Redis } from '@breakwater/store/connection';
import { listDeliveryIds, readDeliveries, readDelivery } from '@breakwater/store/deliveries';
import type { Keyspace } from '@breakwater/store/keys';
import type { Transitions } from '@breakwater/store/transitions';

export interface DeadLetterFilter {
  readonly operator: string;
  /** Destination id. */
  readonly destination?: string;
  /** Why it was given up, see DeadLetterReason. */
  readonly reason?: string;
  /** Class of its last attempt, see failure-class.ts. */
  readonly failureClass?: string;
}

/** Records read at once: enough to hide the way to Redis, few enough to hold in memory with all their attempts. */
const CHUNK = 200;

/**
 * Every dead letter of an operator that the filter lets through, newest first. The ids are read once, at the beginning,
 * so that a caller who replays or resolves while iterating skips nothing; what changed meanwhile is left out.
 */
export async function* eachDeadLetter(
  redis: Redis,
  keys: Keyspace,
  filter: DeadLetterFilter,
): AsyncGenerator<Delivery> {
  const { operator, destination } = filter;
  const wanted = {
    operator,
    statuses: ['dead_letter'] as const,
    ...(destination !== undefined && { destination }),
  };
  const ids = await listDeliveryIds(redis, keys, wanted, 0, Number.MAX_SAFE_INTEGER);
  for (let from = 0; from < ids.length; from += CHUNK) {
    for (const delivery of await readDeliveries(redis, keys, ids.slice(from, from + CHUNK))) {
      if (matches(delivery, filter)) yield delivery;
    }
  }
}

function matches(delivery: Delivery, { operator, reason, failureClass }: DeadLetterFilter): boolean {
  if (delivery.operator !== operator || delivery.status !== 'dead_letter') return false;
  if (reason !== undefined && delivery.reason !== reason) return false;
  return failureClass === undefined || delivery.attempts.at(-1)?.class === failureClass;
}

/** One page of dead letters, newest first; `nextOffset` is null on the last one. */
export async function listDeadLetters(
  redis: Redis,
  keys: Keyspace,
  filter: DeadLetterFilter,
  offset: number,
  limit: number,
): Promise<{ deliveries: Delivery[]; nextOffset: number | null }> {
  const deliveries: Delivery[] = [];
  let seen = 0;
  for await (const delivery of eachDeadLetter(redis, keys, filter)) {
    if (seen === offset + limit) return { deliveries, nextOffset: seen };
    if (seen >= offset) deliveries.push(delivery);
    seen += 1;
  }
  return { deliveries, nextOffset: null };
}

export interface ResolveDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly transitions: Transitions;
}

export const notADeadLetter = (delivery: Pick<Delivery, 'id' | 'status'>): AppError =>
  new AppError('wrong_status', `${delivery.id} is ${delivery.status}, not a dead letter.`, {
    details: { status: delivery.status },
  });

/**
 * Would `resolveDeadLetter` work now? Resolves to the delivery. Throws AppError not_found, in_flight (a replay that is
 * under way may still deliver it), wrong_status.
 */
export async function checkResolvable(
  { redis, keys }: Pick<ResolveDeps, 'redis' | 'keys'>,
  operator: string,
  id: string,
): Promise<Delivery> {
  const delivery = await readDelivery(redis, keys, operator, id);
  if (!delivery) throw noDelivery(operator, id);
  if (delivery.inFlight)
    throw new AppError(
      'in_flight',
      `An attempt of ${id} is in flight: its result decides whether there is anything to resolve.`,
    );
  if (delivery.status !== 'dead_letter') throw notADeadLetter(delivery);
  return delivery;
}

/** Closes a dead letter that a person settled otherwise; audited. Throws as checkResolvable does. */
export async function resolveDeadLetter(
  deps: ResolveDeps,
  input: {
    readonly operator: string;
    readonly delivery: string;
    readonly reason: string;
    readonly actor: string;
  },
): Promise<void> {
  if (input.reason.trim() === '')
    throw new AppError('request_invalid', 'Resolving needs a reason (--reason): it goes into the audit log.');
  const delivery = await checkResolvable(deps, input.operator, input.delivery);
  const refusal = await deps.transitions.resolve(input.delivery, input.operator, input.reason, input.actor);
  if (refusal === 'not_found') throw noDelivery(input.operator, input.delivery);
  if (refusal === 'wrong_status')
    throw notADeadLetter(
      (await readDelivery(deps.redis, deps.keys, input.operator, delivery.id)) ?? delivery,
    );
}

export const noDelivery = (operator: string, id: string): AppError =>
  new AppError('not_found', `No delivery ${id} belongs to operator ${operator}.`);
