import { parseDurationMs } from '@breakwater/contracts/duration';
import { type DeepState, type Finding, noFindings } from '@breakwater/contracts/reconciliation';
import { reconcile } from '@breakwater/core/reconcile';
import { formatCursor, parseCursor, type ReconcileCursor } from '@breakwater/core/reconcile-cursor';
import { addDeep } from '@breakwater/core/reconcile-rounds';
import { createErpTargets, type ReadyErpTarget } from '@breakwater/erp/targets';
import { createHttpClient } from '@breakwater/http/client';
import { AppError } from '@breakwater/runtime/errors';
import { redisNowMs } from '@breakwater/store/clock';
import { type Command, Option } from 'commander';
import type { CliContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { checkTarget } from '../filters.ts';
import { parseTimeOrAge, wholeNumber } from '../options.ts';
import { startProgress } from '../output/progress.ts';
import { type Deliveries, withDeliveries } from '../store-access.ts';
import { renderReconciliation } from './reconcile-view.ts';

interface ReconcileOptions {
  readonly target?: string;
  readonly all?: boolean;
  readonly since: (nowMs: number) => number;
  readonly until?: (nowMs: number) => number;
  readonly deep?: boolean;
  readonly limit: number;
  readonly cursor?: ReconcileCursor;
}

/** What one target came to. `cursor`: it was ended before the end. */
export interface Reconciled {
  readonly target: string;
  readonly since: number;
  readonly until: number;
  readonly events: number;
  readonly deliveries: number;
  readonly open: number;
  readonly deep: DeepState;
  readonly counts: ReturnType<typeof noFindings>;
  readonly findings: readonly Finding[];
  /** Findings that are of other operators' events, by operator. */
  readonly others: Readonly<Record<string, number>>;
  readonly cursor: string | null;
}

const SINCE = '24h';

/** `reconcile`: every accepted event of a time range against its posting. */
export function reconcileCommand(program: Command, context: CliContext): void {
  program
    .command('reconcile')
    .description(
      'compare accepted events with their postings at an ERP target, and name what does not agree. Changes nothing',
    )
    .addOption(new Option('--target <name>', 'this ERP target').conflicts('all'))
    .option('--all', 'every ERP target of the configuration')
    .addOption(
      new Option('--since <age or time>', 'events recorded, and documents made, since then')
        .default((now: number) => now - (parseDurationMs(SINCE) ?? 0), SINCE)
        .argParser(parseTimeOrAge),
    )
    .addOption(new Option('--until <age or time>', 'and until then (default: now)').argParser(parseTimeOrAge))
    .option('--deep', "compare with the ERP's own documents, too")
    .addOption(
      new Option('--limit <n>', 'end behind the page of records in which so many findings are reached')
        .default(1_000)
        .argParser(wholeNumber(1, 100_000)),
    )
    .addOption(
      new Option('--cursor <cursor>', 'go on where an earlier call ended (its range and its --deep hold)')
        .argParser(parseCursor)
        .conflicts('all'),
    )
    .addHelpText(
      'after',
      '\nExit code 5: something was found. 1: --deep was asked for and the ERP did not answer.',
    )
    .action(context.action((options: ReconcileOptions) => run(context, options)));
}

async function run(context: CliContext, options: ReconcileOptions): Promise<number> {
  // Outside of the work with Redis: what was found before Redis went away is printed like what was found before Ctrl-C.
  const results = new Map<string, Reconciled>();
  try {
    await withDeliveries(context, async (deliveries) => {
      const client = createHttpClient({});
      try {
        for (const target of chosen(deliveries, options, client)) {
          if (context.io.signal.aborted) break;
          await reconcileTarget(context, deliveries, target, options, (result) =>
            results.set(target.name, result),
          );
        }
      } finally {
        client.close();
      }
    });
  } catch (error) {
    const { signal } = context.io;
    if (signal.aborted && error === signal.reason) return print(context, [...results.values()], true); // in a look-up
    if (!(error instanceof AppError && error.code === 'redis_unavailable')) throw error;
    if (results.size > 0) print(context, [...results.values()], true);
    throw cutOff(error, [...results.values()].at(-1)?.cursor ?? options.cursor);
  }
  return print(context, [...results.values()], context.io.signal.aborted);
}

/** Resolves to the exit code. */
function print(context: CliContext, results: readonly Reconciled[], stopped: boolean): number {
  const isFound = results.some(({ findings, others }) => findings.length + Object.keys(others).length > 0);
  const isSkipped = results.some(({ deep }) => deep.kind === 'skipped');
  context.print({ ok: !isFound && !isSkipped && !stopped, stopped, reconciliations: results }, () =>
    results.length === 0
      ? 'Stopped before anything was looked at.'
      : results.map((result) => renderReconciliation(result, context.io.now())).join('\n\n'),
  );
  if (isFound) return EXIT.findings;
  return isSkipped || stopped ? EXIT.failure : EXIT.ok;
}

/** A reconciliation changes nothing, so there is nothing to look at before it goes on. */
function cutOff(error: AppError, cursor: ReconcileCursor | string | undefined): AppError {
  const text = typeof cursor === 'object' ? formatCursor(cursor) : cursor;
  const remedy =
    text === undefined
      ? 'When it is back, run the command again: it has changed nothing.'
      : `When it is back, go on where this ended: breakwater reconcile --cursor ${text}`;
  return new AppError('redis_unavailable', error.message, { cause: error, remedy });
}

function chosen(
  { config }: Deliveries,
  { target, all, cursor }: ReconcileOptions,
  client: ReturnType<typeof createHttpClient>,
): ReadyErpTarget[] {
  const name = target ?? cursor?.target;
  if (name === undefined && all !== true)
    throw new AppError('request_invalid', 'Say which ERP target (--target <name>), or --all.');
  if (cursor && name !== cursor.target)
    throw new AppError('request_invalid', `The cursor is one of the target ${cursor.target}.`);
  if (name !== undefined) checkTarget(config, name);
  const targets = [...createErpTargets(config, client).values()];
  return targets.filter((each) => name === undefined || each.name === name);
}

async function reconcileTarget(
  context: CliContext,
  deliveries: Deliveries,
  target: ReadyErpTarget,
  options: ReconcileOptions,
  note: (result: Reconciled) => void,
): Promise<void> {
  const { redis, keys } = deliveries;
  const { operator } = context.globals();
  const now = await redisNowMs(redis);
  const since = options.cursor?.since ?? options.since(now);
  const until = options.cursor?.until ?? options.until?.(now) ?? now;
  if (since >= until) throw new AppError('request_invalid', '--since must be before --until.');
  const sums = { events: 0, deliveries: 0, open: 0 };
  const counts = noFindings();
  const findings: Finding[] = [];
  const others: Record<string, number> = {};
  let deep: DeepState = { kind: 'off' };
  const progress = startProgress(
    context.io,
    `reconciling ${target.name}`,
    await redis.zcount(keys.recorded, since, until),
  );
  try {
    const input = {
      target,
      since,
      until,
      deep: options.deep === true,
      cursor: options.cursor,
      signal: context.io.signal,
    };
    for await (const page of reconcile(deliveries, input)) {
      for (const name of ['events', 'deliveries', 'open'] as const) sums[name] += page[name];
      progress.update(sums.events);
      deep = addDeep(deep, page.deep);
      for (const finding of page.findings) {
        if (finding.operator !== undefined && finding.operator !== operator) {
          others[finding.operator] = (others[finding.operator] ?? 0) + 1;
          continue;
        }
        counts[finding.kind] += 1;
        findings.push(finding);
      }
      const cursor = page.cursor === undefined ? null : formatCursor(page.cursor);
      note({ target: target.name, since, until, ...sums, deep, counts, findings, others, cursor });
      if (findings.length >= options.limit || context.io.signal.aborted) break;
    }
  } finally {
    progress.stop();
  }
}
