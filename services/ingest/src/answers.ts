import type { Answer, AnswerKind } from '@breakwater/contracts/source-answers';
import type { Source } from '@breakwater/contracts/source-config';
import { ERROR_CODES, type ErrorCode } from '@breakwater/runtime/errors';

export interface Reply {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export const JSON_TYPE = 'application/json; charset=utf-8';

/** Soon, since providers' own back-off is long; and not at once, since what is down needs a moment. */
const RETRY_AFTER_S = 5;
export const RETRY_LATER: Readonly<Record<string, string>> = { 'retry-after': String(RETRY_AFTER_S) };

/** `{"ok":false,"error":{…}}` with the status of the code. */
export function errorReply(
  code: ErrorCode,
  message: string,
  headers: Readonly<Record<string, string>> = {},
): Reply {
  const body = JSON.stringify({ ok: false, error: { code, message } });
  return { status: ERROR_CODES[code].status, contentType: JSON_TYPE, body, headers };
}

/** 503 for everything that is our own trouble: providers repeat a 5xx, and many never repeat a 4xx. */
export function unavailableReply(source: Source, message: string): Reply {
  return overridden(source, ['unavailable'], errorReply('unavailable', message, RETRY_LATER));
}

/** Codes whose answer a source may override, with the kind that does it. */
const OVERRIDES: { readonly [code in ErrorCode]?: AnswerKind } = {
  signature_missing: 'signature',
  signature_invalid: 'signature',
  timestamp_out_of_tolerance: 'signature',
  event_id_missing: 'rejected',
  request_invalid: 'rejected',
  body_unparsable: 'rejected',
};

/** An error in the words of the source, where it has its own. */
export function refusalReply(source: Source, code: ErrorCode, message: string): Reply {
  const kind = OVERRIDES[code];
  return overridden(source, kind === undefined ? [] : [kind], errorReply(code, message));
}

/** The acknowledgement. A duplicate gets what the first delivery got, unless the source tells them apart. */
export function acknowledgement(source: Source, eventId: string, deduped: boolean): Reply {
  const body = JSON.stringify({ ok: true, eventId, deduped });
  return overridden(source, deduped ? ['duplicate', 'accepted'] : ['accepted'], {
    status: 200,
    contentType: JSON_TYPE,
    body,
  });
}

/** One event of a delivery, as its acknowledgement tells it. */
export interface Acknowledged {
  readonly eventId: string;
  readonly deduped: boolean;
}

/** The acknowledgement of a batch, however many events were in it: a duplicate only when all were. */
export function batchAcknowledgement(source: Source, results: readonly Acknowledged[]): Reply {
  const body = JSON.stringify({ ok: true, results });
  const isDuplicate = results.length > 0 && results.every(({ deduped }) => deduped);
  return overridden(source, isDuplicate ? ['duplicate', 'accepted'] : ['accepted'], {
    status: 200,
    contentType: JSON_TYPE,
    body,
  });
}

/** The answer to a challenge or a ping. It may echo a stranger's text, which no browser shall take for a page. */
export const handshakeReply = ({ status, body = '', contentType }: Answer): Reply => ({
  status,
  body,
  contentType,
  headers: { 'x-content-type-options': 'nosniff' },
});

/** The first configured of `kinds`. Its body replaces ours where it has one; headers such as Retry-After stay. */
function overridden(source: Source, kinds: readonly AnswerKind[], reply: Reply): Reply {
  for (const kind of kinds) {
    const answer = source.answers[kind];
    if (answer === undefined) continue;
    if (answer.body === undefined) return { ...reply, status: answer.status };
    return { ...reply, status: answer.status, body: answer.body, contentType: answer.contentType };
  }
  return reply;
}
