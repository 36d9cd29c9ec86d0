import { DELIVERY_STATUSES, type DeliveryStatus } from '@breakwater/contracts/delivery';
import { blameFor } from '@breakwater/contracts/failure-class';
import { whyNoDelivery } from '@breakwater/core/dead-letters';
import { readPolicy } from '@breakwater/store/gates';
import { isPaused } from '@breakwater/store/endpoints';
import { listDeliveryIds, readDeliveries, readDelivery, readSample } from '@breakwater/store/deliveries';
import { type Command, Option } from 'commander';
import type { CliContext } from '../context.ts';
import {
  type DestinationOptions,
  destinationOf,
  endpointOption,
  readableConfig,
  targetOption,
} from '../filters.ts';
import { limitOption, offsetOption, oneOf } from '../options.ts';
import { withStore } from '../store-access.ts';
import { expungeCommand } from './delivery-expunge.ts';
import { replayCommand } from './delivery-replay.ts';
import { remediesOf, renderDeliveries, renderDelivery } from './delivery-view.ts';

/** `deliveries list|show|replay|expunge`. */
export function deliveriesCommand(program: Command, context: CliContext): void {
  const deliveries = program
    .command('deliveries')
    .description('one event to one destination each, with all attempts');
  deliveries
    .command('list')
    .description('deliveries, latest change first')
    .addOption(
      new Option(
        '--status <status>',
        `${DELIVERY_STATUSES.join(', ')}; may be repeated (default: all)`,
      ).argParser(oneOf(DELIVERY_STATUSES)),
    )
    .addOption(endpointOption())
    .addOption(targetOption())
    .addOption(limitOption())
    .addOption(offsetOption())
    .action(context.action((options: ListOptions) => list(context, options)));
  deliveries
    .command('show')
    .description('one delivery: its attempts, what to do about them, the last answer, the next attempt')
    .argument('<id>')
    .action(context.action((id: string) => show(context, id)));
  replayCommand(deliveries, context);
  expungeCommand(deliveries, context);
}

interface ListOptions extends DestinationOptions {
  readonly status?: readonly DeliveryStatus[];
  readonly limit: number;
  readonly offset: number;
}

async function list(context: CliContext, options: ListOptions): Promise<void> {
  const { limit, offset } = options;
  const { deliveries, more } = await withStore(context, async (store) => {
    const { redis, keys } = store;
    const filter = {
      operator: context.globals().operator,
      statuses: [...new Set(options.status ?? DELIVERY_STATUSES)],
      ...(await destinationOf(context, store, options)),
    };
    const ids = await listDeliveryIds(redis, keys, filter, offset, limit + 1);
    return { deliveries: await readDeliveries(redis, keys, ids.slice(0, limit)), more: ids.length > limit };
  });
  printPage(context, deliveries, more ? offset + limit : null);
}

/** A page of deliveries, and how to ask for the next one. */
export function printPage(
  context: CliContext,
  deliveries: Parameters<typeof renderDeliveries>[0],
  nextOffset: number | null,
): void {
  context.print({ deliveries, nextOffset }, () => {
    if (deliveries.length === 0) return 'No deliveries.';
    const table = renderDeliveries(deliveries, context.io.now());
    return nextOffset === null ? table : `${table}\n\nThere are more: --offset ${nextOffset}`;
  });
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
  // A destination without a schedule of its own follows the configuration, which looking can do without.
  const schedule = policy.scheduleMs ?? readableConfig(context)?.deliveries.retrySchedule;
  const result = {
    ...delivery,
    destination: { ...delivery.destination, paused },
    scheduleLength: schedule?.length ?? null,
    remedies: Object.fromEntries(remediesOf(delivery)),
    blame: Object.fromEntries([...remediesOf(delivery).keys()].map((name) => [name, blameFor(name) ?? null])),
    sample: sample ?? null,
  };
  context.print(result, () => renderDelivery(delivery, paused, sample, schedule?.length, context.io.now()));
}
