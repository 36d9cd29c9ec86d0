import type { Delivery, DeliveryStatus } from '@breakwater/contracts/delivery';
import { parseDeliveryId } from '@breakwater/contracts/ids';
import { AppError } from '@breakwater/runtime/errors';
import type { Redis } from '@breakwater/store/connection';
import { isExpired } from '@breakwater/store/retention';
import { readDelivery } from '@breakwater/store/deliveries';
import type { Keyspace } from '@breakwater/store/keys';
import type { Transitions } from '@breakwater/store/transitions';
import { expired } from './replay-check.ts';

export interface ResolveDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly transitions: Transitions;
}

export const wrongStatus = (delivery: Pick<Delivery, 'id' | 'status'>, wanted: DeliveryStatus): AppError =>
  wanted === 'dead_letter'
    ? notADeadLetter(delivery)
    : new AppError('wrong_status', `${delivery.id} is ${delivery.status}, not ${wanted}.`, {
        details: { status: delivery.status },
      });

export const notADeadLetter = (delivery: Pick<Delivery, 'id' | 'status'>): AppError =>
  new AppError('wrong_status', `${delivery.id} is ${delivery.status}, not a dead letter.`, {
    details: { status: delivery.status },
  });

/**
 * Would `resolveDeadLetter` work now? Resolves to the delivery. Throws AppError not_found, in_flight (a replay that is
 * under way may still deliver it), wrong_status. That its document is at the ERP (`posted`) may be said of a resolved one, too.
 */
export async function checkResolvable(
  { redis, keys }: Pick<ResolveDeps, 'redis' | 'keys'>,
  operator: string,
  id: string,
  posted = false,
): Promise<Delivery> {
  const delivery = await readDelivery(redis, keys, operator, id);
  if (!delivery) throw noDelivery(operator, id);
  if (delivery.inFlight)
    throw new AppError(
      'in_flight',
      `An attempt of ${id} is in flight: its result decides whether there is anything to resolve.`,
    );
  if (delivery.status !== 'dead_letter' && !(posted && delivery.status === 'resolved'))
    throw notADeadLetter(delivery);
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
    /** The ERP holds a document under its reference, made by hand. */
    readonly posted?: boolean;
  },
): Promise<void> {
  if (input.reason.trim() === '')
    throw new AppError('request_invalid', 'Resolving needs a reason (--reason): it goes into the audit log.');
  const delivery = await checkResolvable(deps, input.operator, input.delivery, input.posted);
  const { operator, reason, actor, posted } = input;
  const refusal = await deps.transitions.resolve(input.delivery, operator, reason, actor, posted);
  if (refusal === 'not_found') throw noDelivery(input.operator, input.delivery);
  if (refusal === 'wrong_status')
    throw notADeadLetter(
      (await readDelivery(deps.redis, deps.keys, input.operator, delivery.id)) ?? delivery,
    );
}

export const noDelivery = (operator: string, id: string): AppError =>
  new AppError('not_found', `No delivery ${id} belongs to operator ${operator}.`);

/** What to say of a delivery that is not there: it never was (or is another operator's), or its retention is over. */
export async function whyNoDelivery(
  { redis, keys }: Pick<ResolveDeps, 'redis' | 'keys'>,
  operator: string,
  id: string,
): Promise<AppError> {
  const event = parseDeliveryId(id)?.event;
  return event !== undefined && (await isExpired(redis, keys, event))
    ? expired(id)
    : noDelivery(operator, id);
}
