import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Source } from '@breakwater/contracts/source-config';
import type { Acceptor } from '@breakwater/core/accept';
import type { RefusedRequest } from '@breakwater/core/quarantine';
import type { SourceRecorder } from '@breakwater/core/source-recorder';
import type { ErrorCode } from '@breakwater/runtime/errors';
import type { WebhookOutcome } from '@breakwater/runtime/metrics-ingest';
import { consentOf, type Handshake, handshakeOf } from '@breakwater/signatures/handshake';
import { headerLines, mediaTypeOf, type SignedRequest } from '@breakwater/signatures/headers';
import { locateEvents } from '@breakwater/signatures/locate';
import { secretsUsed, type Verifier } from '@breakwater/signatures/verify';
import { takeAll } from './accept-delivery.ts';
import { errorReply, handshakeReply, refusalReply, type Reply, unavailableReply } from './answers.ts';
import { inflate } from './inflate.ts';
import { type BodyBudget, encodingOf, readBody } from './raw-body.ts';

/** A configured source, ready to judge requests. */
export interface KnownSource {
  readonly name: string;
  readonly source: Source;
  /** Methods of its events and challenges. */
  readonly methods: readonly string[];
  readonly verify: Verifier;
}

/** How one webhook ended: its answer, how it counts, and what the log should say about it. */
export interface Received {
  readonly reply: Reply;
  /** Undefined for a challenge or a ping, which is no webhook. */
  readonly outcome?: WebhookOutcome;
  readonly code?: ErrorCode;
  readonly message?: string;
  readonly error?: unknown;
  readonly eventId?: string;
}

export interface ReceiveDeps {
  readonly acceptor: Pick<Acceptor, 'accept'>;
  readonly budget: BodyBudget;
  /** Told of every verified request, also of those that end without an event. */
  readonly recorder?: Pick<SourceRecorder, 'saw'> | undefined;
  readonly now: () => number;
  /** Keeps a refused request for `quarantine retry`; never waits, never throws. */
  readonly quarantine?: ((refused: RefusedRequest) => void) | undefined;
}

export type TimedRequest = SignedRequest & { readonly nowMs: number };

/**
 * One webhook, from its headers to its answer: read, verify, find the events, accept. Undefined when the client has
 * gone. Once the signature is verified and the ids are found, nothing on our side may become a 4xx.
 */
