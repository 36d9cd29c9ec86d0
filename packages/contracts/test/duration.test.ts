import { expect, test } from '@jest/globals';
import { z } from 'zod';
import {
  duration,
  formatDuration,
  parseDurationMs,
  parseScheduleMs,
  writeDuration,
} from '../src/duration.ts';

test('a duration is a number with a unit, in milliseconds', () => {
  const known = {
    '250ms': 250,
    '30s': 30_000,
    '5m': 300_000,
    '6h': 21_600_000,
    '45d': 3_888_000_000,
    '1.5s': 1_500,
    '0s': 0,
    ' 1m ': 60_000,
  };
  for (const [text, ms] of Object.entries(known)) expect(parseDurationMs(text)).toBe(ms);
});

test('what is no duration, or longer than any date can bear, is not guessed at', () => {
  for (const text of [
    '9999999999d',
    '36501d',
    `${'9'.repeat(400)}s`,
    '',
    '5',
    '5 m',
    '-5s',
    '5M',
    '1e3s',
    '5m3s',
    '.5s',
    '5.s',
    'NaNs',
    'five',
    '5w',
  ])
    expect(parseDurationMs(text)).toBeUndefined();
});

test('configuration takes 0 without a unit and says what it expects otherwise', () => {
  expect(duration.parse(0)).toBe(0);
  expect(duration.parse('0')).toBe(0);
  expect(duration.parse('90s')).toBe(90_000);
  for (const wrong of [5, '5', '', null, true]) expect(duration.safeParse(wrong).success).toBe(false);
  const result = duration.safeParse('5 minutes');
  expect(result.success ? '' : z.prettifyError(result.error)).toContain('such as 250ms, 30s, 5m, 6h or 45d');
});

test('a schedule has one entry per attempt, and one bad entry spoils it', () => {
  expect(parseScheduleMs('0s,1m,5m')).toEqual([0, 60_000, 300_000]);
  expect(parseScheduleMs('0s, 10ms')).toEqual([0, 10]);
  for (const text of ['', '0s,', ',0s', '0s,x', '0s;1m', '0s,31d'])
    expect(parseScheduleMs(text)).toBeUndefined();
});

test('people read two units at most', () => {
  expect(formatDuration(999)).toBe('999ms');
  expect(formatDuration(1_000)).toBe('1s');
  expect(formatDuration(61_000)).toBe('1m 1s');
  expect(formatDuration(93_784_000)).toBe('1d 2h');
  expect(formatDuration(86_400_000)).toBe('1d');
});

test('a duration that is written to be filled in again is read as exactly the same', () => {
  for (const ms of [
    0, 1, 999, 1_000, 1_001, 90_000, 60_000, 5_400_000, 86_400_000, 93_784_001, 3_888_000_000,
  ])
    expect(parseDurationMs(writeDuration(ms))).toBe(ms);
  expect([writeDuration(90_000), writeDuration(60_000)]).toEqual(['90s', '1m']);
});
