import type { Attempt, Delivery } from '@breakwater/contracts/delivery';
import { formatDuration } from '@breakwater/contracts/duration';
import { type Blame, blameFor, remedyFor } from '@breakwater/contracts/failure-class';
import { OWN_WORDS, type ResponseSample } from '@breakwater/contracts/attempt-result';
import { printableLines } from '@breakwater/core/printable';
import { count } from '../output/count.ts';
import { renderFields, renderTable } from '../output/table.ts';
import { formatTime } from '../output/time.ts';

/** Reason and class are words of ours and at most 40 together; only the code, which comes from outside, can be cut. */
const LAST_MAX = 60;

/** A page of deliveries. Ids are never cut: people copy them into the next command. */
export function renderDeliveries(deliveries: readonly Delivery[], now: number): string {
  return renderTable(
    [
      { title: 'DELIVERY' },
      { title: 'STATUS' },
      { title: 'EVENT', max: 36 },
      { title: 'TYPE', max: 24 },
      { title: 'TRIES' },
      { title: 'LAST', max: LAST_MAX },
      { title: 'CHANGED' },
      { title: 'NEXT' },
    ],
    deliveries.map((delivery) => [
      delivery.id,
      delivery.inFlight ? `${delivery.status}, in flight` : delivery.status,
      `${delivery.event.source}/${delivery.event.id}`,
      delivery.event.type,
      String(delivery.attempts.length),
      lastOf(delivery),
      formatTime(delivery.statusAt, now),
      formatTime(delivery.nextAttemptAt, now),
    ]),
  );
}

function lastOf({ attempts, reason }: Delivery): string {
  const last = attempts.at(-1);
  const why = last ? whyOf(last) : '-';
  return reason === null ? why : `${reason}: ${why}`;
}

/** Class and code of an attempt: `http_5xx 503`. */
export const whyOf = (attempt: Pick<Attempt, 'class' | 'code'>): string =>
  attempt.code === '' ? attempt.class : `${attempt.class} ${attempt.code}`;

export type Sample = ResponseSample & { readonly attempt: number };

/** Everything about one delivery: the facts, its attempts as a timeline, what to do about them, the last answer. */
export function renderDelivery(
  delivery: Delivery,
  paused: boolean,
  sample: Sample | undefined,
  scheduleLength: number | undefined,
  now: number,
): string {
  const { event, destination } = delivery;
  const facts = renderFields([
    ['delivery', delivery.id],
    [
      'status',
      `${delivery.status}${delivery.reason === null ? '' : ` (${delivery.reason})`}${delivery.inFlight ? ', an attempt is in flight' : ''}`,
    ],
    ['since', formatTime(delivery.statusAt, now)],
    ['next attempt', delivery.nextAttemptAt === null ? 'none' : formatTime(delivery.nextAttemptAt, now)],
    ['event', `${event.source}/${event.id}`],
    ['type', event.type || '-'],
    [
      'destination',
      `${destination.kind === 'erp' ? 'ERP target ' : ''}${destination.name}${paused ? ', paused' : ''}`,
    ],
    ['reference', delivery.reference],
    ['receipt', delivery.receipt ?? '-'],
    ['operator', delivery.operator],
    ['created', formatTime(delivery.createdAt, now)],
    ['lease', leaseOf(delivery, now)],
    ['fence', `attempt ${delivery.fence}`],
    ['open replay', delivery.openReplay ?? 'none'],
    [
      'used',
      `${count(delivery.scheduleMade, 'scheduled attempt')}${scheduleLength === undefined ? '' : ` of ${scheduleLength}`}, ${count(delivery.replaysMade, 'replay')}`,
    ],
  ]);
  return [facts, renderTimeline(delivery, now), renderRemedies(delivery), renderSample(sample)]
    .filter((part) => part !== '')
    .join('\n\n');
}

function leaseOf({ lease }: Delivery, now: number): string {
  if (lease === null) return 'none: no attempt is in flight';
  const over = lease.until <= now ? ', over: the attempt is about to be closed as interrupted' : '';
  return `attempt ${lease.attempt} (${lease.trigger}), until ${formatTime(lease.until, now)}${over}`;
}

function renderTimeline({ attempts }: Delivery, now: number): string {
  if (attempts.length === 0) return 'No attempt has ended yet.';
  return renderTable(
    [
      { title: '#' },
      { title: 'BEGAN' },
      { title: 'TRIGGER' },
      { title: 'OUTCOME' },
      { title: 'CLASS' },
      { title: 'CODE' },
      { title: 'TOOK' },
      { title: 'LATE' },
      { title: 'LATE RESULT' },
    ],
    attempts.map(
      ({
        number,
        startedAt,
        trigger,
        outcome,
        class: failureClass,
        code,
        durationMs,
        lateMs,
        lateResult,
      }) => [
        String(number),
        formatTime(startedAt, now),
        trigger,
        outcome,
        failureClass,
        code || '-',
        formatDuration(durationMs),
        formatDuration(lateMs),
        lateResult ? `${lateResult.class} ${lateResult.code}, ${formatTime(lateResult.at, now)}` : '',
      ],
    ),
  );
}

const WHOSE_TURN: Readonly<Record<Blame, string>> = {
  us: 'our turn',
  network: "the network's turn",
  subscriber: "the receiver's turn",
};

/** Each class once, however often it came. */
function renderRemedies(delivery: Delivery): string {
  return [...remediesOf(delivery)]
    .map(([failureClass, remedy]) => {
      const blame = blameFor(failureClass);
      return `${printableLines(failureClass)}: ${remedy}${blame ? ` (${WHOSE_TURN[blame]})` : ''}`;
    })
    .join('\n');
}

/** What to do about every class of failure among the attempts. */
export function remediesOf({ attempts }: Delivery): ReadonlyMap<string, string> {
  const failed = attempts.filter(({ outcome }) => outcome !== 'sent');
  return new Map(failed.map((attempt) => [attempt.class, remedyFor(attempt.class)]));
}

function renderSample(sample: Sample | undefined): string {
  if (!sample) return '';
  const own = sample.contentType === OWN_WORDS;
  const title = own
    ? `Reason of attempt ${sample.attempt}:`
    : `Answer to attempt ${sample.attempt} (${printableLines(sample.contentType || 'no content type').replaceAll('\n', ' ')}${sample.truncated ? ', cut' : ''}):`;
  // The margin keeps a receiver's text apart from ours, so that it cannot pretend to be a line of this output.
  const lines = printableLines(sample.text)
    .split('\n')
    .map((line) => `  | ${line}`);
  return [title, ...lines].join('\n');
}
