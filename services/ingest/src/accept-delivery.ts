import { acknowledgedId, type AcceptResult, type Acceptor } from '@breakwater/core/accept';
import { incomingEvents } from '@breakwater/core/incoming';
import type { WebhookOutcome } from '@breakwater/runtime/metrics-ingest';
import { isBatch } from '@breakwater/signatures/items';
import type { LocatedItem } from '@breakwater/signatures/locate';
import { acknowledgement, batchAcknowledgement } from './answers.ts';
import type { KnownSource, Received, TimedRequest } from './receive.ts';

export type Taken =
  | ({ readonly kind: 'taken' } & Received)
  /** At least one event is not stored; the provider repeats them all, and those that are become duplicates. */
  | { readonly kind: 'unavailable'; readonly message: string; readonly about: { readonly eventId?: string } };

/** Enough to share Redis' fsyncs; so few that other webhooks, on the same connection, get their turn in between. */
const AT_ONCE = 32;

/** Accepts every event of a delivery. May throw what the acceptor throws. */
export async function takeAll(
  acceptor: Pick<Acceptor, 'accept'>,
  { name, source }: KnownSource,
  request: TimedRequest,
  located: readonly LocatedItem[],
): Promise<Taken> {
  const events = incomingEvents(name, source, request, located);
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
  const acknowledged = events.map(({ eventId }, index) => {
    const result = results[index];
    return { eventId: acknowledgedId(eventId, result), deduped: result?.kind !== 'accepted' };
  });
  const [only] = acknowledged;
  if (!isBatch(source, request) && only !== undefined) {
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

/** A delivery counts once, as the most telling of its events: something new, then what is not like the first. */
const TELLING = ['accepted', 'replayed', 'differs'] as const;

function outcomeOf(results: readonly AcceptResult[]): WebhookOutcome {
  const kinds = new Set(
    results.map((result) => (result.kind === 'duplicate' && result.differs ? 'differs' : result.kind)),
  );
  return TELLING.find((kind) => kinds.has(kind)) ?? 'deduped';
}
