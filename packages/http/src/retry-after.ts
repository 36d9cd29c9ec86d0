/** A peer may lengthen a wait, but not park a delivery for longer than this. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/**
 * The three date formats of RFC 9110, 5.6.7: IMF-fixdate, RFC 850, asctime (which carries no zone and means GMT).
 * Date.parse alone would also take `2` for a date, and read a zone that it does not know as it likes.
 */
const HTTP_DATE =
  /^(?:[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT|[A-Z][a-z]{5,8}, \d\d-[A-Z][a-z]{2}-\d\d [\d:]{8} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})$/;

/**
 * Reads a Retry-After header (RFC 9110, 10.2.3): seconds or an HTTP date. Of several headers node keeps the first. Returns milliseconds from `nowMs` (ms since
 * the epoch), at most 24 h; undefined when the header is missing, unreadable or in the past.
 */
export function parseRetryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, MAX_RETRY_AFTER_MS);
  if (!HTTP_DATE.test(text)) return undefined;
  // Date.parse would read the asctime form as local time.
  const at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  if (Number.isNaN(at) || at < nowMs) return undefined;
  return Math.min(at - nowMs, MAX_RETRY_AFTER_MS);
}
