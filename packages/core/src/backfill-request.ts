import type { Source } from '@breakwater/contracts/source-config';
import { hashBytes } from '@breakwater/contracts/ids';
import { handshakeOf } from '@breakwater/signatures/handshake';
import { headerLines, type HeaderLines } from '@breakwater/signatures/headers';
import { locateEvents } from '@breakwater/signatures/locate';
import { typeMatches } from '@breakwater/contracts/type-pattern';
import { z } from 'zod';
import type { IncomingEvent } from './accept.ts';
import { incomingEvents } from './incoming.ts';

/** A delivery that our own outage missed. No signature: whoever runs the back-fill vouches for it. */
export interface MissedDelivery {
  readonly body: Buffer;
  readonly headers: HeaderLines;
  readonly query: string;
}

export type Read<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly message: string };

/** The body as text, or base64 where it is not UTF-8. Header values as they were. */
const Envelope = z.union([
  z.strictObject({
    body: z.string(),
    headers: z.record(z.string(), z.string()).default({}),
    query: z.string().default(''),
  }),
  z.strictObject({
    bodyBase64: z.base64(),
    headers: z.record(z.string(), z.string()).default({}),
    query: z.string().default(''),
  }),
]);

/** `body`: a line is the body itself. `request`: a line is `{"body" | "bodyBase64", "headers"?, "query"?}`. */
export type LineFormat = 'body' | 'request';

/** Reads a line of a file. */
export function readMissed(bytes: Buffer, format: LineFormat): Read<MissedDelivery> {
  if (format === 'body') return { ok: true, value: { body: bytes, headers: headerLines([]), query: '' } };
  let json: unknown;
  try {
    json = JSON.parse(bytes.toString('utf8'));
  } catch {
    return { ok: false, message: 'The line is not valid JSON.' };
  }
  const envelope = Envelope.safeParse(json);
  if (!envelope.success) {
    const message =
      'Expected {"body": "<text>"} or {"bodyBase64": "<base64>"}, with "headers" and "query" where needed.';
    return { ok: false, message };
  }
  const { headers, query } = envelope.data;
  const body =
    'body' in envelope.data
      ? Buffer.from(envelope.data.body, 'utf8')
      : Buffer.from(envelope.data.bodyBase64, 'base64');
  return { ok: true, value: { body, headers: headerLines(Object.entries(headers).flat()), query } };
}

/**
 * The events of a missed delivery, by the source's own rules and over its exact bytes, so that an id is the one that the
 * webhook had or will have. What could not be told from its webhook is an error here, although ingest would take it.
 * `types`: only events whose type matches one of these; empty for all.
 */
export function eventsOf(
  name: string,
  source: Source,
  missed: MissedDelivery,
  nowMs: number,
  types: readonly string[],
): Read<IncomingEvent[]> {
  if (missed.body.length > source.maxBodyBytes)
    return {
      ok: false,
      message: `The body is larger than the ${source.maxBodyBytes} bytes that this source takes.`,
    };
  const request = { ...missed, method: 'POST', nowMs };
  if ([true, false].some((verified) => handshakeOf(source, request, verified).kind !== 'none'))
    return { ok: true, value: [] }; // a challenge or a ping
  const located = locateEvents(source, request);
  if (!located.ok) return { ok: false, message: located.message };
  for (const { parked, undeduped } of located.events) {
    if (parked) return { ok: false, message: 'The body cannot be read, so its event id is not known.' };
    if (undeduped)
      return {
        ok: false,
        message: 'There is no event id, so nothing tells it from what the webhook brought.',
      };
  }
  const events = incomingEvents(name, source, request, located.events, () => hashBytes(missed.body));
  return {
    ok: true,
    value: events.filter(
      ({ type }) => types.length === 0 || types.some((pattern) => typeMatches(pattern, type)),
    ),
  };
}
