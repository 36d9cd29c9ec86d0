import { type ErrorCode, ERROR_CODES } from '@breakwater/runtime/errors';
import type { Response } from 'express';

/** What a handler answers, before it becomes HTTP. */
export interface ApiReply {
  readonly status: number;
  readonly answer: unknown;
  /** Of the record: its ETag. */
  readonly version?: number | undefined;
  /** It is the answer of an earlier request with the same Idempotency-Key. */
  readonly replayed?: boolean;
}

/**
 * Nothing here is a page: no script, style or frame may come of an answer, whatever a receiver has written into it. Nor is
 * anything kept by a cache on the way: answers belong to a token.
 */
const SECURITY_HEADERS = {
  'content-security-policy':
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
} as const;

/** Headers of every answer, before anything else is known about it. */
export function begin(response: Response, requestId: string): void {
  response.set({ ...SECURITY_HEADERS, 'x-request-id': requestId });
}

export function sendReply(response: Response, { status, answer, version, replayed }: ApiReply): void {
  if (version !== undefined) response.set('etag', `"${version}"`);
  if (replayed) response.set('idempotency-replayed', 'true');
  response.status(status).json(answer);
}

export interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Every error, in the one shape. */
export function sendError(response: Response, requestId: string, refusal: Refusal): void {
  const { code, message, details = {}, headers = {} } = refusal;
  response
    .set(headers)
    .status(ERROR_CODES[code].status)
    .json({ ok: false, error: { code, message, details, requestId } });
}
