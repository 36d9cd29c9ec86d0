import { isUtf8 } from 'node:buffer';
import type { Delivery } from '@breakwater/contracts/delivery';
import { deliveryId, eventKey } from '@breakwater/contracts/ids';
import { printableLines } from '@breakwater/core/printable';
import { expired } from '@breakwater/core/replay-check';
import { AppError } from '@breakwater/runtime/errors';
import { readDeliveries } from '@breakwater/store/deliveries';
import { type EventRecord, readEvent } from '@breakwater/store/events';
import { isExpired } from '@breakwater/store/retention';
import type { Command } from 'commander';
import type { CliContext } from '../context.ts';
import { checkSource, readableConfig } from '../filters.ts';
import { count } from '../output/count.ts';
import { renderFields, renderTable } from '../output/table.ts';
import { formatTime } from '../output/time.ts';
import { withDeliveries, withStore } from '../store-access.ts';
import { renderDeliveries } from './delivery-view.ts';
import { fanOutCommand } from './event-fan-out.ts';
import { publishCommand } from './event-publish.ts';

/** `events show|publish|fan-out`. */
export function eventsCommand(program: Command, context: CliContext): void {
  const events = program.command('events').description('accepted events');
  events
    .command('show')
    .description('one event and its deliveries')
    .argument('<source>', 'a source of the configuration, or api')
    .argument('<event-id>')
    .option('--body', 'its body too, which may hold personal data')
    .action(
      context.action((source: string, eventId: string, options: { body?: boolean }) =>
        show(context, source, eventId, options.body ?? false),
      ),
    );
  events
    .command('parked')
    .description(
      'accepted events of all operators that this version cannot read; they are kept until one can',
    )
    .action(context.action(() => parked(context)));
  publishCommand(events, context);
  fanOutCommand(events, context);
}

async function parked(context: CliContext): Promise<void> {
  const found = await withDeliveries(context, ({ maintenance }) => maintenance.parkedEvents());
  context.print({ parked: found, nextOffset: null }, () =>
    found.length === 0
      ? 'No event is parked.'
      : `${renderTable(
          [{ title: 'JOB' }, { title: 'FAILED' }, { title: 'WHY', max: 100 }],
          found.map(({ job, failedAt, why }) => [job, formatTime(failedAt, context.io.now()), why]),
        )}\n\nRun the version that wrote them, or a newer one: dispatchers then take them up by themselves.`,
  );
}

async function show(context: CliContext, source: string, eventId: string, withBody: boolean): Promise<void> {
  const { operator } = context.globals();
  const { event, deliveries } = await withStore(context, async ({ redis, keys }) => {
    const key = eventKey(operator, source, eventId);
    const found = await readEvent(redis, keys, key);
    if (!found) {
      if (await isExpired(redis, keys, key)) throw expired(`event ${eventId} of source ${source}`);
      const config = readableConfig(context);
      if (config) checkSource(config, source);
      throw new AppError(
        'not_found',
        `No event ${eventId} of source ${source} belongs to operator ${operator}. It was not accepted, or waits for its fan-out by the dispatcher.`,
      );
    }
    const ids = found.plan.map(({ d }) => deliveryId(found.key, d));
    return { event: found, deliveries: await readDeliveries(redis, keys, ids) };
  });
  const { body, plan, ...facts } = event;
  const result = {
    ...facts,
    bodyBytes: body.length,
    unrouted: plan.length === 0,
    ...(withBody && { body: encode(body) }),
    deliveries,
  };
  context.print(result, () => render(event, deliveries, withBody, context.io.now()));
}

const encode = (body: Buffer) =>
  isUtf8(body)
    ? { encoding: 'utf8', text: body.toString('utf8') }
    : { encoding: 'base64', text: body.toString('base64') };

function render(event: EventRecord, deliveries: readonly Delivery[], withBody: boolean, now: number): string {
  const facts = renderFields([
    ['event', event.eventId],
    ['source', event.source],
    ['operator', event.operator],
    ['type', event.type || '-'],
    ['entity', event.entity || '-'],
    ['received', formatTime(event.receivedAt, now)],
    ...(event.occurredAt === undefined ? [] : [['occurred', formatTime(event.occurredAt, now)] as const]),
    ['body', `${count(event.body.length, 'byte')}, ${event.contentType || 'no content type'}`],
  ]);
  const { encoding, text } = encode(event.body);
  return [
    facts,
    event.plan.length === 0
      ? 'Unrouted: no route or endpoint wanted it. Correct the configuration, then: events fan-out'
      : renderDeliveries(deliveries, now),
    ...(withBody
      ? [
          `Body (${encoding}):\n${printableLines(text)
            .split('\n')
            .map((line) => `  | ${line}`)
            .join('\n')}`,
        ]
      : []),
  ].join('\n\n');
}
