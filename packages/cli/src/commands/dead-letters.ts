import { listDeadLetterGroups } from '@breakwater/core/dead-letter-groups';
import { checkResolvable, resolveDeadLetter } from '@breakwater/core/dead-letters';
import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import {
  addEventFilters,
  classOption,
  endpointOption,
  type FilterOptions,
  formerReasonOption,
  reasonIsOption,
  targetOption,
} from '../filters.ts';
import {
  checkReason,
  cursorOption,
  dryRunOption,
  limitOption,
  type PageOptions,
  yesOption,
} from '../options.ts';
import { renderTable } from '../output/table.ts';
import { formatTime } from '../output/time.ts';
import { withDeliveries, withStore } from '../store-access.ts';
import { bulkReplayCommand } from './dead-letter-replay.ts';
import { printDeliveries } from './deliveries.ts';

/** `dead-letters list|groups|replay|resolve`: deliveries that were given up. */
export function deadLettersCommand(program: Command, context: CliContext): void {
  const deadLetters = program.command('dead-letters').description('deliveries that were given up');
  const listCommand = deadLetters
    .command('list')
    .description('dead letters, newest first')
    .addOption(endpointOption())
    .addOption(targetOption())
    .addOption(classOption())
    .addOption(reasonIsOption())
    .addOption(formerReasonOption());
  addEventFilters(listCommand, context, 'given up')
    .addOption(limitOption())
    .addOption(cursorOption())
    .action(context.action((options: ListOptions) => list(context, options)));
  deadLetters
    .command('groups')
    .description('how many dead letters each destination has of each failure class, the most first')
    .addOption(limitOption())
    .addOption(cursorOption())
    .action(context.action((options: PageOptions) => groups(context, options)));
  bulkReplayCommand(deadLetters, context);
  deadLetters
    .command('resolve')
    .description('close a dead letter that a person settled otherwise; no attempt follows')
    .argument('<id>')
    .requiredOption('--reason <text>', 'how it was settled, for the audit log')
    .option('--posted', 'the ERP holds a document under its reference, made by hand: count it')
    .addOption(dryRunOption())
    .addOption(yesOption())
    .action(context.action((id: string, options: ResolveOptions) => resolve(context, id, options)));
}

interface ListOptions extends FilterOptions, PageOptions {
  /** See formerReasonOption. */
  readonly reason?: string;
}

async function list(context: CliContext, { reason, ...options }: ListOptions): Promise<void> {
  const filters = { ...(reason !== undefined && { reasonIs: reason }), ...options };
  await printDeliveries(context, filters, { status: 'dead_letter' });
}

async function groups(context: CliContext, page: PageOptions): Promise<void> {
  const { operator } = context.globals();
  const found = await withStore(context, ({ redis, keys }) =>
    listDeadLetterGroups(redis, keys, { operator }, page),
  );
  const now = context.io.now();
  context.print(found, () =>
    found.groups.length === 0
      ? 'No dead letters.'
      : [
          renderTable(
            [
              { title: 'DESTINATION' },
              { title: 'CLASS' },
              { title: 'COUNT' },
              { title: 'OLDEST' },
              { title: 'NEWEST' },
            ],
            found.groups.map(({ destination, failureClass, count, oldestAt, newestAt }) => [
              destination.name,
              failureClass ?? '-',
              String(count),
              formatTime(oldestAt, now),
              formatTime(newestAt, now),
            ]),
          ),
          ...(found.nextCursor === null ? [] : [`More: --cursor ${found.nextCursor}`]),
        ].join('\n'),
  );
}

interface ResolveOptions {
  readonly reason: string;
  readonly posted?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

async function resolve(
  context: CliContext,
  delivery: string,
  { reason: text, posted = false, dryRun, yes }: ResolveOptions,
): Promise<void> {
  const { operator } = context.globals();
  const reason = checkReason(text);
  if (dryRun) await withStore(context, (store) => checkResolvable(store, operator, delivery, posted));
  else
    await withDeliveries(context, async (deliveries) => {
      const { destination, event } = await checkResolvable(deliveries, operator, delivery, posted);
      const what = `event ${event.id} of ${event.source} to ${destination.name}`;
      await context.confirm(
        `Resolve ${delivery}, ${what}? No attempt follows, and none can be asked for.`,
        yes,
      );
      await resolveDeadLetter(deliveries, { operator, delivery, reason, actor: context.actor, posted });
    });
  context.print(
    { ok: true, ...(dryRun && { dryRun }), delivery, status: dryRun ? 'dead_letter' : 'resolved' },
    () => (dryRun ? `${delivery} would be resolved. Nothing was changed.` : `${delivery} is resolved.`),
  );
}
