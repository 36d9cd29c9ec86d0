import { eachElement, findSpan } from '@breakwater/contracts/json-spans';
import type { Batch, Source } from '@breakwater/contracts/source-config';
import { documentOf, type Outer, ParsedBody, tokensOf } from './document.ts';
import { mediaTypeOf, readHeader, type SignedRequest } from './headers.ts';

export type Split =
  | { readonly ok: true; readonly items: readonly ParsedBody[] }
  | { readonly ok: false; readonly message: string };

/** A batch is split once, though verifying and locating both ask. */
const splits = new WeakMap<SignedRequest, Split>();

/** The items of a delivery, each with its own bytes; the whole body where the source sends no batches. */
export function splitDelivery(source: Source, request: SignedRequest): Split {
  const { batch } = source;
  if (batch === undefined || !isBatch(source, request))
    return { ok: true, items: [documentOf(source.parse, request)] };
  let split = splits.get(request);
  if (split === undefined) {
    split = divide(documentOf(source.parse, request), batch);
    splits.set(request, split);
  }
  return split;
}

/** Is the delivery a list of events? */
export function isBatch({ batch }: Pick<Source, 'batch'>, request: SignedRequest): boolean {
  if (batch === undefined) return false;
  if (batch.contentTypes === undefined) return true;
  const read = readHeader(request.headers, 'content-type');
  return read.kind === 'one' && batch.contentTypes.includes(mediaTypeOf(read.text));
}

function divide(document: ParsedBody, batch: Batch): Split {
  const items = itemsOf(document, batch);
  if (items === undefined) {
    const place = batch.pointer === '' ? 'The body is no list' : `There is no list at ${batch.pointer}`;
    return { ok: false, message: document.failure ?? `${place} whose items can be read.` };
  }
  if (items === 'too_many') return { ok: false, message: `The delivery has more than ${batch.max} items.` };
  return { ok: true, items };
}

/** The items, each a document of its own with its exact bytes. Undefined where they cannot be told. */
function itemsOf(
  delivery: ParsedBody,
  { pointer, item, nested, max }: Batch,
): ParsedBody[] | 'too_many' | undefined {
  const json = delivery.json();
  const elements = json === undefined ? undefined : listAt(json.text, tokensOf(pointer), max);
  if (!Array.isArray(elements)) return undefined;
  if (elements.length > max) return 'too_many';
  const [inner, lists] = [tokensOf(item), nested?.map(tokensOf)];
  const items: ParsedBody[] = [];
  for (const text of elements) {
    const element = documentAt(text, delivery);
    if (lists !== undefined) {
      const found = nestedItems(text, lists, max - items.length);
      if (found === undefined) return undefined;
      const outer: Outer = { element: () => element, delivery };
      items.push(...(found === 'none' ? [element] : found.map((each) => documentOfText(each, outer))));
    } else if (inner.length === 0) {
      items.push(element);
    } else {
      const found = findSpan(text, inner);
      if (typeof found === 'string') return undefined;
      items.push(documentOfText(text.slice(found.start, found.end), { element: () => element, delivery }));
    }
    if (items.length > max) return 'too_many';
  }
  return items;
}

/** Texts of the items in the lists of one element. `none`: it has none of the lists. */
function nestedItems(
  element: string,
  lists: readonly (readonly string[])[],
  max: number,
): string[] | 'none' | undefined {
  const items: string[] = [];
  let some = false;
  for (const tokens of lists) {
    const list = listAt(element, tokens, max);
    if (list === 'missing') continue;
    if (list === 'no_list') return undefined;
    some = true;
    items.push(...list);
  }
  return some ? items : 'none';
}

/** Texts of the elements of a list, one more than `max` at most. null counts as an empty list (Xero sends it). */
function listAt(text: string, tokens: readonly string[], max: number): string[] | 'missing' | 'no_list' {
  const span = findSpan(text, tokens);
  if (span === 'missing') return 'missing';
  if (span === 'repeated') return 'no_list';
  if (text.startsWith('null', span.start)) return [];
  if (text[span.start] !== '[') return 'no_list';
  return [...eachElement(text, span.start).take(max + 1)].map(({ start, end }) => text.slice(start, end));
}

const documentOfText = (text: string, outer: Outer): ParsedBody =>
  new ParsedBody(Buffer.from(text), { format: 'json' }, outer);

/** An element, which may be an item itself. */
function documentAt(text: string, delivery: ParsedBody): ParsedBody {
  const element: ParsedBody = documentOfText(text, { element: () => element, delivery });
  return element;
}
