import type { ReplayRun } from '@breakwater/contracts/replay-run';
import { findReplayRun } from '@breakwater/core/bulk-replay';
import { pause } from '@breakwater/runtime/poll';
import { readReplayNotes } from '@breakwater/store/replay-runs';
import type { CliContext } from '../context.ts';
import { startProgress } from '../output/progress.ts';
import type { Store } from '../store-access.ts';
import { exitCodeOfRun, printRun, type Watching } from './replay-run-view.ts';

const LOOK_EVERY_MS = 300;
/** A dispatcher looks several times a second, so this much silence means that none does, or that all open ones hang. */
const STILL_AFTER_MS = 10_000;

const endedOf = ({ sent, failed, refused }: ReplayRun): number =>
  sent + failed + Object.values(refused).reduce((sum, each) => sum + each, 0);

/** Shows a run until it has ended, the person presses Ctrl-C or the time is over; only the watching ends then. */
export async function watchRun(
  context: CliContext,
  store: Store,
  first: ReplayRun,
  timeoutMs = Number.POSITIVE_INFINITY,
): Promise<number> {
  const { signal } = context.io;
  const begun = performance.now();
  const progress = startProgress(context.io, 'replaying', first.matched);
  let run = first;
  let moved = { at: begun, ended: -1 };
  let told = false;
  try {
    while (run.state === 'running' && !signal.aborted && performance.now() - begun < timeoutMs) {
      const ended = endedOf(run);
      progress.update(ended);
      const now = performance.now();
      if (ended !== moved.ended) moved = { at: now, ended };
      else if (!told && now - moved.at > STILL_AFTER_MS) {
        told = true;
        context.note(
          'Nothing has ended for 10 s: is a dispatcher running, are the destinations active and their breakers closed? The run waits in Redis meanwhile.',
        );
      }
      await pause(LOOK_EVERY_MS, signal);
      run = await findReplayRun(store, run.operator, run.id);
    }
  } finally {
    progress.stop();
  }
  const watching: Watching = run.state !== 'running' ? 'ended' : signal.aborted ? 'stopped' : 'timed_out';
  return endOfRun(context, store, run, watching);
}

/** Prints what is known of a run now. Resolves to the exit code. */
export async function endOfRun(
  context: CliContext,
  store: Store,
  run: ReplayRun,
  watching: Watching,
): Promise<number> {
  printRun(context, run, await readReplayNotes(store.redis, store.keys, run.id), watching);
  return exitCodeOfRun(run, watching);
}
