import cliProgress from 'cli-progress';
import type { Io } from '../io.ts';

export interface Progress {
  readonly update: (done: number) => void;
  readonly stop: () => void;
}

/** A progress bar on stderr where a person watches; nothing in a pipe or a log, where it would only be noise. */
export function startProgress(io: Io, label: string, total: number): Progress {
  if (!io.stderrIsTty || total === 0) return { update: () => undefined, stop: () => undefined };
  const bar = new cliProgress.SingleBar(
    {
      stream: io.stderr,
      format: `${label} [{bar}] {value}/{total}, {eta_formatted} left`,
      clearOnComplete: true,
    },
    cliProgress.Presets.legacy,
  );
  bar.start(total, 0);
  return { update: (done) => bar.update(done), stop: () => bar.stop() };
}
