import type { Source } from '@breakwater/contracts/source-config';
import { documentOf, type ParsedBody } from './document.ts';
import type { SignedRequest } from './headers.ts';

export type Split =
  | { readonly ok: true; readonly items: readonly ParsedBody[] }
  | { readonly ok: false; readonly message: string };

/** One delivery is split once, though verifying and locating both ask. */
const splits = new WeakMap<SignedRequest, Split>();

/** The items of a delivery, each with its own bytes; the whole body where the source sends no batches. */
export function splitDelivery(source: Source, request: SignedRequest): Split {
  let split = splits.get(request);
  if (split === undefined) {
    split = divide(source, request);
    splits.set(request, split);
  }
  return split;
}

function divide({ batch, parse }: Source, request: SignedRequest): Split {
  const document = documentOf(parse, request);
  if (batch === undefined) return { ok: true, items: [document] };
  const items = document.itemsAt(batch.pointer, batch.item, batch.max);
  if (items === undefined) {
    const place = batch.pointer === '' ? 'The body is no list' : `There is no list at ${batch.pointer}`;
    return { ok: false, message: document.failure ?? `${place} whose items can be read.` };
  }
  if (items.length > batch.max)
    return { ok: false, message: `The delivery has more than ${batch.max} items.` };
  return { ok: true, items };
}
