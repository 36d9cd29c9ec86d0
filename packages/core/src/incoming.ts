import { hashId, newId } from '@breakwater/contracts/ids';
import type { Source } from '@breakwater/contracts/source-config';
import type { SignedRequest } from '@breakwater/signatures/headers';
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
    const item = source.batch === undefined || event.parked ? undefined : index;
    const signedBytes = replayKeyOf(source, request, document, item);
    return {
      operator: source.operator,
      source: name,
      ...event,
      // Each delivery is an event of its own, so each has an id of its own.
      ...((source.dedupe === 'none' || undeduped) && { eventId: `${event.eventId}-${fresh(index)}` }),
      contentType: (request.headers['content-type']?.[0] ?? '').slice(0, CONTENT_TYPE_MAX),
      bytes: document.bytes,
      receivedAt: request.nowMs,
      // Of this source: two sources that share a secret may be sent the same bytes, and mean two events.
      ...(signedBytes === undefined ? {} : { replayKey: hashId(source.operator, name, signedBytes) }),
    };
  });
}
