import { isUtf8 } from 'node:buffer';
import { type EventContent, withoutMark } from './event-content.ts';

/**
 * The body that an endpoint gets: `{"id","type","timestamp","data"}`, where `data` is the source's own bytes, spliced in
 * and never re-serialised (1.10 stays 1.10). A body that is not JSON becomes a JSON string; bytes that are not text
 * become base64 with `"dataEncoding":"base64"`. `timestamp` is when the event occurred, as Standard Webhooks means it,
 * where the sender said so, else when it was received. Both are of the event, so the body is the same in every attempt and
 * replay; that of the attempt is in the header `webhook-timestamp`.
 */
export function envelope(event: EventContent): Buffer {
  const head = JSON.stringify({
    id: event.eventId,
    type: event.type,
    timestamp: new Date(event.occurredAt ?? event.receivedAt).toISOString(),
  }).slice(0, -1);
  return Buffer.concat([Buffer.from(`${head},"data":`), ...dataOf(event), Buffer.from('}')]);
}

function dataOf(event: EventContent): Buffer[] {
  if (event.isJson) return [withoutMark(event.body)];
  if (isUtf8(event.body)) return [Buffer.from(JSON.stringify(event.body.toString('utf8')))];
  return [Buffer.from(`${JSON.stringify(event.body.toString('base64'))},"dataEncoding":"base64"`)];
}
