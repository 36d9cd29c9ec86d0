import { adminOpenApi } from '@breakwater/contracts/admin-openapi';
import type { RouteSpec } from '@breakwater/contracts/admin-route';
import { ADMIN_ROUTES, ROUTE_NAMES } from '@breakwater/contracts/admin-routes';
import { newId } from '@breakwater/contracts/ids';
import { AppError, messageOf } from '@breakwater/runtime/errors';
import { limitLines } from '@breakwater/runtime/log-limit';
import type { Logger } from '@breakwater/runtime/logger';
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express';
import type { Calls } from './calls.ts';
import { idempotencyKeyOf } from './idempotency.ts';
import { ifVersionOf, judgeBody } from './judge.ts';
import { bearerTokenOf, type Identify } from './identify.ts';
import { begin, type Refusal, sendError, sendReply } from './reply.ts';

export const API = '/api/v1';
export interface ApiOptions {
  readonly calls: Calls;
  readonly identify: Identify;
  readonly logger: Logger;
}

/** The admin API under /api/v1, made of the table of routes: the same that its OpenAPI document is made of. */
export function createApi({ calls, identify, logger }: ApiOptions): Express {
  const lines = limitLines(logger);
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
      const caller = await identify(bearerTokenOf(request), request);
      const gone = new AbortController();
      response.once('close', () => gone.abort());
      const reply = await calls(caller, name, {
        params: request.params,
        query: request.query,
        body: (each) => judgeBody(each, request, response),
        ifVersion: () => ifVersionOf(request),
        idempotencyKey: () => idempotencyKeyOf(request),
        signal: gone.signal,
      });
      sendReply(response, reply);
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
    else logger.debug(line, 'a call was refused');
    refuse(response, refusal);
  };
  app.use(onError);
  return app;
}

const requestIdOf = (response: Response): string => String(response.locals['requestId']);
const refuse = (response: Response, refusal: Refusal): void =>
  sendError(response, requestIdOf(response), refusal);

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
