import { formatDuration } from '@breakwater/contracts/duration';

/** `2026-11-30 14:03:05Z (in 4m 10s)`; '-' for no time. Both in ms since the epoch. */
export function formatTime(at: number | null, now: number): string {
  if (at === null || !Number.isFinite(at) || at <= 0) return '-';
  const absolute = `${new Date(at).toISOString().slice(0, 19).replace('T', ' ')}Z`;
  const wait = at - now;
  if (Math.abs(wait) < 1_000) return `${absolute} (now)`;
  return `${absolute} (${wait > 0 ? `in ${formatDuration(wait)}` : `${formatDuration(-wait)} ago`})`;
}
