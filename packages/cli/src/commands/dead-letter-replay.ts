import type { Delivery } from '@breakwater/contracts/delivery';
import { type BulkReplayResult, replayDeadLetters } from '@breakwater/core/bulk-replay';
import { eachDeadLetter, noDelivery, notADeadLetter } from '@breakwater/core/dead-letters';
import { findReplayObstacle } from '@breakwater/core/replay-check';
import { awaitReplays, type ReplayResult } from '@breakwater/core/replay-result';
import { REPLAY_NOTICE } from '@breakwater/core/replay';
import { AppError } from '@breakwater/runtime/errors';
import { readDelivery } from '@breakwater/store/deliveries';
import { type Command, Option } from 'commander';
import type { CliContext } from '../context.ts';
import { EXIT, exitCodeOf } from '../exit-codes.ts';
import {
  checkReason,
  destinationOf,
  dryRunOption,
  endpointOption,
  parseRate,
  targetOption,
  waitTimeoutOption,
} from '../options.ts';
import { printable } from '../output/printable.ts';
import { startProgress } from '../output/progress.ts';
import { type Deliveries, type Store, withDeliveries, withStore } from '../store-access.ts';

interface BulkOptions {
  readonly all?: boolean;
  readonly endpoint?: string;
  readonly target?: string;
  readonly class?: string;
  readonly reasonIs?: string;
  readonly reason: string;
  readonly rate: number;
  readonly restart?: boolean;
  readonly wait?: boolean;
  readonly timeout: number;
  readonly dryRun?: boolean;
}

export function bulkReplayCommand(deadLetters: Command, context: CliContext): void {
  deadLetters
    .command('replay')
    .description(
      `add one attempt to each of these dead letters, or to all that the filters choose. ${REPLAY_NOTICE}`,
    )
    .argument('[ids...]')
    .option('--all', 'every dead letter of the operator that the filters below let through')
    .addOption(endpointOption())
    .addOption(targetOption())
    .option('--class <class>', 'only those whose last attempt failed so: http_5xx, timeout_response ...')
    .option('--reason-is <reason>', 'only those given up for this reason: exhausted, gone, rejected ...')
    .requiredOption('--reason <text>', 'why, for the audit log')
    .addOption(
      new Option('--rate <rate>', 'how many per second (20/s) or minute (30/m)')
        .default(20, '20/s')
        .argParser(parseRate),
    )
    .option('--restart', 'begin the whole retry schedule again instead of a single try')
    .option('--wait', 'wait for the results: exit code 0 when all were sent, 1 otherwise')
    .addOption(waitTimeoutOption())
    .addOption(dryRunOption())
    .action(context.action((ids: string[], options: BulkOptions) => bulkReplay(context, ids, options)));
}

async function bulkReplay(
  context: CliContext,
  ids: readonly string[],
  options: BulkOptions,
): Promise<number> {
  checkReason(options.reason);
  checkChoice(ids, options);
  if (options.dryRun) return withStore(context, (store) => rehearse(context, store, ids, options));
  return withDeliveries(context, async (deliveries) => {
    // Oldest first: whoever has waited longest is served first.
    const chosen = options.all
      ? (await selectAll(context, deliveries, options)).map(({ id }) => id).toReversed()
      : [...new Set(ids)];
    context.note(REPLAY_NOTICE);
    const result = await request(context, deliveries, chosen, options);
    const only = ids.length === 1 ? result.refused[0] : undefined;
    if (only) throw only.error; // one was asked for, so this is the command's own error
    const results = options.wait ? await wait(context, deliveries, result, options.timeout) : undefined;
    print(context, result, results);
    return exitCode(result, results);
  });
}

function checkChoice(
  ids: readonly string[],
  { all, endpoint, target, class: failureClass, reasonIs }: BulkOptions,
): void {
  if (all && ids.length > 0)
    throw new AppError('request_invalid', 'Name deliveries, or say --all, not both.');
  if (!all && ids.length === 0) throw new AppError('request_invalid', 'Name the deliveries, or say --all.');
  if (!all && [endpoint, target, failureClass, reasonIs].some((filter) => filter !== undefined)) {
    throw new AppError(
      'request_invalid',
      'Filters choose among all dead letters: add --all and name no deliveries.',
    );
  }
}

async function selectAll(
  context: CliContext,
  { redis, keys }: Store,
  options: BulkOptions,
): Promise<Delivery[]> {
  const { class: failureClass, reasonIs } = options;
  const filter = {
    operator: context.globals().operator,
    ...destinationOf(options),
    ...(failureClass !== undefined && { failureClass }),
    ...(reasonIs !== undefined && { reason: reasonIs }),
  };
  return Array.fromAsync(eachDeadLetter(redis, keys, filter));
}

