import type { DeliveryStatus } from '@breakwater/contracts/delivery';
import { type ExpungeChoice, type Expunged, expungeSamples } from '@breakwater/core/expunge';
import { AppError } from '@breakwater/runtime/errors';
import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import {
  classOption,
  type DestinationOptions,
  destinationOf,
  endpointOption,
  statusesOption,
  targetOption,
} from '../filters.ts';
import { checkReason, dryRunOption, yesOption } from '../options.ts';
import { count } from '../output/count.ts';
import { startProgress } from '../output/progress.ts';
import { type Store, withStore } from '../store-access.ts';

interface ExpungeOptions extends DestinationOptions {
  readonly all?: boolean;
  readonly status?: readonly DeliveryStatus[];
  readonly class?: string;
  readonly reason: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** `deliveries expunge`: removes stored answers, and nothing else. */
export function expungeCommand(deliveries: Command, context: CliContext): void {
  deliveries
    .command('expunge')
    .description(
      'remove the stored answers (response samples) of these deliveries, or of all that the filters choose',
    )
    .argument('[ids...]')
    .option('--all', 'every delivery of the operator that the filters below let through')
    .addOption(statusesOption('only those in this status; may be repeated'))
    .addOption(endpointOption())
    .addOption(targetOption())
    .addOption(classOption())
    .requiredOption('--reason <text>', 'why, for the audit log')
    .addOption(dryRunOption())
    .addOption(yesOption())
    .action(context.action((ids: string[], options: ExpungeOptions) => expunge(context, ids, options)));
}

async function expunge(
  context: CliContext,
  ids: readonly string[],
  options: ExpungeOptions,
): Promise<number> {
  const reason = checkReason(options.reason);
  checkChoice(ids, options);
  const { operator } = context.globals();
  const dryRun = options.dryRun ?? false;
  const result = await withStore(context, async (store) => {
    const choice = options.all ? await choiceOf(context, store, options) : { ids };
    if (!dryRun)
      await context.confirm(
        options.all
          ? 'Remove the stored answers of all deliveries that these filters choose? They cannot be brought back.'
          : `Remove the stored answers of ${count(ids.length, 'delivery', 'deliveries')}? They cannot be brought back.`,
        options.yes,
      );
    let progress: ReturnType<typeof startProgress> | undefined;
    try {
      return await expungeSamples(store, {
        operator,
        choice,
        reason,
        dryRun,
        actor: context.actor,
        signal: context.io.signal,
        onProgress: (looked, of) => (progress ??= startProgress(context.io, 'expunging', of)).update(looked),
      });
    } finally {
      progress?.stop();
    }
  });
  print(context, result, dryRun);
  return result.stopped ? EXIT.failure : EXIT.ok;
}

function checkChoice(
  ids: readonly string[],
  { all, status, endpoint, target, class: name }: ExpungeOptions,
): void {
  if (all && ids.length > 0)
    throw new AppError('request_invalid', 'Name deliveries, or say --all, not both.');
  if (!all && ids.length === 0) throw new AppError('request_invalid', 'Name the deliveries, or say --all.');
  if (!all && [status, endpoint, target, name].some((filter) => filter !== undefined))
    throw new AppError('request_invalid', 'Filters choose among all deliveries: add --all and name none.');
}

const choiceOf = async (
  context: CliContext,
  store: Store,
  options: ExpungeOptions,
): Promise<ExpungeChoice> => ({
  ...(await destinationOf(context, store, options)),
  ...(options.status && { statuses: [...new Set(options.status)] }),
  ...(options.class !== undefined && { failureClass: options.class }),
});

function print(context: CliContext, result: Expunged, dryRun: boolean): void {
  const { deliveries, inFlight, without, stopped } = result;
  context.print({ ok: !stopped, ...(dryRun && { dryRun }), expunged: deliveries.length, ...result }, () =>
    [
      dryRun
        ? `${count(deliveries.length, 'stored answer')} would be removed. Nothing was changed.`
        : `${count(deliveries.length, 'stored answer')} removed; attempts and statuses stay.`,
      ...(without > 0 ? [`Without one: ${without}.`] : []),
      ...(inFlight.length > 0
        ? [`In flight, so an answer may still be stored (run this again then): ${inFlight.join(', ')}`]
        : []),
      ...(stopped ? ['Stopped before the end: run it again to go on.'] : []),
    ].join('\n'),
  );
}
