import { expect, test } from '@jest/globals';
import { TYPE_PATTERN_LIMITS, typeMatches, typePattern } from '../src/type-pattern.ts';

test('a star stands for any text, everything else for itself', () => {
  expect(typeMatches('*', 'anything')).toBe(true);
  expect(typeMatches('*', '')).toBe(true);
  expect(typeMatches('order.*', 'order.paid')).toBe(true);
  expect(typeMatches('order.*', 'order.paid.twice')).toBe(true);
  expect(typeMatches('order.*', 'orderXpaid')).toBe(false);
  expect(typeMatches('order.*', 'my.order.paid')).toBe(false);
  expect(typeMatches('*.paid', 'order.paid')).toBe(true);
  expect(typeMatches('*.paid', 'order.paid2')).toBe(false);
  expect(typeMatches('a*c*e', 'abcde')).toBe(true);
  expect(typeMatches('a*', 'a\nb')).toBe(true);
});

test('a pattern without a star is compared, case and all', () => {
  expect(typeMatches('order.paid', 'order.paid')).toBe(true);
  expect(typeMatches('order.paid', 'order_paid')).toBe(false);
  expect(typeMatches('order.paid', 'Order.paid')).toBe(false);
  expect(typeMatches('', '')).toBe(true);
});

test('characters of regular expressions have no power in a pattern', () => {
  for (const text of ['a+b', 'a(b)', '[ab]', 'a|b', '^a$', String.raw`a\d`, 'a{2}', 'a?']) {
    expect(typeMatches(`${text}*`, `${text}!`)).toBe(true);
    expect(typeMatches(text, text)).toBe(true);
  }
  expect(typeMatches('[ab]*', 'a')).toBe(false);
  expect(typeMatches('a|b*', 'a')).toBe(false);
});

test('a hostile pattern costs one pass, not an exponential search', () => {
  // A backtracking match of these two took 17 s; the test would hang rather than be slow.
  expect(typeMatches('*a*a*a*a*a*a*a*a*b', 'a'.repeat(5_000))).toBe(false);
  expect(typeMatches('*a*a*a*b', `${'a'.repeat(5_000)}b`)).toBe(true);
});

test('the text before and after stars may not overlap', () => {
  expect(typeMatches('ab*ba', 'aba')).toBe(false);
  expect(typeMatches('ab*ba', 'abba')).toBe(true);
  expect(typeMatches('a*b*a', 'aba')).toBe(true);
  expect(typeMatches('a*b*a', 'aa')).toBe(false);
});

test('a pattern is bounded and readable, and a mistake says what is wrong with it', () => {
  const refusal = (pattern: string): string | undefined =>
    typePattern.safeParse(pattern).error?.issues[0]?.message;
  expect(refusal('order.*')).toBeUndefined();
  expect(refusal('*')).toBeUndefined();
  expect(refusal('')).toContain('use * for every type');
  expect(refusal('a'.repeat(TYPE_PATTERN_LIMITS.chars))).toBeUndefined();
  expect(refusal('a'.repeat(TYPE_PATTERN_LIMITS.chars + 1))).toContain('at most 256 characters');
  expect(refusal('*a'.repeat(TYPE_PATTERN_LIMITS.stars))).toBeUndefined();
  expect(refusal('*a'.repeat(TYPE_PATTERN_LIMITS.stars + 1))).toContain('at most 8 stars');
  for (const pattern of ['order paid', 'order.paid\n', '\u0000'])
    expect(refusal(pattern)).toContain('white space or a control character');
});