async function request(
  context: CliContext,
  deliveries: Deliveries,
  ids: readonly string[],
  options: BulkOptions,
): Promise<BulkReplayResult> {
  const progress = startProgress(context.io, 'replaying', ids.length);
  try {
    return await replayDeadLetters(deliveries, ids, {
      operator: context.globals().operator,
      mode: options.restart ? 'restart' : 'single',
      reason: options.reason,
      actor: context.actor,
      perSecond: options.rate,
      signal: context.io.signal,
      onProgress: progress.update,
    });
  } finally {
    progress.stop();
  }
}

async function wait(
  context: CliContext,
  store: Store,
  { tickets }: BulkReplayResult,
  timeoutMs: number,
): Promise<ReadonlyMap<string, ReplayResult>> {
  const progress = startProgress(context.io, 'waiting for results', tickets.length);
  try {
    return await awaitReplays(store, tickets, {
      timeoutMs,
      signal: context.io.signal,
      onProgress: progress.update,
    });
  } finally {
    progress.stop();
  }
}

function print(
  context: CliContext,
  { tickets, refused, stopped }: BulkReplayResult,
  results: ReadonlyMap<string, ReplayResult> | undefined,
): void {
  const replays = tickets.map(({ delivery, replayId }) => ({
    delivery,
    replayId,
    ...(results && { result: results.get(delivery) ?? 'open' }),
  }));
  const refusals = refused.map(({ delivery, error }) => ({
    delivery,
    code: error.code,
    message: error.message,
    remedy: error.remedy,
  }));
  const tally = results && countOf(results);
  const summary = {
    replayed: tickets.length,
    ...(tally && { results: tally }),
    refused: refusals,
    stopped,
    replays,
    notice: REPLAY_NOTICE,
  };
  context.print(summary, () =>
    [
      `${tickets.length} replays were asked for${tally ? `: ${tally.sent} sent, ${tally.failed} failed, ${tally.open} without a result yet` : ''}.`,
      ...(refused.length === 0 ? [] : [`${refused.length} were refused:`]),
      ...refused.map(({ error }) => `  ${printable(error.message)} ${error.remedy}`),
      ...(stopped ? ['Stopped before all were asked for; run it again to go on.'] : []),
    ].join('\n'),
  );
}

function countOf(results: ReadonlyMap<string, ReplayResult>): Record<ReplayResult, number> {
  const tally = { sent: 0, failed: 0, open: 0 };
  for (const result of results.values()) tally[result] += 1;
  return tally;
}

/** A refusal outranks a failed replay: it is what the caller can do something about before asking again. */
function exitCode(
  { refused, stopped }: BulkReplayResult,
  results: ReadonlyMap<string, ReplayResult> | undefined,
): number {
  const allSent = results === undefined || [...results.values()].every((result) => result === 'sent');
  return Math.max(
    stopped || !allSent ? EXIT.failure : EXIT.ok,
    ...refused.map(({ error }) => exitCodeOf(error)),
  );
}

async function rehearse(
  context: CliContext,
  store: Store,
  ids: readonly string[],
  options: BulkOptions,
): Promise<number> {
  const { operator } = context.globals();
  const chosen: Delivery[] = options.all ? await selectAll(context, store, options) : [];
  const refused: { delivery: string; error: AppError }[] = [];
  for (const id of new Set(ids)) {
    const delivery = await readDelivery(store.redis, store.keys, operator, id);
    if (delivery?.status === 'dead_letter') chosen.push(delivery);
    else
      refused.push({ delivery: id, error: delivery ? notADeadLetter(delivery) : noDelivery(operator, id) });
  }
  const deliveries: string[] = [];
  for (const delivery of chosen) {
    const error = await findReplayObstacle(store.redis, store.keys, delivery, false);
    if (error) refused.push({ delivery: delivery.id, error });
    else deliveries.push(delivery.id);
  }
  const only = ids.length === 1 ? refused[0] : undefined;
  if (only) throw only.error;
  const refusals = refused.map(({ delivery, error }) => ({
    delivery,
    code: error.code,
    message: error.message,
    remedy: error.remedy,
  }));
  context.print(
    { dryRun: true, wouldReplay: deliveries.length, deliveries, refused: refusals, notice: REPLAY_NOTICE },
    () =>
      [
        `${deliveries.length} dead letters would be replayed. Nothing was changed.`,
        ...deliveries.map((id) => `  ${id}`),
        ...(refused.length === 0 ? [] : [`${refused.length} would be refused:`]),
        ...refused.map(({ error }) => `  ${printable(error.message)} ${error.remedy}`),
        REPLAY_NOTICE,
      ].join('\n'),
  );
  return Math.max(EXIT.ok, ...refused.map(({ error }) => exitCodeOf(error)));
}
