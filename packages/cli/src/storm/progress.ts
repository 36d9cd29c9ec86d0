import cliProgress from 'cli-progress';
import type { Io } from '../io.ts';
import type { StormProgress } from './run.ts';

export interface ProgressView {
  readonly update: (progress: StormProgress) => void;
  readonly stop: () => void;
}

/** Two bars on a terminal's stderr; a line now and then where there is none, unless nobody reads it. */
const LINE_EVERY_MS = 5_000;

export function showProgress(io: Io): ProgressView {
  if (!io.stderrIsTty) return lines(io);
  const bars = new cliProgress.MultiBar(
    {
      stream: io.stderr,
      format: '{label} {bar} {value}/{total} {note}',
      clearOnComplete: true,
      hideCursor: true,
      barsize: 40,
    },
    cliProgress.Presets.legacy,
  );
  const sends = bars.create(1, 0, { label: 'acknowledged', note: '' });
  const ends = bars.create(1, 0, { label: 'done        ', note: '' });
  return {
    update(progress) {
      sends.setTotal(progress.deliveries);
      sends.update(progress.acknowledged);
      ends.setTotal(progress.orders);
      ends.update(progress.done, {
        note: noteOf(progress),
      });
    },
    stop: () => bars.stop(),
  };
}

function noteOf({ retrying, deadLetters }: StormProgress): string {
  return [
    ...(retrying > 0 ? [`${retrying} wait for their retry`] : []),
    ...(deadLetters > 0 ? [`${deadLetters} dead letters`] : []),
  ].join(', ');
}

const comma = (text: string): string => (text === '' ? '' : `, ${text}`);

function lines(io: Io): ProgressView {
  let next = performance.now() + LINE_EVERY_MS;
  return {
    update(progress) {
      if (performance.now() < next) return;
      next = performance.now() + LINE_EVERY_MS;
      io.stderr.write(
        `acknowledged ${progress.acknowledged}/${progress.deliveries}, done ${progress.done}/${progress.orders}${comma(noteOf(progress))}\n`,
      );
    },
    stop: () => undefined,
  };
}
