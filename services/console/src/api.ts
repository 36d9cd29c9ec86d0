import { adminOpenApi } from '@breakwater/contracts/admin-openapi';
import { type RouteSpec } from '@breakwater/contracts/admin-route';
import { ADMIN_ROUTES, ROUTE_NAMES, type RouteName } from '@breakwater/contracts/admin-routes';
import { newId } from '@breakwater/contracts/ids';
import type { TokenReader } from '@breakwater/core/token-reader';
import { AppError, messageOf } from '@breakwater/runtime/errors';
import { limitLines } from '@breakwater/runtime/log-limit';
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express';
import { z } from 'zod';
import type { ApiDeps, Call, Handler, Handlers } from './call.ts';
import { type Caller, checkAccess, createAuthentication, operatorOf } from './caller.ts';
import { breakerHandlers } from './handlers/breakers.ts';
import { deliveryHandlers } from './handlers/deliveries.ts';
import { endpointHandlers } from './handlers/endpoints.ts';
import { overviewHandlers } from './handlers/overview.ts';
import { reconciliationHandlers } from './handlers/reconciliation.ts';
import { quarantineHandlers } from './handlers/quarantine.ts';
import { replayHandlers } from './handlers/replays.ts';
import { sourceHandlers } from './handlers/sources.ts';
import { tokenHandlers } from './handlers/tokens.ts';
import { idempotencyKeyOf, once } from './idempotency.ts';
import { ifVersionOf, judgeBody, judgeParams, parse } from './judge.ts';
import { createRateLimit, type Rate } from './rate-limit.ts';
import { type ApiReply, begin, type Refusal, sendError, sendReply } from './reply.ts';

export interface ApiOptions {
  readonly deps: ApiDeps;
  readonly tokenReader: TokenReader;
  /** For each token. */
  readonly rate?: Rate;
  /** Requests without a good token, for each address. */
  readonly strangers?: Rate;
  /** How long a call may take: see DEADLINE_MS. */
  readonly deadlineMs?: number;
  /** Aborted when the process stops. */
  readonly signal: AbortSignal;
}

export const API = '/api/v1';
/** A page of a list needs 30 ms; scripts and dashboards stay far below it. */
const RATE: Rate = { perSecond: 50, burst: 200 };
/** A person who mistypes a token does not notice; 256 bits are not guessed at any rate, but the log would fill. */
const STRANGERS: Rate = { perSecond: 5, burst: 50 };
/** Redis' scripts connection waits for Redis to come back; a caller does not. */
const DEADLINE_MS = 10_000;
const SLOW_DEADLINE_MS = 60_000;

/** The admin API under /api/v1, made of the table of routes: the same that its OpenAPI document is made of. */
export function createApi(options: ApiOptions): Express {
  const { deps } = options;
  const lines = limitLines(deps.logger);
  const handlers: Handlers = {
    ...endpointHandlers(deps),
    ...deliveryHandlers(deps),
    ...replayHandlers(deps),
    ...overviewHandlers(deps),
    ...reconciliationHandlers(deps),
    ...sourceHandlers(deps),
    ...quarantineHandlers(deps),
    ...breakerHandlers(deps),
    ...tokenHandlers(deps),
  };
  const identify = createIdentification(options);
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag'); // an ETag here is a version, not a hash of the answer
  app.set('query parser', 'simple');
  app.enable('case sensitive routing');
  app.use((_request, response, next) => {
    response.locals['requestId'] = newId();
    begin(response, requestIdOf(response));
    next();
  });
  const openApi = JSON.stringify(adminOpenApi());
  app.get(`${API}/openapi.json`, (_request, response) => void response.type('json').send(openApi));

  const methods = new Map<string, string[]>([[`${API}/openapi.json`, ['GET', 'HEAD']]]);
  for (const name of ROUTE_NAMES) {
    const route: RouteSpec = ADMIN_ROUTES[name];
    const path = `${API}${route.path.replaceAll(/\{(\w+)\}/g, ':$1')}`;
    const known = methods.get(path) ?? [];
    methods.set(path, [...known, route.method.toUpperCase(), ...(route.method === 'get' ? ['HEAD'] : [])]);
    app[route.method](path, async (request, response) => {
      const caller = await identify(request);
      sendReply(
        response,
        await answer(options, { name, route, handler: handlers[name] }, caller, request, response),
      );
    });
  }
  for (const [path, allowed] of methods)
    app.all(path, (request, response) => {
      const allow = allowed.join(', ');
      refuse(response, {
        code: 'method_not_allowed',
        message: `${request.method} is not taken here, only ${allow}.`,
        details: { allow: allowed },
        headers: { allow },
      });
    });
  app.use((_request, response) =>
    refuse(response, { code: 'not_found', message: 'There is nothing at this path.' }),
  );
  const onError: ErrorRequestHandler = (error: unknown, request, response, _next) => {
    if (response.headersSent) return void response.destroy();
    const refusal = refusalOf(error, request);
    const line = { requestId: requestIdOf(response), code: refusal.code, path: request.route?.path };
    if (refusal.code === 'internal') lines.error(refusal.code, { ...line, err: error }, 'a call failed');
    else if (refusal.code === 'unavailable')
      lines.warn(refusal.code, { ...line, reason: messageOf(error) }, 'a call was sent away');
    else deps.logger.debug(line, 'a call was refused');
    refuse(response, refusal);
  };
  app.use(onError);
  return app;
}

