import type { ReplayNote, ReplayRun } from '@breakwater/contracts/replay-run';
import { printable } from '@breakwater/core/printable';
import { REPLAY_NOTICE } from '@breakwater/core/replay';
import { refusalInWords, refusedOf } from '@breakwater/core/replay-words';
import type { CliContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { renderFields, renderTable } from '../output/table.ts';
import { formatTime } from '../output/time.ts';

/** How a command left the run: it had ended, or goes on without being watched. */
export type Watching = 'ended' | 'stopped' | 'timed_out' | 'detached';

/** A refusal outranks a failed replay: it is what the caller can do something about before asking again. */
export function exitCodeOfRun(run: ReplayRun, watching: Watching): number {
  if (watching === 'detached') return EXIT.ok;
  if (watching !== 'ended') return EXIT.failure;
  const { not_found: missing = 0, expired = 0 } = run.refused;
  const refused = refusedOf(run);
  if (refused > missing + expired) return EXIT.refused;
  if (refused > 0) return EXIT.notFound;
  return run.state === 'done' && run.failed === 0 ? EXIT.ok : EXIT.failure;
}

const explain = (note: ReplayNote): string =>
  note.kind === 'refused' ? refusalInWords(note.why) : note.why.trim();

/** The result of `dead-letters replay`. */
export function printRun(
  context: CliContext,
  run: ReplayRun,
  notes: readonly ReplayNote[],
  watching: Watching,
): void {
  const result = { ...run, watching, notes: notes.map(toJson), notice: REPLAY_NOTICE };
  context.print(result, () =>
    [summaryOf(run), ...sayNotes(run, notes), ...sayNext(run, watching)].join('\n'),
  );
}

const toJson = (note: ReplayNote) => ({ ...note, why: note.why.trim(), message: explain(note) });

function summaryOf(run: ReplayRun): string {
  const { state, requested, matched, sent, failed, open, error } = run;
  const why = error === '' ? '' : ` (${error})`;
  return `Run ${run.id} is ${state}${why}: ${requested} of ${matched} asked for, ${sent} sent, ${failed} failed, ${open} without a result yet.`;
}

function sayNotes(run: ReplayRun, notes: readonly ReplayNote[]): string[] {
  return (['failed', 'refused'] as const).flatMap((kind) => {
    const own = notes.filter((note) => note.kind === kind);
    if (own.length === 0) return [];
    const all = kind === 'failed' ? run.failed : refusedOf(run);
    const some = all > own.length ? `, the first ${own.length} of them` : '';
    return [
      `${all} ${kind}${some}:`,
      ...own.map((note) => `  ${note.delivery}: ${printable(explain(note))}`),
    ];
  });
}

function sayNext(run: ReplayRun, watching: Watching): string[] {
  if (run.state === 'running') {
    const lead = watching === 'detached' ? 'It goes on' : 'It goes on without being watched';
    return [`${lead}. Watch it: dead-letters replay --resume ${run.id}. Stop it: replays cancel ${run.id}`];
  }
  if (run.state === 'done') return [];
  return run.remaining > 0 ? [`${run.remaining} are left. Go on: replays resume ${run.id}`] : [];
}

/** `replays list`. */
export function renderRuns(runs: readonly ReplayRun[], now: number): string {
  return renderTable(
    [
      { title: 'RUN' },
      { title: 'STATE' },
      { title: 'MATCHED' },
      { title: 'LEFT' },
      { title: 'SENT' },
      { title: 'FAILED' },
      { title: 'REFUSED' },
      { title: 'OPEN' },
      { title: 'BY', max: 24 },
      { title: 'REASON', max: 40 },
      { title: 'STARTED' },
    ],
    runs.map((run) => [
      run.id,
      run.state,
      ...[run.matched, run.remaining, run.sent, run.failed, refusedOf(run), run.open].map(String),
      run.actor,
      run.reason,
      formatTime(run.createdAt, now),
    ]),
  );
}

/** `replays show`. */
export function renderRun(run: ReplayRun, notes: readonly ReplayNote[], now: number): string {
  const facts = renderFields([
    ['run', run.id],
    ['state', run.error === '' ? run.state : `${run.state}: ${run.error}`],
    ['by', run.actor],
    ['reason', run.reason],
    ['chosen', run.filter],
    ['mode', run.mode === 'restart' ? 'restarts the retry schedule' : 'a single try each'],
    [
      'rate',
      `${run.perSecond}/s${run.destinationPerSecond === null ? '' : `, ${run.destinationPerSecond}/s to one destination`}`,
    ],
    ['matched', String(run.matched)],
    ['left', String(run.remaining)],
    [
      'asked for',
      `${run.requested}: ${run.sent} sent, ${run.failed} failed, ${run.open} without a result yet`,
    ],
    [
      'refused',
      Object.entries(run.refused)
        .map(([why, number]) => `${number} ${why}`)
        .join(', ') || '0',
    ],
    ['started', formatTime(run.createdAt, now)],
    ['changed', formatTime(run.updatedAt, now)],
  ]);
  return [facts, sayNotes(run, notes).join('\n')].filter((part) => part !== '').join('\n\n');
}
