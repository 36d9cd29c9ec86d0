import type { IncomingMessage } from 'node:http';
import { PARAMS } from '@breakwater/contracts/admin-requests';
import { paramsOf, type RouteSpec } from '@breakwater/contracts/admin-route';
import { AppError } from '@breakwater/runtime/errors';
import express, { type Request, type Response } from 'express';
import type { z } from 'zod';

/** The largest request is an endpoint with all its headers and patterns: some 40 KiB. */
const BODY_MAX_BYTES = 256 * 1024;

/** `strict` would call null, a number or a text no valid JSON; the route's schema says what it wants instead. */
const readJson = express.json({
  limit: BODY_MAX_BYTES,
  inflate: false,
  type: 'application/json',
  strict: false,
});

/** Reads a value as a schema says. Throws AppError request_invalid with every mistake and its place, without values. */
export function parse<T extends z.ZodType>(schema: T, value: unknown, what: string): z.output<T> {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const issues = result.error.issues.map(({ path, message }) => ({ path: path.join('.'), message }));
  const [first] = issues;
  throw new AppError(
    'request_invalid',
    `The ${what} is not valid: ${first?.path ? `${first.path}: ` : ''}${first?.message ?? ''}`,
    { details: { in: what, issues } },
  );
}

/** The parameters of a path. What cannot be an id of ours is not found, as any other that does not exist. */
export function judgeParams(route: RouteSpec, params: Readonly<Record<string, unknown>>) {
  const judged = { id: '', source: '', target: '', eventId: '' };
  for (const name of paramsOf(route.path)) {
    const { success, data } = PARAMS[name].safeParse(params[name]);
    if (!success) throw new AppError('not_found', 'There is nothing with this id.');
    judged[name] = data;
  }
  return judged;
}

/**
 * The body of a request, judged; undefined where the route takes none. It is read only now, when the caller is known.
 * Throws AppError body_too_large, body_unparsable, encoding_unsupported, content_type_unsupported, request_invalid.
 */
export async function judgeBody(route: RouteSpec, request: Request, response: Response): Promise<unknown> {
  const sent =
    request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
  if (!sent) return route.body && parse(route.body, undefined, 'body');
  if (!route.body) throw new AppError('request_invalid', 'This call takes no body.');
  if (!request.is('application/json'))
    throw new AppError('content_type_unsupported', 'The body is not declared as application/json.');
  const read = Promise.withResolvers<void>();
  readJson(request, response, (error: unknown) => (error ? read.reject(error) : read.resolve()));
  try {
    await read.promise;
  } catch (error) {
    throw ofBody(error);
  }
  return parse(route.body, request.body, 'body');
}

function ofBody(error: unknown): unknown {
  const type = error instanceof Error && 'type' in error ? error.type : '';
  switch (type) {
    case 'entity.too.large':
      return new AppError('body_too_large', `The body is larger than ${BODY_MAX_BYTES} bytes.`, {
        remedy: '',
      });
    case 'encoding.unsupported':
      return new AppError('encoding_unsupported', 'The body has a content encoding. Send it without one.');
    case 'charset.unsupported':
      return new AppError('content_type_unsupported', 'The body has another charset than UTF-8.');
    case 'entity.parse.failed':
    case 'request.size.invalid':
    case 'request.aborted':
      return new AppError('body_unparsable', 'The body is not valid JSON.');
    default:
      return error;
  }
}

const ETAG = /^"(\d{1,15})"$/;

/** The version of If-Match; undefined where any will do. Throws AppError request_invalid. */
export function ifVersionOf(request: IncomingMessage): number | undefined {
  const given = request.headers['if-match'];
  if (given === undefined || given.trim() === '*') return undefined;
  const version = ETAG.exec(given.trim())?.[1];
  if (version === undefined)
    throw new AppError('request_invalid', 'If-Match is one ETag as it was given, such as "3".');
  return Number(version);
}
