import { isUtf8 } from 'node:buffer';
import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { eventKey, hashBytes, newId } from '@breakwater/contracts/ids';
import { encodeBody, type EventJob } from '@breakwater/contracts/jobs';
import { messageOf } from '@breakwater/runtime/errors';
import { limitLines } from '@breakwater/runtime/log-limit';
import type { Logger } from '@breakwater/runtime/logger';
import type { Redis } from '@breakwater/store/connection';
import { createKeyspace, type Keyspace } from '@breakwater/store/keys';
import { claimReplayGuard, type ReplayGuard } from '@breakwater/store/replay-guard';
import { createLargeLane, LARGE_BYTES, type Lane, moreTimeMs, openLane } from './accept-lane.ts';
import { watchCapacity } from './capacity.ts';
import { RememberedIds } from './remembered-ids.ts';

/** A verified event on its way in. */
export interface IncomingEvent {
  readonly operator: string;
  readonly source: string;
  readonly eventId: string;
  readonly type: string;
  readonly entity: string;
  readonly contentType: string;
  readonly bytes: Buffer;
  /** ms since the epoch. */
  readonly receivedAt: number;
  /** ms since the epoch; where the sender says when it happened. */
  readonly occurredAt?: number;
  /** Hash of the signed bytes; set when the event id is not covered by the signature. */
  readonly replayKey?: string;
  /** The body could not be read: the event is kept, and stays unrouted until a person fans it out. */
  readonly parked?: true;
  /** How long its id is remembered, where not as long as the deployment says. */
  readonly dedupeMs?: number;
  readonly coalesce?: Coalescing;
}

/** How a thin event is merged with one that waits. */
export interface Coalescing {
  /** Equal for notifications that may be merged: those of one id with the same bytes. */
  readonly claim: string;
  /** The event id ends in it, and no other's does. */
  readonly fresh: string;
  /** How long the event is held back for more of its kind. */
  readonly windowMs: number;
}

export type AcceptResult =
  /** Durably queued by this very call. */
  | { readonly kind: 'accepted' }
  /** Accepted before. `differs`: the body is not the one that was accepted. `eventId`: of the event it was merged into. */
  | { readonly kind: 'duplicate'; readonly differs: boolean; readonly eventId?: string }
  /** The same signed bytes came before under another, unsigned event id; `eventId` is the one of the event that they are. */
  | { readonly kind: 'replayed'; readonly eventId?: string | undefined }
  /** Nothing is promised; the sender must send again. */
  | { readonly kind: 'unavailable'; readonly message: string };

export interface Acceptor {
  /** Never throws, and answers within 2 s; above 1 MiB, which takes Redis longer to store, within 250 ms more for each. */
  readonly accept: (event: IncomingEvent) => Promise<AcceptResult>;
  /** Why events are refused at present; empty when they are not. */
  readonly notReady: () => readonly string[];
  /** Are Redis' settings known, and good? Also false where weaker ones are tolerated. */
  readonly durable: () => boolean;
  /** Waits until it is known whether Redis keeps what it takes, or cannot be asked; at most `timeoutMs`. */
  readonly settled: (timeoutMs: number) => Promise<void>;
  /** Is it known whether there is room? For callers that could fill Redis before the first look. */
  readonly capacityKnown: () => boolean;
  readonly close: () => Promise<void>;
}

export interface AcceptorOptions {
  readonly redisUrl: string;
  readonly keyPrefix: string;
  readonly durability: 'strict' | 'relaxed';
  readonly ingest: BreakwaterConfig['ingest'];
  readonly logger: Logger;
}

/**
 * A sender gets its answer within 2 s whatever Redis does; the rest is for reading the request and writing the answer. A large
 * body may take longer (`moreTimeMs`), as its upload did.
 */
const ANSWER_WITHIN_MS = 1_800;
/** How long replicas may take; below the time-out of a command, which would hide the reason. */
const WAIT_MS = 1_000;

/** Only events with an unsigned id have bytes to claim. */
const claimBytes = async (
  redis: Redis,
  keys: Keyspace,
  { replayKey, eventId }: IncomingEvent,
  key: string,
  ttlMs: number,
): Promise<ReplayGuard> =>
  replayKey === undefined
    ? { kind: 'ours' }
    : claimReplayGuard(redis, keys, replayKey, { key, id: eventId }, ttlMs);

const unavailable = (message: string): AcceptResult => ({ kind: 'unavailable', message });

/**
 * The accept step. One atomic Redis command claims the event id and queues the event, so a crash at any point
 * loses nothing acknowledged and strands nothing. Every job gets a fresh id that also carries a hash of the body: the id
 * that owns the claim comes back, which tells a duplicate from our own resent command, and a differing body from a repeat.
 */
