import type { AlarmClocks } from '@breakwater/queue/alarms';
import { messageOf } from '@breakwater/runtime/errors';
import type { Logger } from '@breakwater/runtime/logger';
import { startLoop } from '@breakwater/runtime/poll';
import type { Redis } from '@breakwater/store/connection';
import type { Keyspace } from '@breakwater/store/keys';
import type { Policy } from '@breakwater/store/policy';
import { advanceReplayRun, changeReplayRun, dueReplayRuns } from '@breakwater/store/replay-runs';

export interface RunnerDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly policy: Policy;
  readonly clocks: AlarmClocks;
  readonly logger: Logger;
}

/** Half of what a run may make up for, so that the rate is kept; idle it is one short read. */
const EVERY_MS = 250;
/** Runs looked at in one round, and replays of one script: about 2 ms of Redis. */
const RUNS = 20;
const PER_SCRIPT = 25;
/** Scripts of one run in one round, so that none keeps the others from theirs. */
const ROUNDS = 20;
/** Redis refuses a script of this run again and again: it will not get better by itself. */
const FAULTS_MAX = 20;

/**
 * Carries out bulk replays. Runs in every dispatcher; several at one run do no harm, since a delivery leaves the run's
 * list in the step in which its replay is asked for, and the pace is kept in the record. Returns a function that stops it.
 */
export function startReplayRunner(deps: RunnerDeps): () => Promise<void> {
  const faults = new Map<string, number>();
  return startLoop(
    EVERY_MS,
    async (signal) => {
      for (const run of await dueReplayRuns(deps.redis, deps.keys, RUNS)) {
        if (signal.aborted) return;
        try {
          await drive(deps, run, signal);
          faults.delete(run);
        } catch (error) {
          await onFault(deps, run, error, faults);
        }
      }
    },
    (error) => deps.logger.warn({ reason: messageOf(error) }, 'looking for replay runs failed'),
  );
}

/** As far as the run's pace and its open replays allow now. */
async function drive(deps: RunnerDeps, run: string, signal: AbortSignal): Promise<void> {
  for (let round = 0; round < ROUNDS && !signal.aborted; round += 1) {
    const { state, waitMs, alarms } = await advanceReplayRun(
      deps.redis,
      deps.keys,
      deps.policy,
      run,
      PER_SCRIPT,
    );
    // Whoever dies here loses nothing: the alarms are in the store, and the sweeper sets them.
    await deps.clocks.set(alarms);
    if (alarms.length > 0)
      deps.logger.debug({ run, replays: alarms.length }, 'replays of a bulk run asked for');
    if (state !== 'running') deps.logger.info({ run, state }, 'a bulk replay has ended');
    if (state !== 'running' || waitMs > 0) return;
  }
}

async function onFault(
  { redis, keys, logger }: RunnerDeps,
  run: string,
  error: unknown,
  faults: Map<string, number>,
): Promise<void> {
  const count = (faults.get(run) ?? 0) + 1;
  faults.set(run, count);
  logger.error({ err: error, run, count }, 'a bulk replay could not be carried on');
  // An outage is over at some time; an answer of Redis that says no stays the same.
  if (count < FAULTS_MAX || !(error instanceof Error && error.name === 'ReplyError')) return;
  faults.delete(run);
  const operator = (await redis.hget(keys.replayRun(run), 'operator')) ?? '';
  await changeReplayRun(redis, keys, {
    id: run,
    operator,
    action: 'fail',
    actor: 'dispatcher',
    reason: `Redis refused to carry it on: ${error.message.slice(0, 200)}`,
  });
}
