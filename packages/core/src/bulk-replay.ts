import { newId } from '@breakwater/contracts/ids';
import type { ReplayRun } from '@breakwater/contracts/replay-run';
import { AppError } from '@breakwater/runtime/errors';
import type { Redis } from '@breakwater/store/connection';
import type { Keyspace } from '@breakwater/store/keys';
import {
  changeReplayRun,
  createReplayRun,
  readReplayRun,
  RUNS_AT_ONCE,
  type TooManyRuns,
} from '@breakwater/store/replay-runs';
import { chooseDeliveries, type ReplayPace, type ReplaySelection } from './replay-plan.ts';

export interface RunStore {
  readonly redis: Redis;
  readonly keys: Keyspace;
}

export interface BulkReplayRequest extends ReplayPace {
  readonly selection: ReplaySelection;
  /** The selection in words, for people who look at the run later. */
  readonly filter: string;
  readonly mode: 'single' | 'restart';
  readonly acknowledged: boolean;
  readonly reason: string;
  readonly actor: string;
  /** Failures in a row after which the run stops itself; 0 never. */
  readonly stopAfter: number;
}

/** A dispatcher makes 200 attempts at once: a run that meets time-outs only must leave most of them to fresh events. */
const MAY_BE_OPEN = 20;

/**
 * Starts a bulk replay: a record in Redis that dispatchers carry out (replay-runner.ts), so that it outlives whoever
 * asked. Resolves to the run, to undefined when nothing matches. Throws AppError request_invalid, too_many_runs.
 */
export async function startBulkReplay(
  { redis, keys }: RunStore,
  request: BulkReplayRequest,
): Promise<ReplayRun | undefined> {
  const { selection, reason } = request;
  if (reason.trim() === '')
    throw new AppError('request_invalid', 'A replay needs a reason (--reason): it goes into the audit log.');
  const { operator } = selection;
  const deliveries = await chooseDeliveries(redis, keys, selection);
  if (deliveries.length === 0) return undefined;
  const id = newId();
  const tooMany = await createReplayRun(redis, keys, {
    ...request,
    id,
    operator,
    deliveries,
    found: !('ids' in selection),
    status: selection.status,
    mayBeOpen: MAY_BE_OPEN,
  });
  if (tooMany) throw tooManyRuns(operator, tooMany);
  return findReplayRun({ redis, keys }, operator, id);
}

/** Throws AppError not_found, also for another operator's. */
export async function findReplayRun(
  { redis, keys }: RunStore,
  operator: string,
  id: string,
): Promise<ReplayRun> {
  const run = await readReplayRun(redis, keys, operator, id);
  if (!run) throw noRun(operator, id);
  return run;
}

/**
 * Stops a run between two replays, or lets one go on that was cancelled or has stopped itself. What was asked for already
 * is attempted all the same. Doing it again changes nothing. Throws AppError not_found, wrong_status, too_many_runs.
 */
export async function changeBulkReplay(
  store: RunStore,
  change: {
    readonly operator: string;
    readonly id: string;
    readonly action: 'cancel' | 'resume';
    readonly actor: string;
    readonly reason: string;
  },
): Promise<ReplayRun> {
  const refusal = await changeReplayRun(store.redis, store.keys, change);
  if (refusal === 'not_found') throw noRun(change.operator, change.id);
  if (refusal && 'underWay' in refusal) throw tooManyRuns(change.operator, refusal);
  if (refusal) throw wrongState(change.id, refusal.state, change.action);
  return findReplayRun(store, change.operator, change.id);
}

/** Would `changeBulkReplay` work now? Throws as it does. */
export async function checkBulkReplayChange(
  store: RunStore,
  operator: string,
  id: string,
  action: 'cancel' | 'resume',
): Promise<ReplayRun> {
  const run = await findReplayRun(store, operator, id);
  const possible =
    action === 'cancel' ? run.state === 'running' || run.state === 'cancelled' : run.state !== 'done';
  if (!possible) throw wrongState(id, run.state, action);
  return run;
}

const noRun = (operator: string, id: string): AppError =>
  new AppError('not_found', `No replay run ${id} belongs to operator ${operator}.`, {
    remedy: 'See replays list. A run leaves 30 days after its end.',
  });

const tooManyRuns = (operator: string, { underWay }: TooManyRuns): AppError =>
  new AppError(
    'too_many_runs',
    `Operator ${operator} has ${underWay.length} bulk replays under way (${underWay.join(', ')}), and ${RUNS_AT_ONCE} may be at once.`,
    { details: { underWay } },
  );

const wrongState = (id: string, state: string, action: string): AppError =>
  new AppError(
    'wrong_status',
    `Replay run ${id} is ${state}: it cannot be ${action === 'cancel' ? 'cancelled' : 'resumed'}.`,
    {
      remedy: '',
      details: { state },
    },
  );