export async function receive(
  deps: ReceiveDeps,
  known: KnownSource,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Received | undefined> {
  const receivedAt = deps.now();
  const { source } = known;
  if (request.method === 'OPTIONS') return answerOptions(source, request);
  const refusal = refuseByHeaders(source, request);
  if (refusal !== undefined) return refusal;
  const read = await readBody(request, response, {
    maxBytes: source.maxBodyBytes,
    budget: deps.budget,
    encodings: source.request.encodings,
  });
  switch (read.kind) {
    case 'aborted':
      return undefined;
    case 'too_large':
      return tooLarge(source);
    case 'encoding_unsupported':
      return refuse(source, 'encoding_unsupported', 'The body has a content encoding. Send it without one.');
    case 'overloaded':
      return overloaded(source);
    case 'read':
      try {
        const bytes = {
          headers: headerLines(request.rawHeaders),
          body: read.bytes,
          nowMs: receivedAt,
          method: request.method ?? 'POST',
          query: queryOf(request.url ?? ''),
        };
        return encodingOf(request) === undefined
          ? await judge(deps, known, bytes)
          : await judgeCompressed(deps, known, bytes);
      } finally {
        deps.budget.give(read.bytes.length);
      }
  }
}

/** A CloudEvents sender asks whether it may deliver. No event comes of it, and its body is not read. */
function answerOptions(source: Source, request: IncomingMessage): Received {
  const headers = consentOf(source, headerLines(request.rawHeaders));
  if (headers === undefined) return handshake({ kind: 'refused' });
  return { reply: { status: 200, contentType: 'text/plain; charset=utf-8', body: '', headers } };
}

/** What can be refused before the body is read. */
function refuseByHeaders(source: Source, request: IncomingMessage): Received | undefined {
  const { contentTypes } = source.request;
  if (contentTypes === undefined || request.method === 'GET') return undefined;
  return contentTypes.includes(mediaTypeOf(request.headers['content-type'] ?? ''))
    ? undefined
    : refuse(
        source,
        'request_invalid',
        `This source takes the content types ${contentTypes.join(', ')} only.`,
      );
}

/** As received: what is signed may be in it, byte for byte. */
const queryOf = (target: string): string => {
  const at = target.indexOf('?');
  return at === -1 ? '' : target.slice(at + 1);
};

/** Inflates, bounded by the source's limit. Where the received bytes are signed, strangers' are never inflated. */
async function judgeCompressed(
  deps: ReceiveDeps,
  known: KnownSource,
  request: TimedRequest,
): Promise<Received> {
  const { source } = known;
  const isReceivedSigned = source.request.signedBytes === 'received';
  if (isReceivedSigned) {
    const verdict = known.verify(request);
    if (!verdict.ok) return refuse(source, verdict.code, verdict.message);
  }
  const inflated = await inflate(request.body, source.maxBodyBytes, deps.budget);
  switch (inflated.kind) {
    case 'too_large':
      return tooLarge(source);
    case 'corrupt':
      // What is authentic as it came can be parked as it came.
      return isReceivedSigned && source.onUnparsable === 'accept'
        ? judge(deps, known, request)
        : refuse(source, 'body_unparsable', 'The body is not valid gzip.');
    case 'overloaded':
      return overloaded(source);
    case 'inflated':
      try {
        const { bytes } = inflated;
        return await judge(
          deps,
          known,
          isReceivedSigned ? { ...request, decoded: bytes } : { ...request, body: bytes },
        );
      } finally {
        deps.budget.give(source.maxBodyBytes);
      }
  }
}

async function judge(deps: ReceiveDeps, known: KnownSource, request: TimedRequest): Promise<Received> {
  const { source } = known;
  const open = handshake(handshakeOf(source, request, false));
  if (open !== undefined) return open;
  const verdict = known.verify(request);
  if (!verdict.ok) return turnAway(deps, known, request, verdict);
  const received = await take(deps, known, request);
  deps.recorder?.saw({
    source: known.name,
    secrets: secretsUsed(verdict),
    accepted: received.outcome === 'accepted',
    at: request.nowMs,
  });
  return received;
}

/** Refuses a request, and keeps it for a person who mends a secret or a setting. */
function turnAway(
  deps: ReceiveDeps,
  known: KnownSource,
  request: TimedRequest,
  { code, message }: { readonly code: ErrorCode; readonly message: string },
): Received {
  deps.quarantine?.({ name: known.name, source: known.source, request, code, message });
  return refuse(known.source, code, message);
}

/** What a verified request brings. */
async function take(deps: ReceiveDeps, known: KnownSource, request: TimedRequest): Promise<Received> {
  const { source } = known;
  const closed = handshake(handshakeOf(source, request, true));
  if (closed !== undefined) return closed;
  if (!source.request.methods.some((method) => method === request.method))
    return refuse(source, 'request_invalid', `This source takes no events by ${request.method}.`);
  const located = locateEvents(source, request);
  if (!located.ok) return turnAway(deps, known, request, located);
  try {
    const taken = await takeAll(deps.acceptor, known, request, located.events);
    return taken.kind === 'taken' ? taken : { ...unavailable(source, taken.message), ...taken.about };
  } catch (error) {
    const [first] = located.events;
    const about = first === undefined ? {} : { eventId: first.eventId };
    return { ...unavailable(source, 'The event could not be stored. Send it again later.'), error, ...about };
  }
}

function handshake(found: Exclude<Handshake, { kind: 'none' }>): Received;
function handshake(found: Handshake): Received | undefined;
function handshake(found: Handshake): Received | undefined {
  switch (found.kind) {
    case 'none':
      return undefined;
    case 'answer':
      return { reply: handshakeReply(found.answer) };
    case 'refused':
      return {
        reply: {
          ...errorReply('request_invalid', 'The challenge does not carry what was agreed.'),
          status: 403,
        },
        outcome: 'rejected',
        code: 'request_invalid',
        message: 'a challenge does not carry what was agreed',
      };
  }
}

/** A refusal of ours becomes a 503, whatever asked for it: providers do not repeat a 4xx. */
const refuse = (source: Source, code: ErrorCode, message: string): Received =>
  code === 'unavailable'
    ? unavailable(source, message)
    : { reply: refusalReply(source, code, message), outcome: 'rejected', code, message };

const unavailable = (source: Source, message: string): Received => ({
  reply: unavailableReply(source, message),
  outcome: 'unavailable',
  code: 'unavailable',
  message,
});

const tooLarge = (source: Source): Received =>
  refuse(
    source,
    'body_too_large',
    `The body is larger than the ${source.maxBodyBytes} bytes that this source takes.`,
  );

const overloaded = (source: Source): Received =>
  unavailable(source, 'Too many bodies are being received at this moment. Send the request again later.');
