import type { PublishResult } from '@breakwater/contracts/publish';
import { ERROR_CODES, type ErrorCode } from '@breakwater/runtime/errors';
import type { Settled } from './accept-all.ts';
import { JSON_TYPE, type Reply, RETRY_LATER } from './answers.ts';

/**
 * The answer to a request whose events were looked at one by one. The status alone tells an outbox relay what to do:
 * - 202: every event has its final result. Some may be refused; sent again they would be refused again.
 * - 503 with Retry-After: at least one could not be stored. Under a 2xx a relay that does not read the results would forget
 *   that one. To repeat the whole request is safe and gets further each time: what was stored is answered as deduped.
 * - 400, or the status of the one event: all are refused and nothing was stored, so that a single publish never looks done.
 * The results are there in each case, for a relay that keeps account of single events.
 */
export function answerTo(settled: readonly Settled[]): { readonly reply: Reply; readonly code?: ErrorCode } {
  const results = settled.map(resultOf);
  const error = errorOf(settled);
  if (error === undefined) return { reply: json(202, { ok: true, results }) };
  const headers = error.code === 'unavailable' ? RETRY_LATER : {};
  return {
    reply: { ...json(ERROR_CODES[error.code].status, { ok: false, error, results }), headers },
    code: error.code,
  };
}

const json = (status: number, value: unknown): Reply => ({
  status,
  contentType: JSON_TYPE,
  body: JSON.stringify(value),
});

function resultOf({ eventId, result }: Settled): PublishResult {
  switch (result.kind) {
    case 'accepted':
      return { eventId: eventId ?? '', deduped: false };
    case 'duplicate':
    case 'replayed':
      return { eventId: eventId ?? '', deduped: true };
    case 'unavailable':
      return {
        eventId,
        error: {
          code: 'unavailable',
          message: `The event was not stored: ${result.message}. Publish it again.`,
        },
      };
    case 'refused':
      return { eventId, error: { code: result.code, message: result.message } };
  }
}

/** Why the request as a whole has failed; undefined when it has not. */
function errorOf(settled: readonly Settled[]): { code: ErrorCode; message: string } | undefined {
  const unavailable = settled.flatMap(({ result }) => (result.kind === 'unavailable' ? [result] : []));
  if (unavailable[0] !== undefined) {
    const message = `${unavailable.length} of ${settled.length} events were not stored: ${unavailable[0].message}. Publish the whole request again; what was stored will be deduped.`;
    return { code: 'unavailable', message };
  }
  const refused = settled.flatMap(({ result }) => (result.kind === 'refused' ? [result] : []));
  const [first, second] = refused;
  if (first === undefined || refused.length < settled.length) return undefined;
  if (second === undefined) return { code: first.code, message: first.message };
  return {
    code: 'request_invalid',
    message: `None of the ${settled.length} events can be taken; the results say what to correct in each.`,
  };
}
