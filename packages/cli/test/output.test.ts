import { expect, test } from '@jest/globals';
import { printable, printableLines } from '@breakwater/core/printable';
import { toJson } from '../src/output/json.ts';
import { renderFields, renderTable } from '../src/output/table.ts';
import { formatTime } from '../src/output/time.ts';

const HOSTILE = [
  '\u001B[2J',
  '\u009B31m',
  '\u007F',
  '\r',
  '\u202E',
  '\u200B',
  '\u2028',
  '\uD800',
  '\u{E0041}',
];

test('nothing from outside can move the cursor, hide itself or turn the line around', () => {
  for (const text of HOSTILE) {
    expect(printable(`a${text}b`)).toMatch(/^a[ -~]+b$/);
    expect(printableLines(`a${text}b`)).toMatch(/^a[ -~]+b$/);
  }
  expect(printable('a\nb')).toBe(String.raw`a\u000ab`);
  expect(printableLines('a\r\nb\nc')).toBe('a\nb\nc');
  expect(printable('Zoë 東京 🚚')).toBe('Zoë 東京 🚚');
});

test('JSON on a terminal is as harmless, and still the same value', () => {
  const value = { text: HOSTILE.slice(0, -2).join('') + '\u{E0041}', name: 'Zoë' };
  const json = toJson(value);
  expect(json).toMatch(/^[ -~ë\n]+$/);
  expect(JSON.parse(json)).toEqual(value);
});

test('a table is aligned, cuts long cells and escapes them first', () => {
  const table = renderTable(
    [{ title: 'A', max: 6 }, { title: 'B' }],
    [
      ['1234567', 'x'],
      ['\u001Bz', 'a long one that stays whole'],
    ],
  );
  expect(table.split('\n')).toEqual(['A       B', '12345…  x', '\\u001…  a long one that stays whole']);
});

test('the value of a field cannot pretend to be another field', () => {
  expect(
    renderFields([
      ['id', 'x\nstatus  sent'],
      ['status', 'failed'],
    ]).split('\n'),
  ).toHaveLength(2);
});

test('a time says when it is and how far away', () => {
  const now = Date.UTC(2026, 10, 30, 13, 58, 55);
  expect(formatTime(now + 250_000, now)).toBe('2026-11-30 14:03:05Z (in 4m 10s)');
  expect(formatTime(now - 3_600_000, now)).toBe('2026-11-30 12:58:55Z (1h ago)');
  expect(formatTime(now, now)).toBe('2026-11-30 13:58:55Z (now)');
  expect(formatTime(null, now)).toBe('-');
});
