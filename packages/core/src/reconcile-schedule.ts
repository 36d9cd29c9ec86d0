import type { ReadyErpTarget } from '@breakwater/erp/targets';
import { newId } from '@breakwater/contracts/ids';
import { AppError, messageOf } from '@breakwater/runtime/errors';
import { startLoop } from '@breakwater/runtime/poll';
import { holdLease, releaseLease } from '@breakwater/store/leases';
import { erpRound, recordsRound, type Round, type RoundDeps } from './reconcile-rounds.ts';

export interface ScheduleDeps extends RoundDeps {
  readonly targets: ReadonlyMap<string, ReadyErpTarget>;
}

/** How often a replica looks whether a round is due: one short read. */
const LOOK_EVERY_MS = 1_000;
/** A replica that dies in a round is followed by another after so long. */
const LEASE_MS = 30_000;
/** A round that failed is not repeated at once: what stopped it lasts. */
const AFTER_FAULT_MS = 15_000;

/**
 * Reconciles every ERP target again and again, and keeps what it found. Runs in every console replica; a lease in Redis
 * lets one of them at a round at a time. Each target's records and each target's ERP have a line of their own: an ERP that
 * takes hours to be asked keeps neither its own records nor another target waiting. Returns a function that stops it.
 */
export function startReconciliation(deps: ScheduleDeps): () => Promise<void> {
  const { every, deepEvery } = deps.config.reconciliation;
  if (every === 0) return async () => undefined;
  const identity = newId();
  const stopping = new AbortController();
  const stops = [...deps.targets.values()]
    .flatMap((target) => [recordsRound(deps, target), ...(deepEvery > 0 ? [erpRound(deps, target)] : [])])
    .map((round) => repeat(deps, round, identity, stopping.signal));
  return async () => {
    stopping.abort(new AppError('unavailable', 'The process is stopping.'));
    await Promise.all(stops.map((stop) => stop()));
  };
}

function repeat(
  deps: ScheduleDeps,
  round: Round,
  identity: string,
  stopping: AbortSignal,
): () => Promise<void> {
  let notBefore = 0;
  return startLoop(
    Math.min(LOOK_EVERY_MS, deps.config.reconciliation.every),
    async (signal) => {
      if (signal.aborted || performance.now() < notBefore) return;
      try {
        if (await round.isDue()) await runLeased(deps, round, identity, stopping);
      } catch (error) {
        if (stopping.aborted) return;
        notBefore = performance.now() + AFTER_FAULT_MS;
        deps.logger.warn({ round: round.name, reason: messageOf(error) }, 'a reconciliation was cut off');
      }
    },
    (error) => deps.logger.warn({ reason: messageOf(error) }, 'reconciliation failed'),
  );
}

/** Runs while the lease is held: whoever loses it stops, and what it found is not kept. */
async function runLeased(
  { redis, keys }: ScheduleDeps,
  round: Round,
  identity: string,
  stopping: AbortSignal,
): Promise<void> {
  const hold = (): Promise<boolean> => holdLease(redis, keys, round.name, identity, LEASE_MS);
  if (!(await hold())) return;
  const lost = new AbortController();
  const stopHolding = startLoop(
    LEASE_MS / 3,
    async () => {
      if (!(await hold())) lost.abort(new AppError('unavailable', 'Another replica has taken the run over.'));
    },
    () => undefined, // Redis is away: the lease lapses, and the next command of the run fails
  );
  try {
    if (!(await round.isDue())) return; // another replica was faster
    await round.run({ name: round.name, identity }, AbortSignal.any([stopping, lost.signal]));
  } finally {
    await stopHolding();
    await releaseLease(redis, keys, round.name, identity).catch(() => undefined); // it lapses
  }
}
