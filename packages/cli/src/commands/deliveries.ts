import type { DeliveryStatus } from '@breakwater/contracts/delivery';
import { blameFor } from '@breakwater/contracts/failure-class';
import { whyNoDelivery } from '@breakwater/core/dead-letters';
import type { DeliveryQuery } from '@breakwater/core/delivery-walk';
import { listDeliveries } from '@breakwater/core/list-deliveries';
import { readPolicy } from '@breakwater/store/gates';
import { isPaused } from '@breakwater/store/endpoints';
import { readDelivery, readSample } from '@breakwater/store/deliveries';
import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import {
  addEventFilters,
  classOption,
  endpointOption,
  type FilterOptions,
  knownSources,
  queryOf,
  statusesOption,
  targetOption,
} from '../filters.ts';
import { cursorOption, limitOption, type PageOptions } from '../options.ts';
import { withStore } from '../store-access.ts';
import { expungeCommand } from './delivery-expunge.ts';
import { replayCommand } from './delivery-replay.ts';
import { remediesOf, renderDeliveries, renderDelivery } from './delivery-view.ts';

/** `deliveries list|show|replay|expunge`. */
export function deliveriesCommand(program: Command, context: CliContext): void {
  const deliveries = program
    .command('deliveries')
    .description('one event to one destination each, with all attempts');
  const listCommand = deliveries
    .command('list')
    .description('deliveries, newest first')
    .addOption(statusesOption('may be repeated (default: all)'))
    .addOption(endpointOption())
    .addOption(targetOption())
    .addOption(classOption());
  addEventFilters(listCommand, context, 'made (with a status: that took it)')
    .addOption(limitOption())
    .addOption(cursorOption())
    .action(context.action((options: ListOptions) => list(context, options)));
  deliveries
    .command('show')
    .description('one delivery: its attempts, what to do about them, the last answer, the next attempt')
    .argument('<id>')
    .action(context.action((id: string) => show(context, id)));
  replayCommand(deliveries, context);
  expungeCommand(deliveries, context);
}

interface ListOptions extends FilterOptions, PageOptions {
  readonly status?: readonly DeliveryStatus[];
}

const list = (context: CliContext, { status, ...options }: ListOptions): Promise<void> =>
  printDeliveries(context, options, status && { status });

/** Prints a page of the deliveries that the filters choose, and how to ask for the next one. */
export async function printDeliveries(
  context: CliContext,
  options: FilterOptions & PageOptions,
  more: Pick<DeliveryQuery, 'status'> | undefined,
): Promise<void> {
  const { limit, cursor } = options;
  const { deliveries, nextCursor } = await withStore(context, async (store) => {
    const query = { ...(await queryOf(context, store, options)), ...more };
    const page = { limit, ...(cursor !== undefined && { cursor }) };
    return listDeliveries(store.redis, store.keys, query, knownSources(context), page);
  });
  context.print({ deliveries, nextCursor }, () =>
    [
      ...(deliveries.length > 0
        ? [renderDeliveries(deliveries, context.io.now())]
        : [nextCursor === null ? 'No deliveries.' : 'No deliveries among those that were looked at.']),
      ...(nextCursor === null ? [] : ['', `There may be more: --cursor ${nextCursor}`]),
    ].join('\n'),
  );
}

async function show(context: CliContext, id: string): Promise<void> {
  const { operator } = context.globals();
  const { delivery, paused, sample, policy } = await withStore(context, async ({ redis, keys }) => {
    const found = await readDelivery(redis, keys, operator, id);
    if (!found) throw await whyNoDelivery({ redis, keys }, operator, id);
    return {
      delivery: found,
      sample: await readSample(redis, keys, id),
      paused: await isPaused(redis, keys, found.destination.id),
      policy: await readPolicy(redis, keys, found.destination.id),
    };
  });
  // One without a schedule of its own follows that of the services, which may be started with another than this command.
  const scheduleLength = policy.scheduleMs?.length;
  const result = {
    ...delivery,
    destination: { ...delivery.destination, paused },
    scheduleLength: scheduleLength ?? null,
    remedies: Object.fromEntries(remediesOf(delivery)),
    blame: Object.fromEntries([...remediesOf(delivery).keys()].map((name) => [name, blameFor(name) ?? null])),
    sample: sample ?? null,
  };
  context.print(result, () => renderDelivery(delivery, paused, sample, scheduleLength, context.io.now()));
}
