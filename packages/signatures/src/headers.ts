/** Header lines of a request by lower-case name, each line on its own and in order. */
export type HeaderLines = Readonly<Record<string, readonly string[]>>;

/** What a verifier and a locator read: the bytes as they arrived, never decoded or re-serialised. */
export interface SignedRequest {
  readonly headers: HeaderLines;
  readonly body: Buffer;
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
