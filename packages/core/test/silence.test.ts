import { describe, expect, test } from '@jest/globals';
import { judgeSilence } from '../src/silence.ts';

const HOUR = 3_600_000;
/** Monday 2026-11-02, 00:00 UTC. */
const MONDAY = Date.UTC(2026, 10, 2);
const at = (day: number, hour: number): number => MONDAY + (day * 24 + hour) * HOUR;

/** A source that has sent `perHour(day, hour)` requests since MONDAY until `lastSeenAt`, day 0 a Monday. */
function sending(perHour: (weekday: number, hour: number) => number, lastSeenAt: number) {
  const hours = new Map<number, number>();
  for (let time = MONDAY; time <= lastSeenAt; time += HOUR) {
    const date = new Date(time);
    const count = perHour((date.getUTCDay() + 6) % 7, date.getUTCHours());
    if (count > 0) hours.set(time / HOUR, count);
  }
  return { observedSince: MONDAY, lastSeenAt, hours };
}
const always = (count: number) => () => count;
const office = (weekday: number, hour: number): number => (weekday < 5 && hour >= 9 && hour < 17 ? 20 : 0);

describe('a steady source', () => {
  const lastSeenAt = at(10, 12);
  const source = sending(always(60), lastSeenAt);

  test('is silent after two hours without a request, and the time in which five would have come', () => {
    const after = 2 * HOUR + HOUR / 12;
    expect(judgeSilence(source, lastSeenAt + after - 1).silent).toBe(false);
    expect(judgeSilence(source, lastSeenAt + after)).toEqual({
      silent: true,
      quietMs: after,
      patienceMs: 2 * HOUR,
      expected: 5,
    });
  });

  test('stays silent: a silence does not become usual by lasting', () => {
    for (const days of [1, 7, 8, 15, 400])
      expect([days, judgeSilence(source, lastSeenAt + days * 24 * HOUR).silent]).toEqual([days, true]);
  });

  test('is not silent by a clock that is behind', () => {
    expect(judgeSilence(source, lastSeenAt - 5 * HOUR)).toMatchObject({ silent: false, quietMs: 0 });
  });
});

test('a source that sends once an hour is given ten hours', () => {
  const lastSeenAt = at(10, 0);
  const source = sending(always(1), lastSeenAt);
  expect(judgeSilence(source, lastSeenAt + 10 * HOUR - 1).silent).toBe(false);
  expect(judgeSilence(source, lastSeenAt + 10 * HOUR).silent).toBe(true);
});

describe('a source of office hours', () => {
  const friday = at(11, 17) - 1;
  const source = sending(office, friday);

  test('is not silent at night, nor at the weekend', () => {
    const night = sending(office, at(8, 17) - 1);
    for (let hour = 0; hour < 16; hour += 1)
      expect([hour, judgeSilence(night, at(8, 17) + hour * HOUR).silent]).toEqual([hour, false]);
    for (let hour = 0; hour < 64; hour += 1)
      expect([hour, judgeSilence(source, at(11, 17) + hour * HOUR).silent]).toEqual([hour, false]);
  });

  test('is silent when Monday does not begin, an hour of changed clocks allowed', () => {
    expect(judgeSilence(source, at(14, 10)).silent).toBe(false);
    expect(judgeSilence(source, at(14, 10.5)).silent).toBe(true);
  });

  test('is not silent in the evening when its clocks went forward and it ends an hour earlier', () => {
    const early = sending(office, at(9, 16) - 1);
    for (let hour = 0; hour < 17; hour += 1)
      expect([hour, judgeSilence(early, at(9, 16) + hour * HOUR).silent]).toEqual([hour, false]);
  });

  test('is silent when it stops in the middle of a day', () => {
    expect(judgeSilence(sending(office, at(9, 11)), at(9, 13.5)).silent).toBe(true);
  });
});

test('a nightly batch does not make a source look busy by day', () => {
  const source = sending((_, hour) => (hour === 2 ? 5_000 : 0), at(10, 2));
  expect(judgeSilence(source, at(10, 23)).silent).toBe(false);
  expect(judgeSilence(source, at(11, 5)).silent).toBe(true);
});

test('a nightly batch does not shorten the patience with a source that sends once an hour', () => {
  const lastSeenAt = at(10, 12);
  const source = sending((_, hour) => (hour === 2 ? 5_000 : 1), lastSeenAt);
  expect(judgeSilence(source, lastSeenAt + 3 * HOUR)).toMatchObject({ patienceMs: 10 * HOUR, silent: false });
});

test('what came once, on one day, is not expected again', () => {
  const lastSeenAt = at(10, 6);
  const source = sending((_, hour) => (hour === 6 ? 1 : 0), lastSeenAt);
  source.hours.set(at(4, 12) / HOUR, 100_000);
  expect(judgeSilence(source, at(11, 14))).toMatchObject({ silent: false, expected: 1 });
});

test('of a long silence only the first week is looked at', () => {
  const lastSeenAt = at(20, 0);
  const source = sending(always(60), lastSeenAt);
  const week = judgeSilence(source, lastSeenAt + 7 * 24 * HOUR).expected;
  expect(week).toBe(60 * (7 * 24 - 2));
  expect(judgeSilence(source, lastSeenAt + 50 * 24 * HOUR).expected).toBe(week);
});

test('a storm of retries one day is not what is usual from then on', () => {
  const source = sending((weekday, hour) => (weekday === 2 && hour === 12 ? 100_000 : 0), at(9, 12));
  expect(judgeSilence(source, at(17, 12)).silent).toBe(false);
});

test('what is rare is never silent: its age is there for that', () => {
  const source = sending((_, hour) => (hour % 12 === 0 ? 1 : 0), at(10, 0));
  expect(judgeSilence(source, at(12, 0))).toMatchObject({ silent: false });
});

test('without a week of observation nothing is usual', () => {
  const lastSeenAt = at(6, 0);
  expect(judgeSilence(sending(always(60), lastSeenAt), at(7, 0))).toMatchObject({
    silent: false,
    patienceMs: undefined,
  });
});

test('a source from which nothing ever came is not silent', () => {
  const none = { observedSince: MONDAY, lastSeenAt: undefined, hours: new Map<number, number>() };
  expect(judgeSilence(none, at(30, 0))).toEqual({
    silent: false,
    quietMs: undefined,
    patienceMs: undefined,
    expected: 0,
  });
});
