import type { ResponseSample } from '@breakwater/contracts/attempt-result';
import type { HttpResponse } from './outcome.ts';

const SAMPLE_BYTES = 1_024;
const CONTENT_TYPE_CHARS = 100;
const MASK = '[redacted]';

/** A cut-off secret shorter than this gives nothing away, and masking it would mangle innocent words. */
const SHORTEST_REMNANT = 4;

/**
 * What to read of a body (`maxBodyBytes`) when only a sample is wanted: more than the sample, so that a secret which
 * straddles its end is still seen whole (no secret of ours is near 1 KiB).
 */
export const SAMPLE_READ_BYTES = SAMPLE_BYTES + 1_024;

/**
 * The first 1 KiB of a body as UTF-8 text, invalid bytes replaced, never cut inside a character. `redact` are secrets
 * that a receiver may have echoed; they are masked before the cut. The text is the peer's: escape it when shown.
 */
export function sampleOf(response: HttpResponse, redact: readonly string[]): ResponseSample {
  const secrets = longestFirst(redact);
  const whole = decode(response);
  const masked = response.truncated ? maskRemnant(mask(whole, secrets), secrets) : mask(whole, secrets);
  const text = cut(masked);
  return {
    contentType: mask(String(response.headers['content-type'] ?? ''), secrets).slice(0, CONTENT_TYPE_CHARS),
    text,
    truncated: response.truncated || text.length < masked.length,
  };
}

/** `stream` leaves out a character that the end of a truncated body has cut apart. */
function decode({ body, truncated }: HttpResponse): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(body, { stream: truncated });
}

/** A text without these secrets. */
export const redacted = (text: string, redact: readonly string[]): string => mask(text, longestFirst(redact));

/** A secret may contain another. */
const longestFirst = (secrets: readonly string[]): string[] =>
  secrets.filter((secret) => secret !== '').toSorted((one, other) => other.length - one.length);

function mask(text: string, secrets: readonly string[]): string {
  let masked = text;
  for (const secret of secrets) masked = masked.replaceAll(secret, MASK);
  return masked;
}

/** Masks the beginning of a secret at the very end of a body of which the rest was not read. */
function maskRemnant(text: string, secrets: readonly string[]): string {
  for (const secret of secrets) {
    for (let length = Math.min(secret.length - 1, text.length); length >= SHORTEST_REMNANT; length -= 1) {
      if (text.endsWith(secret.slice(0, length))) return text.slice(0, -length) + MASK;
    }
  }
  return text;
}

function cut(text: string): string {
  const bytes = new Uint8Array(SAMPLE_BYTES);
  const { read } = new TextEncoder().encodeInto(text, bytes); // stops before a character that does not fit
  return text.slice(0, read);
}
