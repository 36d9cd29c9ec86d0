import { hashId, newId } from '@breakwater/contracts/ids';
import type { Source } from '@breakwater/contracts/source-config';
import type { AcceptResult, Acceptor, IncomingEvent } from '@breakwater/core/accept';
import type { WebhookOutcome } from '@breakwater/runtime/metrics-ingest';
import type { LocatedItem } from '@breakwater/signatures/locate';
import { replayKeyOf } from '@breakwater/signatures/signed-content';
import { acknowledgement, batchAcknowledgement } from './answers.ts';
import type { KnownSource, Received, TimedRequest } from './receive.ts';

export type Taken =
  | ({ readonly kind: 'taken' } & Received)
  /** At least one event is not stored; the provider repeats them all, and those that are become duplicates. */
  | { readonly kind: 'unavailable'; readonly message: string; readonly about: { readonly eventId?: string } };

/** The content type only describes the body; a header may be 16 KiB, and it is stored with every event. */
const CONTENT_TYPE_MAX = 256;

/** Enough to share Redis' fsyncs; so few that other webhooks, on the same connection, get their turn in between. */
const AT_ONCE = 32;

/** Accepts every event of a delivery. May throw what the acceptor throws. */
export async function takeAll(
  acceptor: Pick<Acceptor, 'accept'>,
  { name, source }: KnownSource,
  request: TimedRequest,
  located: readonly LocatedItem[],
): Promise<Taken> {
  const events = located.map((item, index) => eventOf(name, source, request, item, index));
  const results: AcceptResult[] = [];
  for (let from = 0; from < events.length; from += AT_ONCE) {
    const some = events.slice(from, from + AT_ONCE);
    results.push(...(await Promise.all(some.map(async (event) => acceptor.accept(event)))));
    if (results.some(({ kind }) => kind === 'unavailable')) break; // the others would wait for the same Redis
  }
  const failed = results.findIndex(({ kind }) => kind === 'unavailable');
  const trouble = results[failed];
  if (trouble?.kind === 'unavailable') {
    const eventId = events[failed]?.eventId;
    return { kind: 'unavailable', message: trouble.message, about: eventId === undefined ? {} : { eventId } };
  }
  const acknowledged = events.map(({ eventId }, index) => ({
    eventId,
    deduped: results[index]?.kind !== 'accepted',
  }));
  const [only] = acknowledged;
  if (source.batch === undefined && only !== undefined) {
    const reply = acknowledgement(source, only.eventId, only.deduped);
    return { kind: 'taken', reply, outcome: outcomeOf(results), eventId: only.eventId };
  }
  return {
    kind: 'taken',
    reply: batchAcknowledgement(source, acknowledged),
    ...(results.length > 0 && { outcome: outcomeOf(results) }),
    ...(only && { eventId: only.eventId }),
  };
}

function eventOf(
  name: string,
  source: Source,
  request: TimedRequest,
  { document, undeduped, ...event }: LocatedItem,
  index: number,
): IncomingEvent {
  const item = source.batch === undefined || event.parked ? undefined : index;
  const signedBytes = replayKeyOf(source, request, document, item);
  return {
    operator: source.operator,
    source: name,
    ...event,
    // Each delivery is an event of its own, so each has an id of its own.
    ...((source.dedupe === 'none' || undeduped) && { eventId: `${event.eventId}-${newId()}` }),
    contentType: (request.headers['content-type']?.[0] ?? '').slice(0, CONTENT_TYPE_MAX),
    bytes: document.bytes,
    receivedAt: request.nowMs,
    // Of this source: two sources that share a secret may be sent the same bytes, and mean two events.
    ...(signedBytes === undefined ? {} : { replayKey: hashId(source.operator, name, signedBytes) }),
  };
}

/** A delivery counts once, as the most telling of its events: something new, then what is not like the first. */
const TELLING = ['accepted', 'replayed', 'differs'] as const;

function outcomeOf(results: readonly AcceptResult[]): WebhookOutcome {
  const kinds = new Set(
    results.map((result) => (result.kind === 'duplicate' && result.differs ? 'differs' : result.kind)),
  );
  return TELLING.find((kind) => kinds.has(kind)) ?? 'deduped';
}
