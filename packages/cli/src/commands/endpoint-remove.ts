import type { EndpointChange } from '@breakwater/core/endpoints';
import { countOpen, removeEndpoint } from '@breakwater/core/remove-endpoint';
import type { Command } from 'commander';
import { isAttended } from '../confirm.ts';
import type { CliContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { dryRunOption, yesOption } from '../options.ts';
import { count } from '../output/count.ts';
import { startProgress } from '../output/progress.ts';
import { type Store, withDeliveries, withStore } from '../store-access.ts';
import { ifVersionOption } from './endpoint-update.ts';

interface RemoveOptions {
  readonly ifVersion?: number;
  readonly reason?: string;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

export function removeCommand(endpoints: Command, context: CliContext): void {
  endpoints
    .command('remove')
    .description(
      'remove an endpoint for good: new events stop at once, its open deliveries become dead letters',
    )
    .argument('<id>')
    .addOption(ifVersionOption())
    .option('--reason <text>', 'why, for the audit log')
    .addOption(dryRunOption())
    .addOption(yesOption())
    .action(context.action((id: string, options: RemoveOptions) => remove(context, id, options)));
}

async function remove(context: CliContext, id: string, options: RemoveOptions): Promise<number> {
  const { ifVersion, reason } = options;
  const { operator } = context.globals();
  const change = {
    operator,
    id,
    actor: context.actor,
    ...(ifVersion !== undefined && { ifVersion }),
    ...(reason !== undefined && { reason }),
  };
  if (options.dryRun) {
    const { open, changed } = await withStore(context, (store) => countOpen(store, change));
    context.print({ ok: true, dryRun: true, id, changed, deadLettered: open }, () =>
      changed || open > 0
        ? `${id} would be removed and ${deliveriesOf(open)} dead-lettered. Nothing was changed.`
        : `${id} is removed already; nothing to do.`,
    );
    return EXIT.ok;
  }
  return withDeliveries(context, async (deliveries) => {
    const { redis, keys } = deliveries;
    await confirmRemoval(context, deliveries, change, options.yes);
    const progress = startProgress(
      context.io,
      'removing',
      await redis.zcard(keys.byDestination(operator, id)),
    );
    const removal = await removeEndpoint(deliveries, change, {
      signal: context.io.signal,
      onProgress: progress.update,
    }).finally(progress.stop);
    const { changed, deadLettered, finished } = removal;
    context.print({ ok: finished, id, ...removal }, () => {
      if (!finished)
        return `${id} is removed. Stopped after ${deadLettered} of its deliveries: run it again, or leave the rest to the sweeper.`;
      if (!changed && deadLettered === 0) return `${id} is removed already; nothing to do.`;
      return `${id} is removed, ${deliveriesOf(deadLettered)} dead-lettered (endpoint_removed).`;
    });
    return finished ? EXIT.ok : EXIT.failure;
  });
}

/** Counting takes a while with many deliveries, so it is done only where somebody is asked. */
async function confirmRemoval(
  context: CliContext,
  store: Store,
  change: EndpointChange,
  yes: boolean | undefined,
): Promise<void> {
  if (yes || !isAttended(context.io)) return;
  const { open } = await countOpen(store, change);
  await context.confirm(`Remove ${change.id} for good? ${deliveriesOf(open)} would be dead-lettered.`, yes);
}

const deliveriesOf = (number: number): string => count(number, 'delivery', 'deliveries');
