import type { ResponseSample } from '@breakwater/contracts/attempt-result';
import type { Span } from '@breakwater/contracts/linear-pattern';
import type { HttpResponse } from './outcome.ts';
import { createRedaction, findSecrets } from './redaction.ts';

const SAMPLE_BYTES = 1_024;
const CONTENT_TYPE_CHARS = 100;
const MASK = '[redacted]';
const WELL_KNOWN = createRedaction();

/**
 * What to read of a body (`maxBodyBytes`) when only a sample is wanted: more than the sample, so that a secret which
 * straddles its end is still seen whole (no secret of ours is near 1 KiB).
 */
export const SAMPLE_READ_BYTES = SAMPLE_BYTES + 1_024;

/**
 * The first 1 KiB of a body as UTF-8 text, invalid bytes replaced, never cut inside a character. `secrets` are those that
 * a receiver may have echoed; they and what looks like a secret (redaction.ts, and the client's own patterns) are masked
 * before the cut. The text is the peer's: escape it when shown.
 */
export function sampleOf(response: HttpResponse, secrets: readonly string[]): ResponseSample {
  const { find } = response.redaction ?? WELL_KNOWN;
  const spansIn = (text: string, isCutOff: boolean): Span[] => [
    ...findSecrets(text, secrets, isCutOff),
    ...find(text, isCutOff),
  ];
  const whole = decode(response);
  // What lies behind the first 1 KiB was read to recognise what begins in it. It is not shown, however much masking saves:
  // at its own end nothing would be recognised.
  const shown = lengthWithin(whole, SAMPLE_BYTES);
  const masked = mask(whole, spansIn(whole, response.truncated), shown);
  const text = masked.slice(0, lengthWithin(masked, SAMPLE_BYTES));
  const contentType = String(response.headers['content-type'] ?? '');
  return {
    contentType: mask(contentType, spansIn(contentType, false), contentType.length).slice(
      0,
      CONTENT_TYPE_CHARS,
    ),
    text,
    truncated: response.truncated || shown < whole.length || text.length < masked.length,
  };
}

/** A text of ours or of a peer's without these secrets, and without what looks like one. */
export const redacted = (text: string, secrets: readonly string[], redaction = WELL_KNOWN): string =>
  mask(text, [...findSecrets(text, secrets, false), ...redaction.find(text, false)], text.length);

/**
 * In the charset that the answer names, or else UTF-8: what is not read as its writer meant it hides secrets. A packed
 * body is no text, and unpacking it is what a bomb waits for. `stream` leaves out a character that the end of a
 * truncated body has cut apart.
 */
function decode({ body, headers, truncated }: HttpResponse): string {
  const encoding = String(headers['content-encoding'] ?? '').trim();
  if (encoding !== '' && !/^identity$/i.test(encoding) && body.length > 0)
    return `[packed (${encoding.slice(0, 40)}), not shown]`;
  return decoderFor(String(headers['content-type'] ?? '')).decode(body, { stream: truncated });
}

function decoderFor(contentType: string): InstanceType<typeof TextDecoder> {
  const charset = /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(contentType)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(charset, { ignoreBOM: true });
  } catch {
    return new TextDecoder('utf-8', { ignoreBOM: true }); // a name that nobody knows
  }
}

/** The text up to `end`, with every span that begins before it replaced. */
function mask(text: string, spans: readonly Span[], end: number): string {
  let masked = '';
  let from = 0;
  for (const span of merge(spans)) {
    if (span.start >= end) break;
    masked += text.slice(from, span.start) + MASK;
    from = span.end;
  }
  return masked + text.slice(from, Math.max(from, end));
}

/** In order, and one where they overlap or touch. */
function merge(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans.toSorted((one, other) => one.start - other.start)) {
    const last = merged.at(-1);
    if (last && span.start <= last.end)
      merged.splice(-1, 1, { start: last.start, end: Math.max(last.end, span.end) });
    else merged.push(span);
  }
  return merged;
}

/** How much of a text fits into so many bytes of UTF-8, without cutting a character. */
function lengthWithin(text: string, bytes: number): number {
  return new TextEncoder().encodeInto(text, new Uint8Array(bytes)).read;
}
