import { hashBytes, hashId, newId } from '@breakwater/contracts/ids';
import type { Source } from '@breakwater/contracts/source-config';
import type { SignedRequest } from '@breakwater/signatures/headers';
import { isBatch } from '@breakwater/signatures/items';
import type { LocatedItem } from '@breakwater/signatures/locate';
import { replayKeyOf } from '@breakwater/signatures/signed-content';
import type { IncomingEvent } from './accept.ts';

/** The content type only describes the body; a header may be 16 KiB, and it is stored with every event. */
const CONTENT_TYPE_MAX = 256;

/**
 * The events of a verified delivery, ready for the accept step. `nowMs`: when it arrived, ms since the epoch. `fresh`
 * makes the ids of deliveries that are each an event of their own; `index` is the item's.
 */
export function incomingEvents(
  name: string,
  source: Source,
  request: SignedRequest & { readonly nowMs: number },
  located: readonly LocatedItem[],
  fresh: (index: number) => string = newId,
): IncomingEvent[] {
  return located.map(({ document, undeduped, ...event }, index) => {
    const item = !isBatch(source, request) || event.parked ? undefined : index;
    const signedBytes = replayKeyOf(source, request, document, item);
    return {
      operator: source.operator,
      source: name,
      ...event,
      ...identityOf(name, source, event.eventId, document.bytes, { undeduped, fresh: () => fresh(index) }),
      contentType: (request.headers['content-type']?.[0] ?? '').slice(0, CONTENT_TYPE_MAX),
      bytes: document.bytes,
      receivedAt: request.nowMs,
      // Of this source: two sources that share a secret may be sent the same bytes, and mean two events.
      ...(signedBytes === undefined ? {} : { replayKey: hashId(source.operator, name, signedBytes) }),
    };
  });
}

/** Where a delivery is an event of its own, or until it is merged, its event has an id of its own. */
function identityOf(
  name: string,
  { operator, dedupe }: Source,
  eventId: string,
  bytes: Buffer,
  { undeduped, fresh }: { readonly undeduped: true | undefined; readonly fresh: () => string },
): Pick<IncomingEvent, 'dedupeMs' | 'coalesce'> & { readonly eventId: string } {
  if (undeduped || dedupe.policy === 'none') return { eventId: `${eventId}-${fresh()}` };
  if (dedupe.policy === 'event')
    return { eventId, ...(dedupe.ttlMs !== undefined && { dedupeMs: dedupe.ttlMs }) };
  const own = fresh();
  return {
    eventId: `${eventId}-${own}`,
    coalesce: {
      // Only equal bytes: what another body says must not be swallowed.
      claim: hashId('coalesce', operator, name, eventId, hashBytes(bytes)),
      fresh: own,
      windowMs: dedupe.windowMs,
    },
  };
}
