/** A peer may lengthen a wait, but not park a delivery for longer than this. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000;

/** The three date formats of RFC 9110, 5.6.7 all begin with a day name; Date.parse alone would also take `2` for a date. */
const HTTP_DATE = /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .*\d\d:\d\d:\d\d/;

/**
 * Reads a Retry-After header (RFC 9110, 10.2.3): seconds or an HTTP date. Returns milliseconds from `nowMs` (ms since
 * the epoch), at most 24 h; undefined when the header is missing, unreadable or in the past.
 */
export function parseRetryAfterMs(value: string | undefined, nowMs: number): number | undefined {
  const text = value?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1_000, MAX_RETRY_AFTER_MS);
  if (!HTTP_DATE.test(text)) return undefined;
  // The asctime form carries no zone, which Date.parse would read as local time; it means GMT.
  const at = Date.parse(text.endsWith('GMT') ? text : `${text} GMT`);
  if (Number.isNaN(at) || at < nowMs) return undefined;
  return Math.min(at - nowMs, MAX_RETRY_AFTER_MS);
}
