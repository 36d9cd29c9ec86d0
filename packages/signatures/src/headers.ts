/** Header lines of a request by lower-case name, each line on its own and in order. */
export type HeaderLines = Readonly<Record<string, readonly string[]>>;

/** What a verifier and a locator read: the bytes as they arrived, never decoded or re-serialised. */
export interface SignedRequest {
  readonly headers: HeaderLines;
  /** What the signature is over; compressed where the source says that the received bytes are signed. */
  readonly body: Buffer;
  /** The body without its content encoding, where that differs from `body`. */
  readonly decoded?: Buffer;
  /** `POST` where it is left out. */
  readonly method?: string;
  /** The query of the request's target as received, without the question mark. */
  readonly query?: string;
}

export type HeaderRead =
  | { readonly kind: 'one'; readonly text: string }
  | { readonly kind: 'missing' }
  | { readonly kind: 'repeated' };

/**
 * Groups Node's flat `rawHeaders`. Node's own `headers` joins repeated lines with a comma, which turns a repeated id
 * header into a new id; and the object has no prototype, so that a header called `__proto__` or `constructor` is
 * just a name.
 */
export function headerLines(rawHeaders: readonly string[]): HeaderLines {
  const lines: Record<string, string[]> = Object.create(null);
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = (rawHeaders[index] ?? '').toLowerCase();
    (lines[name] ??= []).push(rawHeaders[index + 1] ?? '');
  }
  return lines;
}

/**
 * The one line of a header. Two lines are never resolved to one of them: who signs and who reads could pick
 * differently. `name` is lower case.
 */
export function readHeader(headers: HeaderLines, name: string): HeaderRead {
  const lines = Object.hasOwn(headers, name) ? headers[name] : undefined;
  const [text] = lines ?? [];
  if (lines === undefined || text === undefined) return { kind: 'missing' };
  return lines.length === 1 ? { kind: 'one', text } : { kind: 'repeated' };
}

/** One parameter of a query, decoded. As with headers, two of one name are never resolved to one of them. */
export function readQuery(query: string | undefined, name: string): HeaderRead {
  const values = new URLSearchParams(query ?? '').getAll(name);
  const [text] = values;
  if (text === undefined) return { kind: 'missing' };
  return values.length === 1 ? { kind: 'one', text } : { kind: 'repeated' };
}

/** `application/json` of `Application/JSON; charset=utf-8`. */
export const mediaTypeOf = (contentType: string): string =>
  (contentType.split(';', 1)[0] ?? '').trim().toLowerCase();
