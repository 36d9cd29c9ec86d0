import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { newId } from '@breakwater/contracts/ids';
import { publishOpenApi } from '@breakwater/contracts/publish-openapi';
import type { PublishToken } from '@breakwater/contracts/publish-tokens';
import type { Acceptor } from '@breakwater/core/accept';
import type { TokenReader } from '@breakwater/core/token-reader';
import type { SourceRecorder } from '@breakwater/core/source-recorder';
import { AppError, type ErrorCode, messageOf } from '@breakwater/runtime/errors';
import { type LimitedLines, limitLines } from '@breakwater/runtime/log-limit';
import type { Logger } from '@breakwater/runtime/logger';
import { type IngestMetrics, UNKNOWN_SOURCE } from '@breakwater/runtime/metrics-ingest';
import { challengeMethods } from '@breakwater/signatures/handshake';
import { createVerifier } from '@breakwater/signatures/verify';
import express, { type ErrorRequestHandler } from 'express';
import { errorReply, JSON_TYPE, type Reply } from './answers.ts';
import { createBearerCheck } from './bearer.ts';
import { publish } from './publish.ts';
import { createBodyBudget } from './raw-body.ts';
import { type KnownSource, receive, type ReceiveDeps, type Received } from './receive.ts';
import { send } from './send.ts';

export interface RouterDeps {
  readonly sources: BreakwaterConfig['sources'];
  readonly acceptor: Pick<Acceptor, 'accept'>;
  readonly recorder?: Pick<SourceRecorder, 'saw'> | undefined;
  readonly metrics: IngestMetrics;
  readonly logger: Logger;
  /** Bearer tokens of POST /v1/events; without one nobody may publish. */
  readonly publishTokens?: readonly PublishToken[];
  /** Looks up tokens that were made as data. */
  readonly tokenReader?: TokenReader;
  /** True once the process is stopping: answers then ask the client to connect anew. */
  readonly isClosing: () => boolean;
  /** ms since the epoch. */
  readonly now?: () => number;
  readonly maxBufferedBytes?: number;
  readonly quarantine?: ReceiveDeps['quarantine'];
}

type Answer = (request: IncomingMessage, response: ServerResponse, reply: Reply) => void;

/** Bodies held in memory at one time: ten of the largest kind, or 256 of the default limit. */
const MAX_BUFFERED_BYTES = 256 * 1024 * 1024;

/** The routes of ingest. Throws AppError config_invalid that lists every source whose secrets cannot be used. */
export function createRouter(deps: RouterDeps): RequestListener {
  const { logger, metrics } = deps;
  const lines = limitLines(logger);
  const known = knownSources(deps.sources);
  const receiving = {
    acceptor: deps.acceptor,
    recorder: deps.recorder,
    budget: createBodyBudget(deps.maxBufferedBytes ?? MAX_BUFFERED_BYTES),
    now: deps.now ?? Date.now,
    quarantine: deps.quarantine,
  };
  const answer: Answer = (request, response, reply) => send(request, response, reply, deps.isClosing());

  const webhooks = { ...receiving, known, metrics, logger, lines, answer };
  const webhook = async (name: string, request: IncomingMessage, response: ServerResponse): Promise<void> =>
    takeWebhook(webhooks, name, request, response);

  const app = express();
  app.disable('x-powered-by');
  app.set('query parser', false); // a source that reads the query reads it as received
  app.enable('case sensitive routing');
  app.all('/webhooks/:source', async (request, response) =>
    webhook(request.params.source, request, response),
  );
  const authorize = createBearerCheck(deps.publishTokens ?? [], deps.tokenReader);
  const publishing = { ...receiving, metrics, logger, lines, authorize };
  app.all('/v1/events', async (request, response) => {
    const reply = await publish(publishing, request, response);
    if (reply !== undefined) answer(request, response, reply);
  });
  const openApi: Reply = { status: 200, contentType: JSON_TYPE, body: JSON.stringify(publishOpenApi()) };
  app.get('/v1/openapi.json', (request, response) => answer(request, response, openApi));
  app.use((request, response) =>
    answer(request, response, errorReply('not_found', 'There is nothing at this path.')),
  );
  const fail = (error: unknown, request: IncomingMessage, response: ServerResponse): void => {
    const { code, message } = describeError(error);
    const requestId = newId();
    if (code === 'internal') lines.error(code, { requestId, err: error }, 'a request failed');
    else logger.debug({ requestId, code }, 'a request was refused');
    if (!response.headersSent) response.setHeader('x-request-id', requestId);
    answer(request, response, errorReply(code, message));
  };
  const onError: ErrorRequestHandler = (error, request, response, _next) => fail(error, request, response);
  app.use(onError);
  const hostRefusal = errorReply('request_invalid', 'The header Host arrived more than once. Send it once.');
  return (request, response) => {
    if (hasSeveralHosts(request)) return answer(request, response, hostRefusal);
    const name = PLAIN_WEBHOOK.exec(request.url ?? '')?.[1];
    if (name === undefined) app(request, response);
    else webhook(name, request, response).catch((error: unknown) => fail(error, request, response));
  };
}

