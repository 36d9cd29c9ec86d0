import { hashBytes, hashId } from '@breakwater/contracts/ids';
import type { Source } from '@breakwater/contracts/source-config';
import { bodyFormOf, type Expression, isOfItem, type Locator } from '@breakwater/contracts/source-parts';
import { documentOf, type ParsedBody } from './document.ts';
import { readHeader, type SignedRequest } from './headers.ts';
import { splitDelivery } from './items.ts';

export interface LocatedEvent {
  readonly eventId: string;
  readonly type: string;
  readonly entity: string;
  /** The body could not be read: no route may have the event until a person says so. */
  readonly parked?: true;
}

type Failure = {
  readonly ok: false;
  readonly code: 'event_id_missing' | 'body_unparsable';
  readonly message: string;
};

export type Located = ({ readonly ok: true } & LocatedEvent) | Failure;

/** `undeduped`: there is no id, and the source says that each such delivery is an event of its own. */
export type LocatedItem = LocatedEvent & { readonly document: ParsedBody; readonly undeduped?: true };

/** Longest event id: it goes into records, headers and URLs, and no provider's is near this. */
const EVENT_ID_MAX = 512;
/** Type and entity only route and describe, so a longer one is cut rather than refused. */
const LABEL_MAX = 256;

/**
 * Finds the events of a verified delivery, each with its document. One that cannot be identified refuses all: the
 * provider repeats the delivery, and those that were taken would be duplicates.
 */
export function locateEvents(
  source: Source,
  request: SignedRequest,
): { readonly ok: true; readonly events: readonly LocatedItem[] } | Failure {
  const split = splitDelivery(source, request);
  if (!split.ok) {
    const document = documentOf(source.parse, request);
    if (source.onUnparsable === 'reject')
      return { ok: false, code: 'body_unparsable', message: split.message };
    return { ok: true, events: [{ ...parkedEvent(document.bytes), document }] };
  }
  if (split.items.length === 0 && source.batch?.empty === 'reject')
    return missing('The delivery has no items.');
  const events: LocatedItem[] = [];
  for (const document of split.items) {
    const located = locateEvent(source, request, document);
    if (located.ok) {
      const { ok: _ok, ...event } = located;
      events.push({ ...event, document });
    } else if (located.code === 'event_id_missing' && source.onMissingId !== 'reject') {
      events.push({ ...withoutId(source, request, document), document });
    } else {
      return located;
    }
  }
  return { ok: true, events };
}

/** The hash of the bytes stands for the id, or nothing does. */
function withoutId(
  source: Source,
  request: SignedRequest,
  document: ParsedBody,
): LocatedEvent & { readonly undeduped?: true } {
  const labels = labelsOf(source, request, document);
  const eventId = hashedId(document.bytes);
  return source.onMissingId === 'undeduped'
    ? { ...labels, eventId, undeduped: true }
    : { ...labels, eventId };
}

/** A computed id says that it is one. */
const hashedId = (bytes: Buffer): string => `body-${hashBytes(bytes)}`;

const parkedEvent = (bytes: Buffer): LocatedEvent => ({
  eventId: hashedId(bytes),
  type: '',
  entity: '',
  parked: true,
});

const labelsOf = (source: Source, request: SignedRequest, document: ParsedBody) => ({
  type: labelAt(source.type, request, document),
  entity: labelAt(source.entity, request, document),
});

/**
 * Finds the event's id, type and entity in a request, or one item of it, that was verified. The id is taken as it is,
 * untrimmed, and numbers exactly as written. A type or entity that is not there is ''. The body is parsed only where an
 * expression needs it. One that cannot be parsed is refused, or parked where the source says `accept`: under the id
 * from a header, or a hash of the bytes.
 */
export function locateEvent(
  source: Source,
  request: SignedRequest,
  document: ParsedBody = documentOf(source.parse, request),
): Located {
  // A header is the whole delivery's: for items of a batch it would make one event of them.
  const isItem = document.outer !== undefined;
  const expressions = isItem ? source.eventId.filter(isOfItem) : source.eventId;
  const id = find(expressions, request, document, (expression) => isBoolean(expression, document));
  const labels = labelsOf(source, request, document);
  if (id.kind === 'repeated')
    return missing(`The ${id.where} is there more than once, so the event id is ambiguous. Send it once.`);
  if (document.failure !== undefined) {
    if (source.onUnparsable === 'reject')
      return { ok: false, code: 'body_unparsable', message: document.failure };
    const parked = parkedEvent(document.bytes);
    if (id.kind === 'missing') return { ok: true, ...parked };
    const wrong = faultOf(id.text);
    return wrong ?? { ok: true, ...parked, ...labels, eventId: id.text };
  }
  if (id.kind === 'missing')
    return missing(
      `There is no event id (non-empty text or a number) at ${source.eventId.map(describe).join(' or at ')}.`,
    );
  return faultOf(id.text) ?? { ok: true, eventId: id.text, ...labels };
}

