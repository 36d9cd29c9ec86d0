import { REPLAYABLE_STATUSES, type ReplayableStatus } from '@breakwater/contracts/replay-run';
import { formatDuration } from '@breakwater/contracts/duration';
import { type BulkReplayRequest, changeBulkReplay, startBulkReplay } from '@breakwater/core/bulk-replay';
import { planReplay, type ReplayPlan, type ReplaySelection } from '@breakwater/core/replay-plan';
import { REPLAY_NOTICE } from '@breakwater/core/replay';
import { AppError } from '@breakwater/runtime/errors';
import { type Command, Option } from 'commander';
import { isAttended } from '../confirm.ts';
import type { CliContext } from '../context.ts';
import { EXIT, exitCodeOf } from '../exit-codes.ts';
import {
  addEventFilters,
  classOption,
  endpointOption,
  type FilterOptions,
  knownSources,
  queryOf,
  reasonIsOption,
  targetOption,
} from '../filters.ts';
import { checkReason, dryRunOption, parseDuration, parseRate, wholeNumber, yesOption } from '../options.ts';
import { count } from '../output/count.ts';
import { type Store, withStore } from '../store-access.ts';
import { printRehearsal } from './dead-letter-replay-view.ts';
import { endOfRun, watchRun } from './replay-watch.ts';