interface WebhookDeps extends ReceiveDeps {
  readonly known: ReadonlyMap<string, KnownSource>;
  readonly metrics: IngestMetrics;
  readonly logger: Logger;
  readonly lines: LimitedLines;
  readonly answer: Answer;
}

/** Answers a webhook of the source called `name`, or what came in the place of one. */
async function takeWebhook(
  deps: WebhookDeps,
  name: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { known, metrics, logger, lines, answer } = deps;
  const startedAt = performance.now();
  const source = known.get(name);
  if (source === undefined) {
    metrics.received(UNKNOWN_SOURCE, 'rejected');
    metrics.refused(UNKNOWN_SOURCE, 'source_unknown');
    return answer(
      request,
      response,
      errorReply('source_unknown', 'No source of this name is configured here.'),
    );
  }
  if (!source.methods.includes(request.method ?? '')) {
    metrics.received(source.name, 'rejected');
    metrics.refused(source.name, 'method_not_allowed');
    const allow = source.methods.join(', ');
    const message = `Webhooks are taken by ${source.methods.join(' and ')} only.`;
    return answer(request, response, errorReply('method_not_allowed', message, { allow }));
  }
  const received = await receive(deps, source, request, response);
  if (received === undefined) return;
  if (received.outcome !== undefined) metrics.received(source.name, received.outcome);
  if (received.code !== undefined) metrics.refused(source.name, received.code);
  note(logger, lines, source.name, received, response);
  answer(request, response, received.reply);
  if (received.code === undefined && received.outcome !== undefined)
    metrics.acknowledged(source.name, (performance.now() - startedAt) / 1_000);
}

/**
 * The path of a webhook as nearly all come: nothing to decode, nothing behind the name. Express takes every other spelling
 * to the same place, but it costs a webhook as much as checking its signature does.
 */
const PLAIN_WEBHOOK = /^\/webhooks\/([\w.~-]+)(?:\?|$)/;

/** RFC 9112, 3.2: what is in front of us may have gone by the other one. Node itself refuses only requests without any. */
const hasSeveralHosts = ({ rawHeaders }: IncomingMessage): boolean =>
  rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === 'host').length > 1;

/** By name in a Map: `__proto__` and `constructor` are names like any other there, and unknown. */
function knownSources(sources: BreakwaterConfig['sources']): ReadonlyMap<string, KnownSource> {
  const known = new Map<string, KnownSource>();
  const mistakes: string[] = [];
  for (const [name, source] of Object.entries(sources)) {
    try {
      const methods = [...new Set([...source.request.methods, ...challengeMethods(source)])];
      known.set(name, { name, source, methods, verify: createVerifier(source) });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      mistakes.push(`✖ ${messageOf(error)}\n  → at sources.${name}`);
    }
  }
  if (mistakes.length > 0)
    throw new AppError('config_invalid', `The sources are not valid:\n${mistakes.join('\n')}`);
  return known;
}

/** Whatever a person may have to find again gets a request id, in the log and in the answer. Never a payload. */
function note(
  logger: Logger,
  lines: LimitedLines,
  source: string,
  received: Received,
  response: ServerResponse,
): void {
  const { code, outcome, eventId } = received;
  if (code === undefined) {
    if (outcome === 'differs' || outcome === 'replayed')
      lines.warn(`${source}: ${outcome}`, { source, outcome, eventId }, 'a duplicate is not like the first');
    return;
  }
  const requestId = newId();
  response.setHeader('x-request-id', requestId);
  const line = {
    requestId,
    source,
    code,
    eventId,
    ...(received.error === undefined ? {} : { err: received.error }),
  };
  const kind = `${source}: ${code}`;
  if (received.error !== undefined) lines.error(kind, line, 'an event could not be accepted');
  // The acceptor says once that it cannot accept; in an outage one line for each request would bury that one.
  else if (outcome === 'unavailable') logger.debug(line, 'a webhook was sent away');
  else lines.warn(kind, line, `a webhook was refused: ${received.message}`);
}

/** The router itself refuses paths that cannot be decoded, with status 400; everything else here is a fault of ours. */
function describeError(error: unknown): { readonly code: ErrorCode; readonly message: string } {
  const status = error instanceof Error && 'status' in error ? error.status : 500;
  return status === 400
    ? { code: 'request_invalid', message: 'The path holds a percent sign that begins no valid encoding.' }
    : { code: 'internal', message: 'The request failed here. Send it again later.' };
}
