import type { Delivery } from '@breakwater/contracts/delivery';
import { type BulkReplayResult, replayDeadLetters } from '@breakwater/core/bulk-replay';
import { eachDeadLetter, noDelivery, notADeadLetter } from '@breakwater/core/dead-letters';
import { findReplayObstacle } from '@breakwater/core/replay-check';
import { awaitReplays, type ReplayResult, type ReplayTicket } from '@breakwater/core/replay-result';
import { REPLAY_NOTICE } from '@breakwater/core/replay';
import { AppError } from '@breakwater/runtime/errors';
import { readDeliveries, readDelivery } from '@breakwater/store/deliveries';
import { type Command, Option } from 'commander';
import type { CliContext } from '../context.ts';
import { EXIT, exitCodeOf } from '../exit-codes.ts';
import {
  classOption,
  type DestinationOptions,
  destinationOf,
  endpointOption,
  reasonIsOption,
  targetOption,
} from '../filters.ts';
import { checkReason, dryRunOption, parseRate, waitTimeoutOption } from '../options.ts';
import { startProgress } from '../output/progress.ts';
import { type Deliveries, type Store, withDeliveries, withStore } from '../store-access.ts';
import {
  printBulkReplay,
  printRehearsal,
  type Refusal,
  type ReplayOutcome,
} from './dead-letter-replay-view.ts';

interface BulkOptions extends DestinationOptions {
  readonly all?: boolean;
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
    .addOption(classOption())
    .addOption(reasonIsOption())
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
    const outcomes = options.wait ? await wait(context, deliveries, result, options.timeout) : undefined;
    printBulkReplay(context, result, outcomes);
    return exitCode(result, outcomes);
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

async function selectAll(context: CliContext, store: Store, options: BulkOptions): Promise<Delivery[]> {
  const { class: failureClass, reasonIs } = options;
  const filter = {
    operator: context.globals().operator,
    ...(await destinationOf(context, store, options)),
    ...(failureClass !== undefined && { failureClass }),
    ...(reasonIs !== undefined && { reason: reasonIs }),
  };
  return Array.fromAsync(eachDeadLetter(store.redis, store.keys, filter));
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
): Promise<ReadonlyMap<string, ReplayOutcome>> {
  const progress = startProgress(context.io, 'waiting for results', tickets.length);
  try {
    const results = await awaitReplays(store, tickets, {
      timeoutMs,
      signal: context.io.signal,
      onProgress: progress.update,
    });
    return await explain(store, tickets, results);
  } finally {
    progress.stop();
  }
}

/** Adds to every replay that failed the attempt that says why; none when its delivery's retention ended meanwhile. */
async function explain(
  { redis, keys }: Store,
  tickets: readonly ReplayTicket[],
  results: ReadonlyMap<string, ReplayResult>,
): Promise<ReadonlyMap<string, ReplayOutcome>> {
  const failed = tickets.filter(({ delivery }) => results.get(delivery) === 'failed');
  const records = await readDeliveries(
    redis,
    keys,
    failed.map(({ delivery }) => delivery),
  );
  const attempts = new Map(records.map(({ id, attempts: all }) => [id, all]));
  return new Map(
    tickets.map((ticket) => {
      const result = results.get(ticket.delivery) ?? 'open';
      const since = (result === 'failed' ? attempts.get(ticket.delivery) : undefined)?.filter(
        ({ number, trigger }) =>
          number > ticket.attemptsBefore && (ticket.mode === 'restart' || trigger === 'replay'),
      );
      const attempt = since?.find(({ outcome }) => outcome === 'failed') ?? since?.at(-1);
      return [ticket.delivery, { result, ...(attempt && { attempt }) }];
    }),
  );
}

/** A refusal outranks a failed replay: it is what the caller can do something about before asking again. */
function exitCode(
  { refused, stopped }: BulkReplayResult,
  outcomes: ReadonlyMap<string, ReplayOutcome> | undefined,
): number {
  const allSent = [...(outcomes?.values() ?? [])].every(({ result }) => result === 'sent');
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
  const refused: Refusal[] = [];
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
  printRehearsal(context, deliveries, refused);
  return Math.max(EXIT.ok, ...refused.map(({ error }) => exitCodeOf(error)));
}
