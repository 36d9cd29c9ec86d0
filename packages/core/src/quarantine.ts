import { hashBytes, hashId, newId } from '@breakwater/contracts/ids';
import type { Source } from '@breakwater/contracts/source-config';
import { type ErrorCode, messageOf } from '@breakwater/runtime/errors';
import type { Logger } from '@breakwater/runtime/logger';
import { QUARANTINE_REASONS, type QuarantineReason } from '@breakwater/runtime/metrics-ingest';
import { handshakeOf } from '@breakwater/signatures/handshake';
import type { SignedRequest } from '@breakwater/signatures/headers';
import { keptRequest } from '@breakwater/signatures/kept-request';
import { locateEvents } from '@breakwater/signatures/locate';
import { createVerifier } from '@breakwater/signatures/verify';
import { closeRedis, connectRedis, type Redis } from '@breakwater/store/connection';
import { createKeyspace, type Keyspace } from '@breakwater/store/keys';
import { type QuarantineEntry, releaseQuarantine, writeQuarantine } from '@breakwater/store/quarantine';
import { acknowledgedId, type Acceptor } from './accept.ts';
import { incomingEvents } from './incoming.ts';

/** A request that ingest refused. */
export interface RefusedRequest {
  readonly name: string;
  readonly source: Source;
  readonly request: SignedRequest & { readonly nowMs: number };
  readonly code: ErrorCode;
  readonly message: string;
}

export interface Quarantine {
  /** Returns at once and never throws; whether the request is kept is best effort. */
  readonly keep: (refused: RefusedRequest) => void;
  readonly close: () => Promise<void>;
}

const MAX_BODY_BYTES = 64 * 1024;
/**
 * Writes under way at one time, those of senders who know a secret apart: a flood of refusals must cost Redis no more than
 * this, its answers nothing, and the refusals that matter not their place.
 */
const MAX_IN_FLIGHT = 4;

/**
 * Keeps refused requests in Redis, on a connection of its own so that events never wait behind them. `notReady`: reasons
 * why Redis takes no events; nothing is kept meanwhile.
 */
export function openQuarantine(options: {
  readonly redisUrl: string;
  readonly keyPrefix: string;
  readonly logger: Logger;
  readonly notReady: () => readonly string[];
  readonly onKept?: (source: string, reason: QuarantineReason) => void;
}): Quarantine {
  const keys = createKeyspace(options.keyPrefix);
  const redis = connectRedis(options.redisUrl, 'producer', options.logger);
  const inFlight = { verified: 0, unverified: 0 };
  return {
    keep(refused) {
      const kind = isVerified(refused.code) ? 'verified' : 'unverified';
      if (inFlight[kind] >= MAX_IN_FLIGHT || redis.status !== 'ready' || options.notReady().length > 0)
        return;
      const entry = entryOf(refused);
      if (entry === undefined) return;
      inFlight[kind] += 1;
      writeQuarantine(redis, keys, entry, kind === 'verified')
        .then(() => options.onKept?.(entry.source, entry.code))
        .catch((error: unknown) =>
          options.logger.debug({ source: entry.source, reason: messageOf(error) }, 'a refusal was not kept'),
        )
        .finally(() => (inFlight[kind] -= 1));
    },
    close: () => closeRedis(redis),
  };
}

const isKept = (code: ErrorCode): code is QuarantineReason =>
  QUARANTINE_REASONS.some((reason) => reason === code);

function entryOf({
  name,
  source,
  request,
  code,
  message,
}: RefusedRequest): (QuarantineEntry & { readonly code: QuarantineReason }) | undefined {
  if (!isKept(code) || request.body.length > MAX_BODY_BYTES) return undefined;
  const kept = keptRequest(source, request);
  if (kept === undefined) return undefined;
  return {
    id: entryIdOf(name, source, request, kept),
    operator: source.operator,
    source: name,
    receivedAt: request.nowMs,
    code,
    message,
    method: request.method ?? 'POST',
    ...kept,
    body: request.body,
  };
}

/** The signature is judged first, so whoever is refused for another reason knows a secret, or replays who does. */
const isVerified = (code: ErrorCode): boolean => code !== 'signature_invalid';

/**
 * The same request is one entry, however often it is repeated: else one captured request could push out all others. Where
 * each delivery is an event of its own, so is each refusal.
 */
function entryIdOf(
  name: string,
  source: Source,
  { method = 'POST', body }: SignedRequest,
  { headers, query }: Pick<QuarantineEntry, 'headers' | 'query'>,
): string {
  if (source.dedupe.policy !== 'event' || source.onMissingId === 'undeduped') return newId();
  return hashId('quarantine', name, method, query, JSON.stringify(Object.entries(headers)), hashBytes(body));
}

export type RetryResult =
  | { readonly kind: 'accepted'; readonly events: readonly { eventId: string; deduped: boolean }[] }
  /** A challenge or a ping: it is no event, and is let go. */
  | { readonly kind: 'handshake' }
  /** Still not right; the entry stays. */
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'unavailable'; readonly message: string };

/** The request as it was received: a signed time is judged by that moment, not by the one of the retry. */
export const requestOf = (entry: QuarantineEntry): SignedRequest & { readonly nowMs: number } => ({
  headers: entry.headers,
  body: entry.body,
  method: entry.method,
  query: entry.query,
  nowMs: entry.receivedAt,
});

/**
 * Judges an entry by the source as it is configured today, and takes its events through the accept step, so that
 * whatever was accepted meanwhile is a duplicate. The entry is removed, audited, only after that; a retry that is cut
 * off in between can be repeated. Without `doors` it only judges.
 */
export async function retryQuarantined(
  entry: QuarantineEntry,
  source: Source,
  doors: RetryDoors | undefined,
): Promise<RetryResult> {
  const request = requestOf(entry);
  const verdict = createVerifier(source)(request);
  if (!verdict.ok) return { kind: 'refused', code: verdict.code, message: verdict.message };
  if (handshakeOf(source, request, true).kind !== 'none') {
    if (doors !== undefined) await releaseQuarantine(doors.redis, doors.keys, entry, doors.by);
    return { kind: 'handshake' };
  }
  if (!source.request.methods.some((method) => method === request.method))
    return {
      kind: 'refused',
      code: 'request_invalid',
      message: `The source takes no events by ${entry.method}.`,
    };
  const located = locateEvents(source, request);
  if (!located.ok) return { kind: 'refused', code: located.code, message: located.message };
  // Ids that are made here are made of the entry, so that a second retry finds the first one's events.
  const fresh = (index: number): string => hashId('quarantine', entry.id, String(index));
  const events = incomingEvents(entry.source, source, request, located.events, fresh);
  const taken: { eventId: string; deduped: boolean }[] = [];
  for (const event of events) {
    const result = await doors?.acceptor.accept(event);
    if (result?.kind === 'unavailable') return { kind: 'unavailable', message: result.message };
    taken.push({
      eventId: acknowledgedId(event.eventId, result),
      deduped: result !== undefined && result.kind !== 'accepted',
    });
  }
  if (doors !== undefined) await releaseQuarantine(doors.redis, doors.keys, entry, doors.by);
  return { kind: 'accepted', events: taken };
}

export interface RetryDoors {
  readonly acceptor: Pick<Acceptor, 'accept'>;
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly by: { readonly actor: string; readonly reason: string };
}