interface BulkOptions extends FilterOptions {
  readonly all?: boolean;
  readonly status: ReplayableStatus;
  readonly acknowledgeDuplicates?: boolean;
  readonly reason?: string;
  readonly rate: number;
  readonly endpointRate?: number;
  readonly stopAfter: number;
  readonly restart?: boolean;
  readonly resume?: string;
  readonly detach?: boolean;
  readonly timeout?: number;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

const FILTERS = [
  'endpoint',
  'target',
  'class',
  'reasonIs',
  'source',
  'type',
  'event',
  'since',
  'until',
] as const;

export function bulkReplayCommand(deadLetters: Command, context: CliContext): void {
  const command = deadLetters
    .command('replay')
    .description(
      `add one attempt to each of these dead letters, or to all that the filters choose, and watch. ${REPLAY_NOTICE}`,
    )
    .argument('[ids...]')
    .option('--all', 'every dead letter of the operator, where no filter is given')
    .addOption(endpointOption())
    .addOption(targetOption())
    .addOption(classOption())
    .addOption(reasonIsOption());
  addEventFilters(command, context, 'given up')
    .addOption(
      new Option(
        '--status <status>',
        'replay deliveries of this status instead; `sent` needs --acknowledge-duplicates',
      )
        .choices(REPLAYABLE_STATUSES)
        .default('dead_letter'),
    )
    .option('--acknowledge-duplicates', 'they were sent already, and the receivers dedupe durably')
    .option('--reason <text>', 'why, for the audit log')
    .addOption(
      new Option('--rate <rate>', 'how many per second (20/s) or minute (30/m)')
        .default(20, '20/s')
        .argParser(parseRate),
    )
    .addOption(new Option('--endpoint-rate <rate>', 'how many to any one destination').argParser(parseRate))
    .addOption(
      new Option('--stop-after <n>', 'stop after so many failures in a row; 0 never')
        .default(20)
        .argParser(wholeNumber(0, 1e9)),
    )
    .option('--restart', 'begin the whole retry schedule again instead of a single try')
    .option('--resume <run>', 'let an earlier run go on where it stopped, and watch it')
    .option('--detach', 'start it and do not watch: see replays show')
    .addOption(new Option('--wait').hideHelp()) // what it does anyway
    .addOption(new Option('--timeout <duration>', 'watch at most so long').argParser(parseDuration))
    .addOption(dryRunOption())
    .addOption(yesOption())
    .action(context.action((ids: string[], options: BulkOptions) => bulkReplay(context, ids, options)));
}

async function bulkReplay(
  context: CliContext,
  ids: readonly string[],
  options: BulkOptions,
): Promise<number> {
  if (options.resume !== undefined) return resume(context, options.resume, ids, options);
  const reason = checkReason(options.reason ?? '');
  checkChoice(ids, options);
  return withStore(context, async (store) => {
    const selection = await selectionOf(context, store, ids, options);
    const pace = { perSecond: options.rate, destinationPerSecond: options.endpointRate };
    const acknowledged = options.acknowledgeDuplicates ?? false;
    const plan = (): Promise<ReplayPlan> =>
      planReplay(store.redis, store.keys, selection, acknowledged, pace);
    if (options.dryRun) return rehearse(context, ids, await plan());
    if (ids.length === 1) throwTheOnly(await plan());
    else if (!options.yes && isAttended(context.io)) await confirmReplay(context, await plan());
    return start(context, store, options, {
      ...pace,
      selection,
      filter: inWords(ids, options),
      mode: options.restart ? 'restart' : 'single',
      acknowledged,
      reason,
      actor: context.actor,
      stopAfter: options.stopAfter,
    });
  });
}

async function start(
  context: CliContext,
  store: Store,
  { detach, timeout }: BulkOptions,
  request: BulkReplayRequest,
): Promise<number> {
  context.note(REPLAY_NOTICE);
  const run = await startBulkReplay(store, request);
  if (!run) {
    context.print(
      { id: null, matched: 0, notice: REPLAY_NOTICE },
      () => 'Nothing matches: there is nothing to replay.',
    );
    return EXIT.ok;
  }
  const pace = formatDuration(Math.ceil((run.matched / run.perSecond) * 1_000));
  context.note(
    `Run ${run.id}: ${run.matched} matched, at ${run.perSecond}/s in about ${pace}. It does not need this command: Ctrl-C only stops watching.`,
  );
  if (detach) return endOfRun(context, store, run, 'detached');
  return watchRun(context, store, run, timeout);
}

async function resume(
  context: CliContext,
  id: string,
  ids: readonly string[],
  options: BulkOptions,
): Promise<number> {
  if (ids.length > 0 || options.all || FILTERS.some((name) => options[name] !== undefined))
    throw new AppError(
      'request_invalid',
      '--resume goes on with what the run has left: name neither deliveries nor filters.',
    );
  if (options.dryRun)
    throw new AppError(
      'request_invalid',
      'To see what a run would go on with: replays show, or replays resume --dry-run.',
    );
  const { operator } = context.globals();
  return withStore(context, async (store) => {
    const run = await changeBulkReplay(store, {
      operator,
      id,
      action: 'resume',
      actor: context.actor,
      reason: options.reason ?? '',
    });
    return options.detach
      ? endOfRun(context, store, run, 'detached')
      : watchRun(context, store, run, options.timeout);
  });
}

function checkChoice(ids: readonly string[], options: BulkOptions): void {
  const filtered = FILTERS.some((name) => options[name] !== undefined);
  if (ids.length > 0 && (options.all || filtered))
    throw new AppError('request_invalid', 'Name deliveries, or choose them by filters, not both.');
  if (ids.length === 0 && !options.all && !filtered)
    throw new AppError('request_invalid', 'Name the deliveries, choose by filters, or say --all.');
  if (options.status === 'sent' && !options.acknowledgeDuplicates)
    throw new AppError('acknowledgement_needed', 'What was sent would be sent again.');
}

async function selectionOf(
  context: CliContext,
  store: Store,
  ids: readonly string[],
  options: BulkOptions,
): Promise<ReplaySelection> {
  const { operator } = context.globals();
  const { status } = options;
  if (ids.length > 0) return { operator, status, ids };
  const sources = knownSources(context);
  return { ...(await queryOf(context, store, options)), status, ...(sources && { sources }) };
}

/** What was chosen, for whoever reads the run or the audit log later. */
function inWords(ids: readonly string[], options: BulkOptions): string {
  if (ids.length > 0) return `${options.status}, ${count(ids.length, 'id')} given`;
  const times = ['since', 'until'];
  const said = FILTERS.flatMap((name) => {
    const value = options[name];
    if (value === undefined) return [];
    return [`${name} ${times.includes(name) ? new Date(Number(value)).toISOString() : value}`];
  });
  return [options.status, ...said].join(', ');
}

/** Says what it would come to, and asks. Where nothing matches there is nothing to ask. */
async function confirmReplay(context: CliContext, plan: ReplayPlan): Promise<void> {
  const { deliveries, refused, byDestination, estimateMs } = plan;
  if (deliveries.length === 0) return;
  const names = [...byDestination.keys()];
  const to = names.length === 1 ? names.join() : `${names.length} destinations`;
  const left = refused.length === 0 ? '' : `; ${refused.length} more would be refused`;
  await context.confirm(
    `Replay ${count(deliveries.length, 'delivery', 'deliveries')} to ${to}, in about ${formatDuration(estimateMs)}${left}?`,
    undefined,
  );
}

/** One was asked for, so a refusal is the command's own error. */
function throwTheOnly(plan: ReplayPlan): void {
  const [only] = plan.refused;
  if (only) throw only.error;
}

function rehearse(context: CliContext, ids: readonly string[], plan: ReplayPlan): number {
  if (ids.length === 1) throwTheOnly(plan);
  printRehearsal(context, plan);
  return Math.max(EXIT.ok, ...plan.refused.map(({ error }) => exitCodeOf(error)));
}
