import { parsePointer, textAt } from '@breakwater/contracts/pointer';
import type { Locator, Source } from '@breakwater/contracts/source-config';
import { readHeader, type SignedRequest } from './headers.ts';

export type Located =
  | { readonly ok: true; readonly eventId: string; readonly type: string; readonly entity: string }
  | { readonly ok: false; readonly code: 'event_id_missing' | 'body_unparsable'; readonly message: string };

/** Longest event id: it goes into records, headers and URLs, and no provider's is near this. */
const EVENT_ID_MAX = 512;
/** Type and entity only route and describe, so a longer one is cut rather than refused. */
const LABEL_MAX = 256;

/**
 * Finds the event's id, type and entity in a request whose signature was verified. The id is taken as it is, untrimmed,
 * and numbers exactly as written. A type or entity that is not there is ''. The body is parsed only where a locator
 * needs it, and is refused when it cannot be, unless the source says `accept` and the id was found elsewhere.
 */
export function locateEvent(source: Source, request: SignedRequest): Located {
  const body = new LazyJson(request.body);
  const id = find(source.eventId, request, body);
  const type = labelAt(source.type, request, body);
  const entity = labelAt(source.entity, request, body);
  if (id.kind === 'repeated') {
    return missing(
      `The header ${id.header} arrived more than once, so the event id is ambiguous. Send it once.`,
    );
  }
  if (body.failure !== undefined && (source.onUnparsable === 'reject' || id.kind === 'missing')) {
    return { ok: false, code: 'body_unparsable', message: body.failure };
  }
  if (id.kind === 'missing')
    return missing(
      `There is no event id (non-empty text or a number) at ${source.eventId.map(describe).join(' or at ')}.`,
    );
  if (id.text.length > EVENT_ID_MAX)
    return missing(`The event id is longer than ${EVENT_ID_MAX} characters.`);
  // A lone surrogate becomes U+FFFD in UTF-8, where two ids would become one and the second event be lost.
  if (!id.text.isWellFormed())
    return missing('The event id is not valid Unicode: it holds half of a surrogate pair.');
  return { ok: true, eventId: id.text, type, entity };
}

const missing = (message: string): Located => ({ ok: false, code: 'event_id_missing', message });

const describe = (locator: Locator): string =>
  'header' in locator ? `header ${locator.header}` : `JSON pointer ${locator.pointer}`;

type Found =
  | { readonly kind: 'found'; readonly text: string }
  | { readonly kind: 'repeated'; readonly header: string }
  | { readonly kind: 'missing' };

/** The first locator that yields a text that is not empty. A repeated header ends the search: it is not skipped. */
function find(locators: readonly Locator[], request: SignedRequest, body: LazyJson): Found {
  for (const locator of locators) {
    if ('pointer' in locator) {
      const text = body.textAt(locator.pointer);
      if (text !== undefined && text !== '') return { kind: 'found', text };
      continue;
    }
    const read = readHeader(request.headers, locator.header);
    if (read.kind === 'repeated') return { kind: 'repeated', header: locator.header };
    if (read.kind === 'one' && read.text !== '') return { kind: 'found', text: read.text };
  }
  return { kind: 'missing' };
}

function labelAt(locators: readonly Locator[] | undefined, request: SignedRequest, body: LazyJson): string {
  const found = find(locators ?? [], request, body);
  return found.kind === 'found'
    ? found.text
        .toWellFormed()
        .slice(0, LABEL_MAX)
        .replace(/[\uD800-\uDBFF]$/, '')
    : '';
}

/** A body that is decoded and parsed when it is first asked for, and at most once. */
class LazyJson {
  /** Why the body could not be read, once somebody needed it. */
  failure: string | undefined;
  readonly #bytes: Buffer;
  #json: { readonly text: string; readonly value: unknown } | undefined;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  textAt(pointer: string): string | undefined {
    const json = this.#parse();
    if (json === undefined) return undefined;
    try {
      return textAt(json, parsePointer(pointer) ?? []);
    } catch (error) {
      // JSON.parse itself takes any depth, but reading a number exactly recurses: tens of thousands of levels exhaust the stack.
      if (!(error instanceof RangeError)) throw error;
      this.failure = 'The body is JSON that is nested too deeply to be read.';
      return undefined;
    }
  }

  #parse(): { readonly text: string; readonly value: unknown } | undefined {
    if (this.#json !== undefined || this.failure !== undefined) return this.#json;
    let text: string;
    try {
      text = new TextDecoder('utf-8', { fatal: true }).decode(this.#bytes); // also drops a byte order mark
    } catch {
      this.failure = 'The body is not valid UTF-8. Send JSON in UTF-8.';
      return undefined;
    }
    try {
      this.#json = { text, value: JSON.parse(text) as unknown };
    } catch {
      // The parser's own message would quote the payload.
      this.failure = text === '' ? 'The body is empty. Send JSON.' : 'The body is not valid JSON. Send JSON.';
    }
    return this.#json;
  }
}
