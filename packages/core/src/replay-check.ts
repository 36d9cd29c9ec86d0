import type { Delivery } from '@breakwater/contracts/delivery';
import { AppError } from '@breakwater/runtime/errors';
import type { Redis } from '@breakwater/store/connection';
import { isPaused, isRemoved } from '@breakwater/store/endpoints';
import { readPolicy } from '@breakwater/store/gates';
import type { Keyspace } from '@breakwater/store/keys';

/**
 * What would refuse a replay of this delivery now, as the error that `requestReplay` would throw; undefined when nothing
 * would. For dry runs and for buttons: the script asks again in the same step in which it adds the replay.
 */
export async function findReplayObstacle(
  redis: Redis,
  keys: Keyspace,
  delivery: Delivery,
  acknowledged: boolean,
): Promise<AppError | undefined> {
  const { id, status } = delivery;
  if (await isRemoved(redis, keys, delivery.destination.id)) return endpointRemoved(id);
  if (delivery.inFlight) return new AppError('in_flight', `An attempt of ${id} is in flight.`);
  const open = await readOpenReplay(redis, keys, id);
  if (open !== undefined) return new AppError('replay_open', `Replay ${open} of ${id} has not ended yet.`);
  if (status === 'resolved') return alreadyResolved(id);
  if (await isPaused(redis, keys, delivery.destination.id))
    return new AppError('destination_paused', `The destination of ${id} is paused.`);
  const [doubt, policy] = await Promise.all([
    redis.hget(keys.delivery(id), 'doubt'),
    readPolicy(redis, keys, delivery.destination.id),
  ]);
  const blind =
    delivery.destination.kind === 'erp' &&
    doubt === '1' &&
    policy.canFind !== true &&
    policy.dedupes !== true;
  if (blind && !acknowledged)
    return new AppError(
      'acknowledgement_needed',
      `${id} may be at an ERP that can neither be asked nor dedupes.`,
    );
  if (status === 'sent' && !acknowledged)
    return new AppError('acknowledgement_needed', `${id} was sent already.`);
  return undefined;
}

/** A resolved delivery is closed: replaying it would settle it twice. */
export const alreadyResolved = (id: string): AppError =>
  new AppError('wrong_status', `${id} was resolved by a person and is closed.`);

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
