import { HOUR_MS } from '@breakwater/store/source-use';

export interface SourceActivity {
  /** ms since the epoch; undefined while nothing was observed. */
  readonly observedSince: number | undefined;
  readonly lastSeenAt: number | undefined;
  /** Verified requests by hour (hours since the epoch). */
  readonly hours: ReadonlyMap<number, number>;
}

export interface Silence {
  readonly silent: boolean;
  /** ms since the last verified request; undefined where there was none. */
  readonly quietMs: number | undefined;
  /** How long this source may be quiet, ms; undefined while it is not known well enough. */
  readonly patienceMs: number | undefined;
  /** Requests that usually come in a time such as the quiet one. */
  readonly expected: number;
}

const DAY = 24;
const WEEK = 7 * DAY;
/** Below it a deployment of the sender, or a pause of its queue, is no news. */
const PATIENCE_MS = 2 * HOUR_MS;
/** Of arrivals at random, a gap of ten usual ones comes once in 22,000. */
const USUAL_GAPS = 10;
/** Where five are expected at random, none comes once in 150 times; where three are, once in 20. */
const EXPECTED_MIN = 5;
/** Hours are UTC, and senders' clocks change twice a year: work may end an hour earlier and begin an hour later. */
const SLACK_MS = HOUR_MS;

/**
 * Has a source that usually sends gone quiet? It has when both hold:
 *
 * - Nothing came for 2 h and for ten times its usual gap, which is an hour divided by the median of the hours that had
 *   traffic. The median, so that neither a retry storm nor a nightly batch makes a source look busier than it is.
 * - In the week before the last request, five or more came in the same hours of the week as those that are quiet now. An
 *   hour counts for what it had a week before or for its median over seven days, whichever is less: so nights and weekends
 *   are no silence, nor is what happened once. The first and the last hour of the quiet time do not count (SLACK_MS).
 *
 * Everything is compared with the time before the last request, so a silence does not become usual by lasting. Only its
 * first week is looked at, which has every hour of a week.
 *
 * A source that has not been observed for a week before it went quiet is never silent: what is usual is not known. Nor is
 * one that sends less than about once in an hour of its busy hours: the alert for that is the age of its last request.
 */
export function judgeSilence({ observedSince, lastSeenAt, hours }: SourceActivity, now: number): Silence {
  const quietMs = lastSeenAt === undefined ? undefined : Math.max(0, now - lastSeenAt);
  if (quietMs === undefined || lastSeenAt === undefined || observedSince === undefined)
    return { silent: false, quietMs, patienceMs: undefined, expected: 0 };
  const lastHour = Math.floor(lastSeenAt / HOUR_MS);
  const week = Array.from({ length: WEEK }, (_, back) => hours.get(lastHour - back) ?? 0);
  const busy = week.filter((count) => count > 0);
  if (lastSeenAt - observedSince < WEEK * HOUR_MS || busy.length === 0)
    return { silent: false, quietMs, patienceMs: undefined, expected: 0 };
  const patienceMs = Math.max(PATIENCE_MS, (USUAL_GAPS * HOUR_MS) / median(busy));
  const looked = Math.min(quietMs, WEEK * HOUR_MS);
  const expected = usualBetween(hours, lastHour, lastSeenAt + SLACK_MS, lastSeenAt + looked - SLACK_MS);
  return { silent: quietMs >= patienceMs && expected >= EXPECTED_MIN, quietMs, patienceMs, expected };
}

/** What usually comes between two times, hours counted by the part that lies in between. */
function usualBetween(
  hours: ReadonlyMap<number, number>,
  lastHour: number,
  from: number,
  until: number,
): number {
  let sum = 0;
  for (let hour = Math.floor(from / HOUR_MS); hour * HOUR_MS < until; hour += 1) {
    const part = Math.min(until, (hour + 1) * HOUR_MS) - Math.max(from, hour * HOUR_MS);
    sum += (usualIn(hours, hour, lastHour) * Math.max(0, part)) / HOUR_MS;
  }
  return sum;
}

/** The usual count of an hour, from those before `lastHour`: that one itself was cut short by the silence. */
function usualIn(hours: ReadonlyMap<number, number>, hour: number, lastHour: number): number {
  const before = (period: number): number =>
    hour - period * Math.max(1, Math.ceil((hour - lastHour + 1) / period));
  const weekBefore = hours.get(before(WEEK)) ?? 0;
  const dayBefore = before(DAY);
  return Math.min(
    weekBefore,
    median(Array.from({ length: 7 }, (_, days) => hours.get(dayBefore - days * DAY) ?? 0)),
  );
}

function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((one, other) => one - other);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2;
}