export function createAcceptor(options: AcceptorOptions): Acceptor {
  const { ingest, logger } = options;
  const lines = limitLines(logger);
  const keys = createKeyspace(options.keyPrefix);
  const laneOptions = {
    redisUrl: options.redisUrl,
    keys,
    relaxed: options.durability === 'relaxed',
    logger,
  };
  const main = openLane(laneOptions);
  const { redis, durability } = main;
  const capacity = watchCapacity(redis, keys, ingest, logger);
  const remembered = new RememberedIds(ingest.rememberedIds);
  const forget = (): void => remembered.clear(); // another Redis may answer next, one that has never heard of them
  redis.on('close', forget);
  const large = createLargeLane(laneOptions, forget);
  const steps = { keys, ingest, remembered };

  const notReady = (): string[] => {
    if (redis.status !== 'ready') return ['Redis is not reachable'];
    if (!durability.trusted()) return [...durability.weaknesses()];
    return [...capacity.overload()];
  };

  const store = async (claim: Claim, withinMs: number): Promise<AcceptResult> => {
    if (claim.event.bytes.length <= LARGE_BYTES) return queueOver(main, steps, claim);
    const entered = await large.enter(withinMs);
    if (entered === undefined) return unavailable('other large events are being stored');
    try {
      return await queueOver(entered.lane, steps, claim);
    } finally {
      entered.leave(); // also long after its sender was told to come again: until then Redis is busy with it
    }
  };

  return {
    notReady,
    durable: () => durability.weaknesses().length === 0,
    settled: (timeoutMs) => durability.settled(timeoutMs),
    capacityKnown: () => capacity.known(),
    async accept(event) {
      const key = eventKey(event.operator, event.source, event.eventId);
      const bodyHash = hashBytes(event.bytes).slice(0, BODY_HASH_LENGTH);
      if (event.replayKey === undefined) {
        const known = remembered.get(key);
        if (known !== undefined) return { kind: 'duplicate', differs: known !== bodyHash };
      }
      const reasons = notReady();
      if (reasons[0] !== undefined) return unavailable(reasons[0]);
      try {
        const withinMs = ANSWER_WITHIN_MS + moreTimeMs(event.bytes.length);
        return await within(withinMs, store({ event, key, bodyHash }, withinMs));
      } catch (error) {
        lines.warn(
          event.source,
          { source: event.source, eventId: event.eventId, reason: messageOf(error) },
          'event not accepted',
        );
        return unavailable('the event could not be stored');
      }
    },
    async close() {
      capacity.close();
      await large.close();
      await main.close();
    },
  };
}

interface Claim {
  readonly event: IncomingEvent;
  readonly key: string;
  readonly bodyHash: string;
}

interface StepDeps {
  readonly keys: Keyspace;
  readonly ingest: AcceptorOptions['ingest'];
  readonly remembered: RememberedIds;
}

/** Claims the id of an event and queues it over one connection; resolves when Redis is known to keep it. */
async function queueOver(
  { redis, durability, producer }: Lane,
  { keys, ingest, remembered }: StepDeps,
  { event, key, bodyHash }: Claim,
): Promise<AcceptResult> {
  const moreMs = moreTimeMs(event.bytes.length);
  const ttlMs = event.dedupeMs ?? ingest.dedupe;
  const guard = await claimBytes(redis, keys, event, key, ttlMs);
  if (guard.kind === 'busy')
    return unavailable('the same signed request is being accepted under another event id');
  const jobId = `${event.coalesce?.fresh ?? newId()}_${bodyHash}`;
  const dedupe = { id: event.coalesce?.claim ?? key, ttlMs };
  const owner =
    guard.kind === 'replayed'
      ? ''
      : await producer.add(jobOf(event), jobId, dedupe, event.coalesce?.windowMs);
  // The connection that answered, perhaps not the one that was asked first. What follows holds for that one alone.
  const epoch = durability.epoch();
  const { waitReplicas } = ingest;
  if (waitReplicas > 0 && (await redis.wait(waitReplicas, WAIT_MS + moreMs)) < waitReplicas)
    return unavailable('too few replicas have the event');
  await durability.settled(ANSWER_WITHIN_MS + moreMs);
  if (!durability.trusted() || durability.epoch() !== epoch)
    return unavailable('Redis answered, but its durability is not established');
  if (guard.kind === 'replayed') return guard;
  // A claim that coalesces is not remembered: it ends elsewhere, when the event goes to fan-out.
  if (event.coalesce === undefined) remembered.add(key, owner.slice(owner.indexOf('_') + 1));
  return owner === jobId ? { kind: 'accepted' } : duplicateOf(event, bodyHash, owner);
}

/**
 * The id by which an event that was taken, or was there, can be found: not always the one that came, since thin events
 * are merged and replays come under ids of their own.
 */
export const acknowledgedId = (eventId: string, result: AcceptResult | undefined): string =>
  (result?.kind === 'duplicate' || result?.kind === 'replayed' ? result.eventId : undefined) ?? eventId;

/** `owner`: the job that owns the claim. An event that was merged into has the same beginning, and that job's own end. */
function duplicateOf({ eventId, coalesce }: IncomingEvent, bodyHash: string, owner: string): AcceptResult {
  if (coalesce === undefined) return { kind: 'duplicate', differs: !owner.endsWith(`_${bodyHash}`) };
  const mergedInto = eventId.slice(0, -coalesce.fresh.length) + owner.slice(0, owner.indexOf('_'));
  return { kind: 'duplicate', differs: false, eventId: mergedInto };
}

function jobOf(event: IncomingEvent): EventJob {
  const { bytes, replayKey: _replayKey, dedupeMs: _dedupeMs, coalesce, occurredAt, ...facts } = event;
  const body = encodeBody(bytes, isUtf8(bytes));
  if (coalesce !== undefined) return { v: 3, ...facts, ...body, coalesced: true };
  return occurredAt === undefined ? { v: 1, ...facts, ...body } : { v: 2, ...facts, occurredAt, ...body };
}

const BODY_HASH_LENGTH = 11; // 65 bits: tells bodies of one event apart, and keeps the dedupe record short

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`Redis did not answer within ${ms} ms`)), ms);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