/** `true` is half of all events and no id; as a piece of one it may be what tells two facts apart. */
const isBoolean = (expression: Expression, document: ParsedBody): boolean =>
  'pointer' in expression && document.in(expression.in).isBooleanAt(expression.pointer);

function faultOf(eventId: string): Failure | undefined {
  if (eventId.length > EVENT_ID_MAX)
    return missing(`The event id is longer than ${EVENT_ID_MAX} characters.`);
  // A lone surrogate becomes U+FFFD in UTF-8, where two ids would become one and the second event be lost.
  return eventId.isWellFormed()
    ? undefined
    : missing('The event id is not valid Unicode: it holds half of a surrogate pair.');
}

const missing = (message: string): Failure => ({ ok: false, code: 'event_id_missing', message });

function describe(expression: Expression): string {
  if ('concat' in expression) return expression.concat.map(describe).join(' with ');
  if ('sha256' in expression) return 'the named parts';
  return 'header' in expression ? `header ${expression.header}` : `JSON pointer ${expression.pointer}`;
}

type Found =
  | { readonly kind: 'found'; readonly text: string }
  | { readonly kind: 'repeated'; readonly where: string }
  | { readonly kind: 'missing' };

/**
 * The first expression that yields a text that is not empty, and is not to be passed over. A repeated header or member ends
 * the search.
 */
function find(
  expressions: readonly Expression[],
  request: SignedRequest,
  document: ParsedBody,
  isPassedOver: (expression: Expression) => boolean = () => false,
): Found {
  for (const expression of expressions) {
    const found = evaluate(expression, request, document);
    if (found.kind !== 'missing' && !isPassedOver(expression)) return found;
  }
  return { kind: 'missing' };
}

function evaluate(expression: Expression, request: SignedRequest, document: ParsedBody): Found {
  if ('concat' in expression) {
    const pieces: string[] = [];
    for (const locator of expression.concat) {
      const piece = readLocator(locator, request, document);
      if (piece.kind !== 'found') return piece;
      // Escaped, or ('a:b', 'c') and ('a', 'b:c') would be one event.
      pieces.push(piece.text.replaceAll('%', '%25').replaceAll(expression.separator, encodeSeparator));
    }
    return { kind: 'found', text: pieces.join(expression.separator) };
  }
  if ('sha256' in expression) return hashParts(expression.sha256, request, document);
  return readLocator(expression, request, document);
}

const encodeSeparator = (separator: string): string =>
  `%${(separator.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(2, '0')}`;

function readLocator(locator: Locator, request: SignedRequest, document: ParsedBody): Found {
  const read =
    'pointer' in locator
      ? document.in(locator.in).readAt(locator.pointer)
      : readHeader(request.headers, locator.header);
  if (read.kind === 'repeated') return { kind: 'repeated', where: describe(locator) };
  return read.kind === 'one' && read.text !== '' ? { kind: 'found', text: read.text } : { kind: 'missing' };
}

type HashedParts = Extract<Expression, { sha256: unknown }>['sha256'];

/** A hash of named parts, each with its length, so that ('a', 'bc') is not ('ab', 'c'). */
function hashParts(parts: HashedParts, request: SignedRequest, document: ParsedBody): Found {
  const texts: string[] = [];
  for (const part of parts) {
    if (bodyFormOf(part) !== undefined) {
      texts.push(hashBytes(document.bytes));
    } else if (typeof part === 'object' && 'literal' in part) {
      texts.push(part.literal);
    } else if (typeof part === 'object' && ('header' in part || 'pointer' in part)) {
      const found = readLocator(part, request, document);
      if (found.kind === 'found') texts.push(found.text);
      else if (found.kind === 'missing' && 'or' in part && part.or !== undefined) texts.push(part.or);
      else return found;
    }
  }
  return { kind: 'found', text: `hash-${hashId(...texts)}` };
}

function labelAt(
  expressions: readonly Expression[] | undefined,
  request: SignedRequest,
  document: ParsedBody,
): string {
  const found = find(expressions ?? [], request, document);
  return found.kind === 'found'
    ? found.text
        .toWellFormed()
        .slice(0, LABEL_MAX)
        .replace(/[\uD800-\uDBFF]$/, '')
    : '';
}
