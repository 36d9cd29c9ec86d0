import { z } from 'zod';

const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
/** 100 years: far below what Redis and JavaScript can count in ms. */
export const DURATION_MAX = '36500d';
const MAX_MS = 36_500 * 86_400_000;
/** No Date holds a later instant (ECMA-262, "Time Values and Time Range"): making a text of it would throw. */
export const LATEST_MS = 8.64e15;
const PATTERN = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/;

/** `250ms`, `30s`, `5m`, `6h`, `45d` in milliseconds; undefined when it is none of these, or longer than DURATION_MAX. */
export function parseDurationMs(text: string): number | undefined {
  const ms = readMs(text);
  return ms !== undefined && ms <= MAX_MS ? ms : undefined;
}

function readMs(text: string): number | undefined {
  const match = PATTERN.exec(text.trim());
  const unit = Object.entries(UNIT_MS).find(([name]) => name === match?.[2]);
  return match && unit ? Math.round(Number(match[1]) * unit[1]) : undefined;
}

/** A duration in configuration: written `30s`, read as milliseconds. A bare 0 is allowed. */
export const duration = z.union([z.string(), z.literal(0)]).transform((value, context): number => {
  const ms = value === 0 || value === '0' ? 0 : readMs(value);
  if (ms !== undefined && ms <= MAX_MS) return ms;
  if (ms !== undefined) {
    context.addIssue({ code: 'custom', message: `expected at most ${DURATION_MAX}` });
    return z.NEVER;
  }
  context.addIssue({ code: 'custom', message: 'expected a duration such as 250ms, 30s, 5m, 6h or 45d' });
  return z.NEVER;
});

/** A time-out in configuration. Node's timers fire at once beyond 24 days, and 0 would fail everything. */
export const timeout = duration.refine((ms) => ms >= 100 && ms <= 600_000, 'expected 100ms to 10m');

/** Longest wait of a retry schedule. */
export const RETRY_WAIT_MAX_MS = 30 * 86_400_000;

/** One wait of a retry schedule. */
export const retryWait = duration.refine((ms) => ms <= RETRY_WAIT_MAX_MS, 'expected at most 30d');

/** Reads `0s,1m,5m` (RETRY_SCHEDULE). Every entry is one attempt; undefined when one is no duration, or longer than 30d. */
export function parseScheduleMs(text: string): number[] | undefined {
  const waits = text.split(',').map((entry) => parseDurationMs(entry) ?? Number.NaN);
  return waits.every((wait) => wait <= RETRY_WAIT_MAX_MS) ? waits : undefined;
}

/** `90000` as `90s`: exact, and in the form that parseDurationMs reads. */
export function writeDuration(ms: number): string {
  const [unit, size] = Object.entries(UNIT_MS).findLast(([, each]) => ms % each === 0 && ms >= each) ?? [
    's',
    UNIT_MS.s,
  ];
  return `${ms / size}${unit}`;
}

/** `61000` as `1m 1s`, for people. */
export function formatDuration(ms: number): string {
  if (Math.round(ms) < 1_000) return `${Math.round(ms)}ms`;
  const parts: string[] = [];
  let rest = Math.round(ms / 1_000);
  for (const [unit, seconds] of [
    ['d', 86_400],
    ['h', 3_600],
    ['m', 60],
    ['s', 1],
  ] as const) {
    const count = Math.floor(rest / seconds);
    if (count > 0) parts.push(`${count}${unit}`);
    rest -= count * seconds;
  }
  return parts.slice(0, 2).join(' ');
}
