import { DURATION_MAX, parseDurationMs, parseScheduleMs } from '@breakwater/contracts/duration';
import { operatorName } from '@breakwater/contracts/operator';
import { AppError } from '@breakwater/runtime/errors';
import { InvalidArgumentError, Option } from 'commander';

/** Parser of a whole number within bounds. */
export const wholeNumber =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^\d{1,15}$/.test(text) || value < min || value > max)
      throw new InvalidArgumentError(`Expected a whole number from ${min} to ${max}.`);
    return value;
  };

export function parseDuration(text: string): number {
  const ms = parseDurationMs(text);
  if (ms === undefined)
    throw new InvalidArgumentError(`Expected a duration such as 500ms, 5s or 2m, at most ${DURATION_MAX}.`);
  return ms;
}

/** With its zone: a time without one means something else on every machine. Ms since the epoch. */
export function parseTime(text: string): number {
  const at = timeOf(text);
  if (at === undefined)
    throw new InvalidArgumentError('Expected a time with its zone such as 2026-01-31T12:00:00Z.');
  return at;
}

function timeOf(text: string): number | undefined {
  const at = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/.test(text)
    ? Date.parse(text)
    : Number.NaN;
  return Number.isNaN(at) ? undefined : at;
}

/** A time (`2026-01-31T12:00Z`), or an age (`6h`: so long before now). */
export function parseTimeOrAge(text: string): (nowMs: number) => number {
  const age = parseDurationMs(text);
  if (age !== undefined) return (nowMs) => nowMs - age;
  const at = timeOf(text);
  if (at === undefined)
    throw new InvalidArgumentError(
      `Expected an age such as 24h, at most ${DURATION_MAX}, or a time with its zone such as 2026-01-31T12:00:00Z.`,
    );
  return () => at;
}

const SCHEDULE_MAX = 50; // as many entries as the configuration allows

export function parseSchedule(text: string): number[] {
  const schedule = parseScheduleMs(text);
  if (!schedule || schedule.length > SCHEDULE_MAX) {
    throw new InvalidArgumentError(
      `Expected at most ${SCHEDULE_MAX} waits such as 0s,1m,5m, none above 30d; every entry is one attempt.`,
    );
  }
  return schedule;
}

const RATE_MAX = 1_000; // one after the other, a replay takes about a millisecond

/** `20/s` or `30/m`, per second. */
export function parseRate(text: string): number {
  const match = /^(\d{1,6})\/([sm])$/.exec(text);
  const perSecond = Number(match?.[1] ?? 0) / (match?.[2] === 'm' ? 60 : 1);
  if (perSecond <= 0 || perSecond > RATE_MAX)
    throw new InvalidArgumentError(`Expected a rate such as 20/s or 30/m, at most ${RATE_MAX}/s.`);
  return perSecond;
}

export const parseList = (text: string): string[] => {
  const items = text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean);
  if (items.length === 0) throw new InvalidArgumentError('Expected names separated by commas.');
  return items;
};

/** For options that may be given several times, one value each: `--source a --source b`. */
export const collect = (text: string, previous: readonly string[] | undefined): string[] => [
  ...(previous ?? []),
  text,
];

/** As collect, for a closed set of words. */
export const oneOf =
  <T extends string>(words: readonly T[]) =>
  (text: string, previous: readonly T[] | undefined): T[] => {
    const word = words.find((each) => each === text);
    if (word === undefined) throw new InvalidArgumentError(`Expected one of ${words.join(', ')}.`);
    return [...(previous ?? []), word];
  };

export const limitOption = (): Option =>
  new Option('--limit <n>', 'at most so many').default(50).argParser(wholeNumber(1, 1_000));
/** See context.confirm. */
export const yesOption = (): Option =>
  new Option('--yes', 'do not ask whether to go on; only a terminal is asked');

export interface PageOptions {
  readonly limit: number;
  readonly cursor?: string;
}
export const cursorOption = (): Option =>
  new Option('--cursor <text>', 'go on behind an earlier page: its nextCursor');
export const offsetOption = (): Option =>
  new Option('--offset <n>', 'skip so many').default(0).argParser(wholeNumber(0, 1e9));
export const dryRunOption = (): Option =>
  new Option('--dry-run', 'check everything, say what would happen, change nothing');
export const waitTimeoutOption = (): Option =>
  new Option('--timeout <duration>', 'how long --wait waits').default(300_000, '5m').argParser(parseDuration);

export function parseOperator(text: string): string {
  const { success, error } = operatorName.safeParse(text);
  if (!success) throw new InvalidArgumentError(`${error.issues[0]?.message ?? ''}.`);
  return text;
}

/** Canonical checks are the egress guard's, whose advice would mislead for what is no URL at all. */
export function parseUrl(text: string): string {
  if (!URL.canParse(text))
    throw new InvalidArgumentError('Expected a URL such as https://partner.example/hook.');
  return text;
}

/** A reason goes into the audit log for a person who asks later; blanks would tell that person nothing. */
export function checkReason(reason: string): string {
  if (reason.trim() === '')
    throw new AppError('request_invalid', 'The reason is empty: say in a few words why (--reason).');
  return reason;
}
