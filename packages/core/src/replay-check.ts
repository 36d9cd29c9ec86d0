import type { Delivery } from '@breakwater/contracts/delivery';
import { AppError } from '@breakwater/runtime/errors';
import type { Redis } from '@breakwater/store/connection';
import { isPaused, isRemoved } from '@breakwater/store/endpoints';
import { readPolicy } from '@breakwater/store/gates';
import type { Keyspace } from '@breakwater/store/keys';

/** What the destinations of many deliveries say; each is asked once. */
export type DestinationFacts = Map<
  string,
  Promise<{ readonly paused: boolean; readonly removed: boolean; readonly blind: boolean }>
>;

/**
 * What would refuse a replay of this delivery now, as the error that `requestReplay` would throw; undefined when nothing
 * would. For dry runs and for buttons: the script asks again in the same step in which it adds the replay. `facts` is for
 * callers who ask for many.
 */
export async function findReplayObstacle(
  redis: Redis,
  keys: Keyspace,
  delivery: Delivery,
  acknowledged: boolean,
  facts: DestinationFacts = new Map(),
): Promise<AppError | undefined> {
  const { id, status, destination, openReplay } = delivery;
  const known = facts.get(destination.id) ?? readFacts(redis, keys, destination.id);
  facts.set(destination.id, known);
  const { paused, blind, removed } = await known;
  if (removed) return endpointRemoved(id);
  if (delivery.inFlight) return new AppError('in_flight', `An attempt of ${id} is in flight.`);
  if (openReplay !== null)
    return new AppError('replay_open', `Replay ${openReplay} of ${id} has not ended yet.`);
  if (status === 'resolved') return alreadyResolved(id);
  if (paused) return new AppError('destination_paused', `The destination of ${id} is paused.`);
  if (acknowledged) return undefined;
  if (destination.kind === 'erp' && delivery.doubt && blind)
    return new AppError(
      'acknowledgement_needed',
      `${id} may be at an ERP that can neither be asked nor dedupes.`,
    );
  return status === 'sent' ? new AppError('acknowledgement_needed', `${id} was sent already.`) : undefined;
}

async function readFacts(redis: Redis, keys: Keyspace, destination: string) {
  const [paused, removed, policy] = await Promise.all([
    isPaused(redis, keys, destination),
    isRemoved(redis, keys, destination),
    readPolicy(redis, keys, destination),
  ]);
  return { paused, removed, blind: policy.canFind !== true && policy.dedupes !== true };
}

/** A resolved delivery is closed: replaying it would settle it twice. */
export const alreadyResolved = (id: string): AppError =>
  new AppError('wrong_status', `${id} was resolved by a person and is closed.`);

/** Its event is gone or going, so there is nothing left to send. */
export const expired = (what: string): AppError =>
  new AppError('expired', `The retention of ${what} is over: its records are gone.`);

export const endpointRemoved = (id: string): AppError =>
  new AppError('endpoint_removed', `The endpoint of ${id} was removed: there is nowhere to send it.`);

/** Id of the replay that was asked for and has not ended; undefined when there is none. */
export async function readOpenReplay(
  redis: Redis,
  keys: Keyspace,
  delivery: string,
): Promise<string | undefined> {
  return (await redis.hget(keys.delivery(delivery), 'replayId')) || undefined;
}
