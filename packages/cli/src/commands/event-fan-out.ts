import { createFanOut } from '@breakwater/core/fan-out';
import { contentOfJob } from '@breakwater/core/event-content';
import { planEvent } from '@breakwater/core/plan';
import { eachUnrouted, toEventJob } from '@breakwater/core/unrouted';
import { eventKey } from '@breakwater/contracts/ids';
import { createErpTargets } from '@breakwater/erp/targets';
import { createHttpClient } from '@breakwater/http/client';
import { AppError } from '@breakwater/runtime/errors';
import { listEndpoints } from '@breakwater/store/endpoints';
import { type EventRecord, readEvent } from '@breakwater/store/events';
import { type Command, Option } from 'commander';
import type { CliContext } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { checkSource } from '../filters.ts';
import { dryRunOption, wholeNumber } from '../options.ts';
import { count, isOrAre, wasOrWere } from '../output/count.ts';
import { startProgress } from '../output/progress.ts';
import { renderTable } from '../output/table.ts';
import { type Deliveries, withDeliveries } from '../store-access.ts';

interface FanOutOptions {
  readonly source?: string;
  readonly event?: string;
  readonly limit?: number;
  readonly dryRun?: boolean;
}

export function fanOutCommand(events: Command, context: CliContext): void {
  events
    .command('fan-out')
    .description('deliver the unrouted events, oldest first, as the present configuration and endpoints say')
    .option('--source <name>', 'only events of this source')
    .option(
      '--event <id>',
      'only this event of --source, also when it was fanned out before: deliveries of its plan that are not there are made',
    )
    .addOption(
      new Option('--limit <n>', 'look at most at so many (default: all)').argParser(wholeNumber(1, 1e9)),
    )
    .addOption(dryRunOption())
    .action(context.action((options: FanOutOptions) => fanOut(context, options)));
}

interface FannedOut {
  readonly source: string;
  readonly eventId: string;
  readonly type: string;
  readonly deliveries: number;
}

async function fanOut(context: CliContext, options: FanOutOptions): Promise<number> {
  return withDeliveries(context, async (deliveries) => {
    const { dryRun = false } = options;
    const one = createOne(deliveries, dryRun);
    const filter = {
      operator: context.globals().operator,
      ...(options.source !== undefined && { source: options.source }),
    };
    const routed: FannedOut[] = [];
    let seen = 0;
    const limit = options.limit ?? Number.POSITIVE_INFINITY;
    // How many are the operator's is not known before they are read; the count of all is an upper bound.
    const progress = startProgress(
      context.io,
      'fanning out',
      Math.min(limit, await deliveries.redis.zcard(deliveries.keys.unrouted)),
    );
    try {
      for await (const event of chosen(context, deliveries, options, filter)) {
        if (seen === limit || context.io.signal.aborted) break;
        const made = await one(toEventJob(event));
        seen += 1;
        progress.update(seen);
        if (made > 0)
          routed.push({ source: event.source, eventId: event.eventId, type: event.type, deliveries: made });
      }
    } finally {
      progress.stop();
    }
    // After looking: events of a source that was removed may still wait here.
    if (seen === 0 && options.source !== undefined) checkSource(deliveries.config, options.source);
    const stopped = context.io.signal.aborted;
    const stillUnrouted = seen - routed.length;
    context.print(
      {
        ok: !stopped,
        ...(dryRun && { dryRun }),
        fannedOut: routed.length,
        stillUnrouted,
        stopped,
        events: routed,
      },
      () => say(routed, stillUnrouted, options, stopped),
    );
    return stopped ? EXIT.failure : EXIT.ok;
  });
}

async function* chosen(
  context: CliContext,
  { redis, keys, config }: Deliveries,
  { source, event: eventId }: FanOutOptions,
  filter: Parameters<typeof eachUnrouted>[2],
): AsyncGenerator<EventRecord> {
  if (eventId === undefined) return yield* eachUnrouted(redis, keys, filter);
  if (source === undefined)
    throw new AppError('request_invalid', 'Say which source the event is of (--source <name>).');
  const event = await readEvent(redis, keys, eventKey(context.globals().operator, source, eventId));
  if (!event) {
    checkSource(config, source);
    throw new AppError(
      'not_found',
      `No event ${eventId} of source ${source} belongs to operator ${context.globals().operator}.`,
    );
  }
  yield event;
}

/** Fans one event out, or only plans it. Resolves to the number of its deliveries. */
function createOne(deliveries: Deliveries, dryRun: boolean): ReturnType<typeof createFanOut> {
  const { redis, keys, config } = deliveries;
  // Planning needs the targets' mappings and never calls an ERP, so this client is never used and holds nothing open.
  const targets = createErpTargets(config, createHttpClient({}));
  if (!dryRun) {
    const fanOutEvent = createFanOut({ ...deliveries, targets });
    return (job) => fanOutEvent(job, true);
  }
  return async (job) =>
    (await planEvent(contentOfJob(job), config, targets, await listEndpoints(redis, keys, job.operator)))
      .length;
}

function say(
  routed: readonly FannedOut[],
  stillUnrouted: number,
  { dryRun }: FanOutOptions,
  stopped: boolean,
): string {
  const lines = [
    dryRun
      ? `${count(routed.length, 'event')} would be fanned out. Nothing was changed.`
      : `${count(routed.length, 'event')} ${wasOrWere(routed.length)} fanned out.`,
    ...(stillUnrouted > 0
      ? [`${count(stillUnrouted, 'event')} ${isOrAre(stillUnrouted)} still wanted by no route or endpoint.`]
      : []),
    ...(stopped ? ['Stopped before all were looked at; run it again to go on.'] : []),
  ];
  if (routed.length > 0) {
    lines.push(
      '',
      renderTable(
        [{ title: 'EVENT', max: 60 }, { title: 'TYPE', max: 30 }, { title: 'DELIVERIES' }],
        routed.map((event) => [`${event.source}/${event.eventId}`, event.type, String(event.deliveries)]),
      ),
    );
  }
  return lines.join('\n');
}