const requestIdOf = (response: Response): string => String(response.locals['requestId']);
const refuse = (response: Response, refusal: Refusal): void =>
  sendError(response, requestIdOf(response), refusal);

/** Who calls, if not too often. Strangers are counted by address, and only once they turn out to be strangers. */
function createIdentification({
  deps,
  tokenReader,
  rate = RATE,
  strangers = STRANGERS,
}: ApiOptions): (request: Request) => Promise<Caller> {
  const authenticate = createAuthentication(deps.config.adminToken, tokenReader);
  const limit = createRateLimit(rate);
  const strangerLimit = createRateLimit(strangers);
  return async (request) => {
    let caller: Caller;
    try {
      caller = await authenticate(request);
    } catch (error) {
      if (error instanceof AppError && error.status === 401)
        strangerLimit.take(request.socket.remoteAddress ?? '');
      throw error;
    }
    limit.take(caller.id);
    return caller;
  };
}

/** Every query may name an operator. */
const Named = z.looseObject({ operator: z.string().optional() });

interface Target {
  readonly name: RouteName;
  readonly route: RouteSpec;
  readonly handler: Handlers[RouteName];
}

/** Judges one call, from what the token may do to what was sent, and runs it. */
async function answer(
  options: ApiOptions,
  { name, route, handler }: Target,
  caller: Caller,
  request: Request,
  response: Response,
): Promise<ApiReply> {
  const { deps } = options;
  checkAccess(caller, route.access);
  const params = judgeParams(route, request.params);
  const query = parse(route.query, { ...request.query }, 'query');
  const operator = operatorOf(caller, Named.parse(query).operator);
  const body = await judgeBody(route, request, response);
  const ifVersion = route.versioned ? ifVersionOf(request) : undefined;
  if (deps.redis.status !== 'ready')
    throw new AppError('unavailable', 'Redis is not reachable at this moment.');
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const signal = AbortSignal.any([gone.signal, options.signal]);
  const { actor, token } = caller;
  const call = { caller, operator, actor, params, query, body, ifVersion, signal };
  const run = async (): Promise<ApiReply> => {
    // The table and the handlers are keyed alike, which the type of Handlers ensures; here the name is any of them.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const outcome = await (handler as unknown as Handler<RouteName>)(call as unknown as Call<RouteName>);
    return { status: outcome.status ?? route.status, answer: outcome.answer, version: outcome.version };
  };
  const key = route.creates && idempotencyKeyOf(request);
  const { id, source, eventId } = params;
  const of = [caller.id, operator, name, id, source, eventId];
  return within(options.deadlineMs ?? (route.slow ? SLOW_DEADLINE_MS : DEADLINE_MS), () =>
    key ? once(deps, { key, of, request: [query, body, ifVersion ?? null], token }, run) : run(),
  );
}

async function within<T>(ms: number, work: () => Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () =>
      late.reject(
        new AppError(
          'unavailable',
          `This took longer than ${ms / 1_000} s. Whether it was done is not known.`,
        ),
      ),
    ms,
  );
  try {
    return await Promise.race([work(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Soon enough for a person, and not at once. */
const RETRY_AFTER_S = 5;

function refusalOf(error: unknown, request: Request): Refusal {
  if (!(error instanceof AppError)) {
    const status = error instanceof Error && 'status' in error ? error.status : 500;
    return status === 400
      ? { code: 'request_invalid', message: 'The path holds a percent sign that begins no valid encoding.' }
      : { code: 'internal', message: 'The call failed here: see the log of the console for its request id.' };
  }
  const { code, message, remedy } = error;
  const details = { ...error.details, ...(remedy !== '' && { remedy }) };
  if (code === 'unavailable' || code === 'idempotency_open')
    return { code, message, details, headers: { 'retry-after': String(RETRY_AFTER_S) } };
  if (code === 'rate_limited')
    return { code, message, details, headers: { 'retry-after': String(error.details['retryAfterS']) } };
  if (error.status === 401) return { code, message, details, headers: { 'www-authenticate': 'Bearer' } };
  if (code === 'version_conflict' && request.headers['if-match'] !== undefined)
    return { code: 'precondition_failed', message, details };
  if (code === 'internal') return { code, message: 'The call failed here: see the log of the console.' };
  return { code, message, details };
}
