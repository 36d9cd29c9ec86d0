import { checkResolvable, listDeadLetters, resolveDeadLetter } from '@breakwater/core/dead-letters';
import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import {
  type DestinationOptions,
  destinationOf,
  endpointOption,
  formerReasonOption,
  reasonIsOption,
  targetOption,
} from '../filters.ts';
import { checkReason, dryRunOption, limitOption, offsetOption } from '../options.ts';
import { withDeliveries, withStore } from '../store-access.ts';
import { bulkReplayCommand } from './dead-letter-replay.ts';
import { printPage } from './deliveries.ts';

/** `dead-letters list|replay|resolve`: deliveries that were given up. */
export function deadLettersCommand(program: Command, context: CliContext): void {
  const deadLetters = program.command('dead-letters').description('deliveries that were given up');
  deadLetters
    .command('list')
    .description('dead letters, newest first')
    .addOption(endpointOption())
    .addOption(targetOption())
    .addOption(reasonIsOption())
    .addOption(formerReasonOption())
    .addOption(limitOption())
    .addOption(offsetOption())
    .action(context.action((options: ListOptions) => list(context, options)));
  bulkReplayCommand(deadLetters, context);
  deadLetters
    .command('resolve')
    .description('close a dead letter that a person settled otherwise; no attempt follows')
    .argument('<id>')
    .requiredOption('--reason <text>', 'how it was settled, for the audit log')
    .option('--posted', 'the ERP holds a document under its reference, made by hand: count it')
    .addOption(dryRunOption())
    .action(context.action((id: string, options: ResolveOptions) => resolve(context, id, options)));
}

interface ListOptions extends DestinationOptions {
  readonly reasonIs?: string;
  readonly reason?: string;
  readonly limit: number;
  readonly offset: number;
}

async function list(context: CliContext, options: ListOptions): Promise<void> {
  const { offset, limit } = options;
  const reason = options.reasonIs ?? options.reason;
  const page = await withStore(context, async (store) => {
    const filter = {
      operator: context.globals().operator,
      ...(await destinationOf(context, store, options)),
      ...(reason !== undefined && { reason }),
    };
    return listDeadLetters(store.redis, store.keys, filter, offset, limit);
  });
  printPage(context, page.deliveries, page.nextOffset);
}

interface ResolveOptions {
  readonly reason: string;
  readonly posted?: boolean;
  readonly dryRun?: boolean;
}

async function resolve(
  context: CliContext,
  delivery: string,
  { reason: text, posted = false, dryRun }: ResolveOptions,
): Promise<void> {
  const { operator } = context.globals();
  const reason = checkReason(text);
  if (dryRun) await withStore(context, (store) => checkResolvable(store, operator, delivery, posted));
  else
    await withDeliveries(context, (deliveries) =>
      resolveDeadLetter(deliveries, { operator, delivery, reason, actor: context.actor, posted }),
    );
  context.print(
    { ok: true, ...(dryRun && { dryRun }), delivery, status: dryRun ? 'dead_letter' : 'resolved' },
    () => (dryRun ? `${delivery} would be resolved. Nothing was changed.` : `${delivery} is resolved.`),
  );
}
