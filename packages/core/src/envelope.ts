import { isUtf8 } from 'node:buffer';
import { escapedBytes } from '@breakwater/contracts/json-size';
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
  if (isUtf8(event.body)) return [jsonString(event.body)];
  return [Buffer.from(`${JSON.stringify(event.body.toString('base64'))},"dataEncoding":"base64"`)];
}

/** No JSON is escaped to more than twice its bytes, and that much the attempts' memory has room for. */
const MAY_GROW = 2;

/**
 * About how many bytes the body of an event becomes when it is sent: its own, but where it is a text of control characters, of which each
 * is six as JSON. An endpoint that takes raw bodies needs less.
 */
export function bytesToSend(body: Buffer): number {
  const escaped = escapedBytes(body);
  return escaped > body.length * MAY_GROW && isUtf8(body) ? escaped : body.length;
}

const QUOTE = Buffer.from('"');
/** Small beside any heap. */
const PIECE_BYTES = 65_536;

/** What JSON.stringify makes of a text, in pieces: as one string it would be in the heap, which may be smaller than that. */
function jsonString(text: Buffer): Buffer {
  const written = Buffer.alloc(escapedBytes(text) + 2, QUOTE);
  let at = 1;
  for (let from = 0; from < text.length;) {
    let to = Math.min(from + PIECE_BYTES, text.length);
    while (isInsideCharacter(text[to])) to -= 1;
    at += written.write(JSON.stringify(text.toString('utf8', from, to)).slice(1, -1), at);
    from = to;
  }
  return written;
}

/** Bytes of UTF-8 that no character begins with. */
const isInsideCharacter = (byte = 0): boolean => (byte & 0b1100_0000) === 0b1000_0000;
