import { erpDestination } from '@breakwater/contracts/ids';
import type { AlarmClocks } from '@breakwater/queue/alarms';
import { AppError } from '@breakwater/runtime/errors';
import type { Redis } from '@breakwater/store/connection';
import { type EndpointRecord, isPaused, readEndpoint } from '@breakwater/store/endpoints';
import { type BreakerState, readBreaker } from '@breakwater/store/gates';
import type { Keyspace } from '@breakwater/store/keys';
import type { Transitions } from '@breakwater/store/transitions';

export interface GateDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly transitions: Transitions;
  readonly clocks: AlarmClocks;
}

/** Who moves a gate and why; kept in the audit log. */
export interface GateMove {
  readonly operator: string;
  readonly actor: string;
  readonly reason: string;
}

/** Reads an endpoint of an operator. Throws AppError not_found, also when it is another operator's. */
export async function getEndpoint(
  redis: Redis,
  keys: Keyspace,
  operator: string,
  id: string,
): Promise<EndpointRecord> {
  const endpoint = await readEndpoint(redis, keys, id);
  if (endpoint?.operator !== operator) throw noEndpoint(operator, id);
  return endpoint;
}

export const noEndpoint = (operator: string, id: string): AppError =>
  new AppError('not_found', `No endpoint ${id} belongs to operator ${operator}.`);

/**
 * Pauses or resumes an endpoint. Resolves to false when it is in that state already: nothing is done then, because
 * resuming also starts the ramp, which would throttle an endpoint that works. Throws AppError not_found.
 */
export async function setEndpointPaused(
  deps: GateDeps,
  id: string,
  paused: boolean,
  move: GateMove,
): Promise<boolean> {
  const { redis, keys, transitions, clocks } = deps;
  await getEndpoint(redis, keys, move.operator, id);
  if ((await isPaused(redis, keys, id)) === paused) return false;
  await clocks.set(await transitions.setGate(id, paused ? 'pause' : 'resume', move));
  return true;
}

export interface TargetBreaker extends BreakerState {
  readonly target: string;
  /** Deliveries that wait at the target's gate, for its breaker or for a free slot. */
  readonly waiting: number;
}

/** The breaker of one ERP target, by name. */
export async function readTargetBreaker(
  redis: Redis,
  keys: Keyspace,
  target: string,
): Promise<TargetBreaker> {
  const destination = erpDestination(target);
  const [breaker, waiting] = await Promise.all([
    readBreaker(redis, keys, destination),
    redis.zcard(keys.waiting(destination)),
  ]);
  return { target, ...breaker, waiting };
}

/**
 * Opens a target's breaker until a person closes it, or closes it. Resolves to false when there is nothing to do:
 * closing also starts the ramp, which would throttle a target that works.
 */
export async function setTargetBreaker(
  deps: GateDeps,
  target: string,
  to: 'open' | 'closed',
  move: GateMove,
): Promise<boolean> {
  const { redis, keys, transitions, clocks } = deps;
  const now = await readTargetBreaker(redis, keys, target);
  if (to === 'open' ? now.forced : now.state === 'closed') return false;
  await clocks.set(
    await transitions.setGate(erpDestination(target), to === 'open' ? 'breaker-open' : 'breaker-close', move),
  );
  return true;
}
