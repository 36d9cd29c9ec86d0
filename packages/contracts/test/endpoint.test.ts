import { expect, test } from '@jest/globals';
import { EndpointPatch, NewEndpointSettings } from '../src/endpoint.ts';
import { HEADER_LIMITS } from '../src/endpoint-headers.ts';
import { TYPE_PATTERN_LIMITS } from '../src/type-pattern.ts';

const mistakes = (patch: unknown): string[] =>
  EndpointPatch.safeParse(patch).error?.issues.map(({ message }) => message) ?? [];
const headers = (given: Record<string, string | null>): string => mistakes({ headers: given }).join('\n');

test('a header of an endpoint cannot take the place of one that Breakwater or the connection sets', () => {
  for (const name of [
    'webhook-id',
    'Webhook-Signature',
    'webhook-anything',
    'breakwater-delivery',
    'Host',
    'content-length',
    'Content-Type',
    'connection',
    'keep-alive',
    'proxy-authorization',
    'TE',
    'trailer',
    'transfer-encoding',
    'upgrade',
    'expect',
    'user-agent',
  ])
    expect({ name, told: headers({ [name]: 'x' }) }).toEqual({
      name,
      told: expect.stringContaining('is reserved'),
    });
});

test('a header cannot be forged through a name or a value, and no message repeats a value', () => {
  for (const name of ['', 'a b', 'a:b', 'a\r\nb', '_x', ':path', 'naïve'])
    expect(headers({ [name]: 'secret-value' })).toContain('is not a header name');
  for (const value of [
    '',
    ' ',
    'secret-value\r\nx: y',
    'secret-value\n',
    '\tsecret-value',
    'secret-valué',
    'a\u0000',
  ]) {
    const told = headers({ 'x-key': value });
    expect(told).toContain('visible ASCII');
    expect(told).not.toContain('secret-val');
  }
  expect(EndpointPatch.parse({ headers: JSON.parse('{"__proto__":"x"}') }).headers).toEqual({});
  expect(headers({ 'X-Key': 'a', 'x-key': 'b' })).toContain('given twice');
  expect(headers({ 'x-key': 'Bearer abc def', authorization: null })).toBe('');
});

test('headers are bounded in number, length and sum', () => {
  const many = (count: number, value: string): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, value]));
  expect(headers(many(HEADER_LIMITS.headers, 'v'))).toBe('');
  expect(headers(many(HEADER_LIMITS.headers + 1, 'v'))).toContain('at most 20 headers');
  expect(headers({ 'x-a': 'v'.repeat(HEADER_LIMITS.valueChars) })).toBe('');
  expect(headers({ 'x-a': 'v'.repeat(HEADER_LIMITS.valueChars + 1) })).toContain('longer than 1024');
  expect(headers({ ['x'.repeat(65)]: 'v' })).toContain('longer than 64');
  expect(headers(many(7, 'v'.repeat(1_000)))).toContain('at most 6144 characters in all');
});

test('names of headers become lower case, types are told apart once, and no types means all', () => {
  const parsed = EndpointPatch.parse({
    headers: { 'X-Key': 'V' },
    types: ['a', 'a', 'b.*'],
    sources: ['s', 's'],
  });
  expect(parsed).toEqual({ headers: { 'x-key': 'V' }, types: ['a', 'b.*'], sources: ['s'] });
  expect(EndpointPatch.parse({ types: [] })).toEqual({ types: ['*'] });
});

test('a rate limit without a burst gets one second’s worth, at least one', () => {
  const burst = (perSecond: number): unknown =>
    EndpointPatch.parse({ rateLimit: { perSecond } }).rateLimit?.burst;
  expect([0.1, 1, 2.5, 100].map(burst)).toEqual([1, 1, 3, 100]);
  expect(EndpointPatch.parse({ rateLimit: { perSecond: 1, burst: 7 } }).rateLimit).toEqual({
    perSecond: 1,
    burst: 7,
  });
  for (const wrong of [{ perSecond: 0 }, { perSecond: 1_001 }, { perSecond: 1, burst: 0 }, { burst: 1 }])
    expect(mistakes({ rateLimit: wrong })).not.toEqual([]);
});

test('every mistake is told at once, and a misspelt setting is one', () => {
  const told = mistakes({
    timeoutMs: 31_000,
    maxInFlight: 0,
    scheduleMs: [],
    types: Array.from({ length: TYPE_PATTERN_LIMITS.patterns + 1 }, (_, index) => `t${index}`),
    description: 'x'.repeat(501),
    maxInflight: 3,
  });
  expect(told).toHaveLength(6);
  expect(told).toContain('expected 1s to 30s');
  expect(told).toContain('at most 100 type patterns');
  expect(NewEndpointSettings.safeParse({}).error?.issues[0]?.path).toEqual(['url']);
});
