import { expect, test } from '@jest/globals';
import { parseRetryAfterMs } from '../src/retry-after.ts';

const NOW = Date.parse('2026-03-01T00:00:00Z');
const DAY_MS = 86_400_000;

test.each([
  ['0', 0],
  ['120', 120_000],
  [' 7 ', 7_000],
  ['99999999999999999999', DAY_MS],
  ['Sun, 01 Mar 2026 00:01:00 GMT', 60_000],
  ['Sunday, 01-Mar-26 00:01:00 GMT', 60_000],
  ['Sun Mar  1 00:01:00 2026', 60_000],
  ['Tue, 01 Mar 2033 00:00:00 GMT', DAY_MS],
])('%j is a wait of %i ms', (value, ms) => {
  expect(parseRetryAfterMs(value, NOW)).toBe(ms);
});

test.each([
  undefined,
  '',
  '-1',
  '1.5',
  '1e3',
  'soon',
  '120, 7',
  '+7',
  '0x10',
  '١٢',
  'Sun, 01 Mar 2026 00:01:00 +0100',
  'Sun, 01 Mar 2026 02:01:00 EST',
  'Sun, 01 Mar 2026 00:61:00 GMT',
  'Sun, 01 Mar 2026',
  'Sun 2026',
  '2026-03-01T00:01:00Z',
  'Sun, 01 Mar 2020 00:00:00 GMT',
  'Sun, 99 Foo 2026 00:00:00 GMT',
])('%j asks for nothing', (value) => {
  expect(parseRetryAfterMs(value, NOW)).toBeUndefined();
});
