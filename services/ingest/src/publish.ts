import type { IncomingMessage, ServerResponse } from 'node:http';
import { RESERVED_SOURCE } from '@breakwater/contracts/reserved';
import { newId } from '@breakwater/contracts/ids';
import { PUBLISH_LIMITS } from '@breakwater/contracts/publish';
import type { Acceptor } from '@breakwater/core/accept';
import type { ErrorCode } from '@breakwater/runtime/errors';
import type { LimitedLines } from '@breakwater/runtime/log-limit';
import type { Logger } from '@breakwater/runtime/logger';
import type { IngestMetrics, WebhookOutcome } from '@breakwater/runtime/metrics-ingest';
import { acceptAll, type Settled } from './accept-all.ts';
import { errorReply, type Reply, RETRY_LATER } from './answers.ts';
import type { BearerVerdict } from './bearer.ts';
import { answerTo } from './publish-answer.ts';
import { readPublished } from './published.ts';
import { type BodyBudget, readBody } from './raw-body.ts';

export interface PublishDeps {
  readonly acceptor: Pick<Acceptor, 'accept'>;
  readonly budget: BodyBudget;
  readonly now: () => number;
  readonly authorize: (request: IncomingMessage) => Promise<BearerVerdict>;
  readonly metrics: IngestMetrics;
  readonly logger: Logger;
  readonly lines: LimitedLines;
}

/** How one request to publish ended, and what of it goes into metrics and log. */
interface Published {
  readonly reply: Reply;
  readonly outcomes: readonly WebhookOutcome[];
  readonly code?: ErrorCode;
}

/**
 * `POST /v1/events`: the token, the bytes, then every event through the same accept step as a webhook. Undefined when the
 * client has gone.
 */
export async function publish(
  deps: PublishDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Reply | undefined> {
  const startedAt = performance.now();
  const published = await receive(deps, request, response);
  if (published === undefined) return undefined;
  const { reply, outcomes, code } = published;
  for (const outcome of outcomes) deps.metrics.received(RESERVED_SOURCE, outcome);
  if (code !== undefined) deps.metrics.refused(RESERVED_SOURCE, code);
  if (code === undefined) {
    deps.metrics.acknowledged(RESERVED_SOURCE, (performance.now() - startedAt) / 1_000);
    return reply;
  }
  const requestId = newId();
  response.setHeader('x-request-id', requestId);
  const line = { requestId, source: RESERVED_SOURCE, code };
  // The acceptor says once that it cannot accept; in an outage one line for each request would bury that one.
  if (code === 'unavailable') deps.logger.debug(line, 'published events were sent away');
  else deps.lines.warn(`${RESERVED_SOURCE}: ${code}`, line, 'published events were refused');
  return reply;
}

async function receive(
  deps: PublishDeps,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<Published | undefined> {
  const receivedAt = deps.now();
  if (request.method !== 'POST')
    return refusal('method_not_allowed', 'Events are published by POST only.', { allow: 'POST' });
  const authorized = await deps.authorize(request);
  if (!authorized.ok) return refusal(authorized.code, authorized.message, headersOf(authorized.code));
  const read = await readBody(request, response, {
    maxBytes: PUBLISH_LIMITS.requestBytes,
    budget: deps.budget,
  });
  switch (read.kind) {
    case 'aborted':
      return undefined;
    case 'too_large':
      return refusal(
        'body_too_large',
        `The body is larger than ${PUBLISH_LIMITS.requestBytes} bytes. Publish the events in several requests.`,
      );
    case 'encoding_unsupported':
      return refusal('encoding_unsupported', 'The body has a content encoding. Send it without one.');
    case 'overloaded':
      return refusal('unavailable', 'Too many bodies are being received at this moment.', RETRY_LATER);
    case 'read':
      try {
        return await judge(deps, read.bytes, { operator: authorized.operator, receivedAt });
      } finally {
        deps.budget.give(read.bytes.length);
      }
  }
}

/** RFC 6750 asks for the scheme where a token is missing, wrong, or not enough. */
const headersOf = (code: ErrorCode): Readonly<Record<string, string>> =>
  code === 'unavailable' ? RETRY_LATER : { 'www-authenticate': 'Bearer' };

async function judge(
  deps: PublishDeps,
  body: Buffer,
  from: { readonly operator: string; readonly receivedAt: number },
): Promise<Published> {
  const parsed = readPublished(body);
  if (parsed.kind === 'refused') return refusal(parsed.code, parsed.message);
  const settled = await acceptAll(parsed.events, deps.acceptor.accept, from, (error) =>
    deps.lines.error(
      `${RESERVED_SOURCE}: internal`,
      { source: RESERVED_SOURCE, err: error },
      'an event could not be accepted',
    ),
  );
  noteDiffering(deps.lines, settled);
  return { ...answerTo(settled), outcomes: settled.map(outcomeOf) };
}

const outcomeOf = ({ result }: Settled): WebhookOutcome => {
  switch (result.kind) {
    case 'accepted':
    case 'replayed':
    case 'unavailable':
      return result.kind;
    case 'duplicate':
      return result.differs ? 'differs' : 'deduped';
    case 'refused':
      return 'rejected';
  }
};

/** Ids that one log line names at most; a batch may hold a thousand. */
const NAMED_MAX = 10;

function noteDiffering(lines: LimitedLines, settled: readonly Settled[]): void {
  const differing = settled.filter((each) => outcomeOf(each) === 'differs');
  if (differing.length === 0) return;
  const eventIds = differing.slice(0, NAMED_MAX).map(({ eventId }) => eventId);
  lines.warn(
    `${RESERVED_SOURCE}: differs`,
    { source: RESERVED_SOURCE, outcome: 'differs', count: differing.length, eventIds },
    'a duplicate is not like the first',
  );
}

/** The whole request is refused: nothing was stored. */
const refusal = (
  code: ErrorCode,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Published => ({
  reply: errorReply(code, message, headers),
  outcomes: [code === 'unavailable' ? 'unavailable' : 'rejected'],
  code,
});
