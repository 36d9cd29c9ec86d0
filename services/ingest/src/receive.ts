import type { IncomingMessage, ServerResponse } from 'node:http';
import { hashId } from '@breakwater/contracts/ids';
import type { Source } from '@breakwater/contracts/source-config';
import type { AcceptResult, Acceptor, IncomingEvent } from '@breakwater/core/accept';
import type { ErrorCode } from '@breakwater/runtime/errors';
import type { WebhookOutcome } from '@breakwater/runtime/metrics-ingest';
import { type HeaderLines, headerLines } from '@breakwater/signatures/headers';
import { locateEvent } from '@breakwater/signatures/locate';
import { replayKeyOf } from '@breakwater/signatures/signed-content';
import type { Verifier } from '@breakwater/signatures/verify';
import { acknowledgement, refusalReply, type Reply, unavailableReply } from './answers.ts';
import { type BodyBudget, readBody } from './raw-body.ts';

/** A configured source, ready to judge requests. */
export interface KnownSource {
  readonly name: string;
  readonly source: Source;
  readonly verify: Verifier;
}

/** How one webhook ended: its answer, how it counts, and what the log should say about it. */
export interface Received {
  readonly reply: Reply;
  readonly outcome: WebhookOutcome;
  readonly code?: ErrorCode;
  readonly message?: string;
  readonly error?: unknown;
  readonly eventId?: string;
}

export interface ReceiveDeps {
  readonly acceptor: Pick<Acceptor, 'accept'>;
  readonly budget: BodyBudget;
  readonly now: () => number;
}

/** The content type only describes the body; a header may be 16 KiB, and it is stored with every event. */
const CONTENT_TYPE_MAX = 256;

/**
 * One webhook, from its headers to its answer: read, verify, find the id, accept. Undefined when the client has gone.
 * Once the signature is verified and the id is found, nothing on our side may become a 4xx.
 */
export async function receive(
  deps: ReceiveDeps,
  known: KnownSource,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Received | undefined> {
  const receivedAt = deps.now();
  const { source } = known;
  const read = await readBody(request, response, { maxBytes: source.maxBodyBytes, budget: deps.budget });
  switch (read.kind) {
    case 'aborted':
      return undefined;
    case 'too_large':
      return refuse(
        source,
        'body_too_large',
        `The body is larger than the ${source.maxBodyBytes} bytes that this source takes.`,
      );
    case 'encoding_unsupported':
      return refuse(source, 'encoding_unsupported', 'The body has a content encoding. Send it without one.');
    case 'overloaded':
      return unavailable(
        source,
        'Too many bodies are being received at this moment. Send the request again later.',
      );
    case 'read':
      try {
        return await judge(deps, known, {
          headers: headerLines(request.rawHeaders),
          body: read.bytes,
          nowMs: receivedAt,
        });
      } finally {
        deps.budget.give(read.bytes.length);
      }
  }
}

async function judge(
  deps: ReceiveDeps,
  known: KnownSource,
  request: { readonly headers: HeaderLines; readonly body: Buffer; readonly nowMs: number },
): Promise<Received> {
  const { name, source } = known;
  const verdict = known.verify(request);
  if (!verdict.ok) return refuse(source, verdict.code, verdict.message);
  const located = locateEvent(source, request);
  if (!located.ok) return refuse(source, located.code, located.message);
  const { eventId, type, entity } = located;
  const signedBytes = replayKeyOf(source, request);
  const event: IncomingEvent = {
    operator: source.operator,
    source: name,
    eventId,
    type,
    entity,
    contentType: (request.headers['content-type']?.[0] ?? '').slice(0, CONTENT_TYPE_MAX),
    bytes: request.body,
    receivedAt: request.nowMs,
    // Of this source: two sources that share a secret may be sent the same bytes, and mean two events.
    ...(signedBytes === undefined ? {} : { replayKey: hashId(source.operator, name, signedBytes) }),
  };
  try {
    return answerTo(await deps.acceptor.accept(event), source, eventId);
  } catch (error) {
    return { ...unavailable(source, 'The event could not be stored. Send it again later.'), error, eventId };
  }
}

function answerTo(result: AcceptResult, source: Source, eventId: string): Received {
  switch (result.kind) {
    case 'accepted':
      return { reply: acknowledgement(source, eventId, false), outcome: 'accepted', eventId };
    case 'duplicate':
      return {
        reply: acknowledgement(source, eventId, true),
        outcome: result.differs ? 'differs' : 'deduped',
        eventId,
      };
    case 'replayed':
      return { reply: acknowledgement(source, eventId, true), outcome: 'replayed', eventId };
    case 'unavailable':
      return { ...unavailable(source, result.message), eventId };
  }
}

const refuse = (source: Source, code: ErrorCode, message: string): Received => ({
  reply: refusalReply(source, code, message),
  outcome: 'rejected',
  code,
  message,
});

const unavailable = (source: Source, message: string): Received => ({
  reply: unavailableReply(source, message),
  outcome: 'unavailable',
  code: 'unavailable',
  message,
});
