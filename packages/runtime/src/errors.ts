import { inspect } from 'node:util';

/**
 * Every code that an operator may meet in a log line, an HTTP body or a CLI message. Append only.
 * `status` is the HTTP answer; `remedy` says what to do, '' where the messages themselves do. An error may bring its own.
 */
export const ERROR_CODES = {
  config_invalid: { status: 500, remedy: '' },
  internal: { status: 500, remedy: 'A fault of Breakwater: see its log.' },
  redis_unavailable: { status: 503, remedy: 'Start Redis or correct REDIS_URL.' },
  redis_not_durable: {
    status: 503,
    remedy: 'Use infra/redis/redis.conf, or set DURABILITY=relaxed and accept the risk.',
  },
  unavailable: { status: 503, remedy: 'Send the request again after Retry-After seconds.' },
  signature_missing: { status: 401, remedy: 'Send the signature header that the source is configured with.' },
  signature_invalid: {
    status: 401,
    remedy: 'Sign the exact bytes of the body with the secret of this source.',
  },
  timestamp_out_of_tolerance: { status: 401, remedy: 'Check the clocks; sign again for every retry.' },
  event_id_missing: { status: 400, remedy: 'Send the event id where the source is configured to find it.' },
  body_unparsable: { status: 400, remedy: 'Send valid JSON.' },
  body_too_large: { status: 413, remedy: 'Send a smaller body, or raise maxBodyBytes of the source.' },
  encoding_unsupported: { status: 415, remedy: 'Send the body without a content encoding.' },
  source_unknown: { status: 404, remedy: 'Use a source from the configuration.' },
  method_not_allowed: { status: 405, remedy: 'Use POST.' },
  not_found: { status: 404, remedy: 'Check the id and the operator.' },
  request_invalid: { status: 400, remedy: '' },
  in_flight: { status: 409, remedy: 'Wait until the attempt has ended, then ask again.' },
  replay_open: { status: 409, remedy: 'A replay of this delivery is already on its way.' },
  wrong_status: { status: 409, remedy: 'Look at the delivery: it is in another state.' },
  destination_paused: { status: 409, remedy: 'Resume the destination first.' },
  acknowledgement_needed: {
    status: 409,
    remedy: 'The receiver already had this. Confirm that it dedupes durably (--acknowledge-duplicates).',
  },
  storm_ended: { status: 500, remedy: 'Mend what the message names; a storm may be repeated.' },
  address_blocked: {
    status: 400,
    remedy: 'Use a public https address, or allow http (egress.allowHttp) or the range (egress.allow).',
  },
  encryption_keys_missing: { status: 500, remedy: 'Set ENCRYPTION_KEYS (openssl rand -base64 32).' },
  secret_unreadable: {
    status: 500,
    remedy:
      'Give the endpoint a new secret (endpoints rotate-secret <id> --overlap 0s), or set the header again.',
  },
  version_conflict: {
    status: 409,
    remedy: 'Somebody changed it meanwhile: read it again, then repeat the change.',
  },
  rotation_open: {
    status: 409,
    remedy: 'Finish it first (endpoints rotate-secret <id> --finish), or rotate with --overlap 0s.',
  },
  endpoint_removed: {
    status: 409,
    remedy: 'Register the endpoint anew for future events; settle this delivery with dead-letters resolve.',
  },
  port_taken: { status: 500, remedy: 'Stop the other process, or set another port.' },
  expired: {
    status: 404,
    remedy:
      'Have the sender send it again under a new event id; retention in the configuration says how long records stay.',
  },
  token_missing: { status: 401, remedy: 'Send Authorization: Bearer <token>.' },
  token_invalid: {
    status: 401,
    remedy: 'Use a token of this deployment: one of its configuration, or of tokens create.',
  },
  token_scope: { status: 403, remedy: 'Use a token whose scope allows this (tokens create --scope ...).' },
  rate_limited: { status: 429, remedy: 'Wait for Retry-After seconds.' },
  content_type_unsupported: { status: 415, remedy: 'Send JSON as application/json.' },
  idempotency_key_reused: {
    status: 422,
    remedy: 'A key stands for one request: use a new one for another request.',
  },
  idempotency_open: {
    status: 409,
    remedy: 'Ask again later. If it stays so, look whether the thing was made, then use a new key.',
  },
  precondition_failed: { status: 412, remedy: 'Read it again, then repeat the change with its ETag.' },
  too_many_runs: {
    status: 409,
    remedy: 'Wait until one has ended (replays list), or cancel one (replays cancel <run>) and start again.',
  },
  form_foreign: { status: 403, remedy: 'Open the page here again and send its own form.' },
  not_confirmed: { status: 409, remedy: 'Answer y, or add --yes to do it without being asked.' },
} as const satisfies Record<string, { status: number; remedy: string }>;
export type ErrorCode = keyof typeof ERROR_CODES;

export interface AppErrorOptions extends ErrorOptions {
  /** Facts for the log and for machines; never a secret, never a payload. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** What to do about this one, instead of what its code says; '' when the message says it. */
  readonly remedy?: string;
}

/** Trouble with a code. The message may be shown to the caller. */
export class AppError extends Error {
  override readonly name: string = 'AppError';
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>>;
  readonly #remedy: string | undefined;

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options);
    this.code = code;
    this.details = options.details ?? {};
    this.#remedy = options.remedy;
  }

  get status(): number {
    return ERROR_CODES[this.code].status;
  }

  /** One sentence or two; '' when there is nothing to add to the message. */
  get remedy(): string {
    return this.#remedy ?? ERROR_CODES[this.code].remedy;
  }
}

/** A programmer error. Nothing catches it on purpose; the process logs it and exits. */
export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AppError('internal', `invariant broken: ${message}`);
}

/**
 * What an error says. By shape: `instanceof` fails across realms. A connect that failed at several addresses says
 * nothing but its code.
 */
export function messageOf(error: unknown): string {
  const said = typeof error === 'object' && error !== null && 'message' in error ? error.message : undefined;
  return typeof said === 'string' && said !== ''
    ? said
    : (codeOf(error) ?? (typeof error === 'string' ? error : inspect(error)));
}

/** The code of a system error (`EADDRINUSE`), undefined where there is none. By shape: `instanceof` fails across realms. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
