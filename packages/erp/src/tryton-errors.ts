import type { FailureClass } from '@breakwater/contracts/failure-class';
import type { TrytonAdapter } from '@breakwater/contracts/tryton-config';

/** What an `error` in an answer means. Tryton sends one with HTTP 200 and rolls its transaction back. */
export type ErrorMeaning =
  /** The ERP refuses this document. */
  | { readonly kind: 'rejected'; readonly words: string }
  /** A question; `name` is what answering it with yes needs. */
  | { readonly kind: 'warning'; readonly name: string; readonly words: string }
  /** Surely not applied. `collision`: with another transaction, so the same call may succeed at once. */
  | {
      readonly kind: 'failed';
      readonly class: FailureClass;
      readonly collision: boolean;
      readonly words: string;
    }
  /** A unique constraint: somebody was faster. */
  | { readonly kind: 'exists'; readonly words: string }
  /** Nobody described it, so it proves nothing. */
  | { readonly kind: 'unknown'; readonly words: string };

/** Two transactions met: PostgreSQL's 40001, 40P01, 55P03 and SQLite's busy. Tryton passes the database's text on. */
const COLLISION =
  /could not serialize access|deadlock detected|could not obtain lock|database is locked|canceling statement due to lock timeout/i;

/** The database was never reached, so nothing was begun. "server closed the connection" may come after a commit: unknown. */
const NOT_CONNECTED =
  /connection to server .*failed|could not connect to server|the database system is (?:starting up|shutting down)/i;

const DUPLICATE_KEY = /duplicate key value violates unique constraint|UNIQUE constraint failed/i;

/**
 * Reads `error` of an answer: `[kind, details]` of the exceptions that Tryton means for people, or the text of any other
 * exception (6.0: trytond/protocols/jsonrpc.py, JSONRequestParser and exceptions.py).
 */
export function readError(
  error: readonly unknown[],
  { errors }: Pick<TrytonAdapter, 'errors'>,
): ErrorMeaning {
  const [kind, details] = error;
  const list: readonly unknown[] = Array.isArray(details) ? details : [details];
  if (kind === 'UserWarning') {
    const [name, ...text] = list;
    return { kind: 'warning', name: String(name), words: sentence(text) };
  }
  const isUserError = kind === 'UserError';
  const words = isUserError ? sentence(list) : sentence(list[0] ? error.slice(0, 2) : [kind]);
  const says = (texts: readonly string[]): boolean =>
    texts.some((text) => words.toLowerCase().includes(text.toLowerCase()));
  if (says(errors.failed))
    return { kind: 'failed', class: isUserError ? 'http_auth' : 'http_5xx', collision: false, words };
  if (says(errors.rejected)) return { kind: 'rejected', words };
  if (isUserError) return { kind: 'rejected', words };
  if (kind === 'ConcurrencyException' || COLLISION.test(words))
    return { kind: 'failed', class: 'http_5xx', collision: true, words };
  if (NOT_CONNECTED.test(words)) return { kind: 'failed', class: 'http_5xx', collision: false, words };
  if (DUPLICATE_KEY.test(words)) return { kind: 'exists', words };
  return { kind: 'unknown', words };
}

/** Messages go into attempt rows; the whole answer is in the sample. */
const MAX_WORDS = 300;

/** The texts of an error as one line. */
function sentence(parts: readonly unknown[]): string {
  const text = parts.filter((part): part is string => typeof part === 'string' && part !== '').join(' ');
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_WORDS);
}

/** A warning's name is a hash of the records and a key that says what it is about: `2825….effective_date_future`. */
export function acceptsWarning(name: string, { warnings }: Pick<TrytonAdapter, 'warnings'>): boolean {
  const key = name.slice(name.lastIndexOf('.') + 1);
  return warnings.accept.some((accepted) => accepted === '*' || accepted === key || accepted === name);
}
