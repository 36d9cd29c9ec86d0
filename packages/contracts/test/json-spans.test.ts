import { isDeepStrictEqual } from 'node:util';
import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { eachElement, eachMember, findSpan, type Span, spanAt } from '../src/json-spans.ts';

const blank = fc.stringMatching(/^[ \t\n\r]{0,3}$/);
const string = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }).map((text) => JSON.stringify(text)),
  // What confuses scanners: quotes, backslashes and brackets inside of strings, and escapes of them.
  fc
    .array(
      fc.constantFrom(
        '\\"',
        '\\\\',
        '\\u0022',
        '\\u005c',
        '{',
        ']',
        ',',
        ':',
        ' ',
        'é',
        '🚢',
        '\\ud83d',
        '__proto__',
      ),
    )
    .map((parts) => `"${parts.join('')}"`),
);
const scalar = fc.oneof(
  string,
  fc.constantFrom('1.10', '-0', '1e400', '12345678901234567890', '0.1e-7', 'true', 'false', 'null'),
);
/**
 * No backslash in names: V8 takes an escaped name for one it saw there before whose first characters are spelt like the
 * escape. In Node 24.21, after `{"a":1,"\\\\":2}` has been parsed, `{"a":1,"\\u0062":2}` gets the name `\\` instead of `b`.
 */
const name = fc.oneof(
  string.filter((each) => !String(JSON.parse(each)).includes('\\')),
  fc.constantFrom('"a"', '"data"', '"\\u0061"'),
);
/** JSON as text, with blanks wherever they may be, names that repeat, and numbers that no double keeps. */
const { json } = fc.letrec<{ json: string; list: string; object: string }>((tie) => ({
  json: fc.oneof({ depthSize: 'small' }, scalar, tie('list'), tie('object')),
  list: fc
    .tuple(
      blank,
      fc.array(
        fc.tuple(blank, tie('json'), blank).map((parts) => parts.join('')),
        { maxLength: 4 },
      ),
    )
    .map(([inner, items]) => `[${items.length === 0 ? inner : items.join(',')}]`),
  object: fc
    .tuple(
      blank,
      fc.array(
        fc
          .tuple(blank, name, blank, blank, tie('json'), blank)
          .map(([a, key, b, c, value, d]) => `${a}${key}${b}:${c}${value}${d}`),
        { maxLength: 4 },
      ),
    )
    .map(([inner, members]) => `{${members.length === 0 ? inner : members.join(',')}}`),
}));

const memberSpans = (text: string, from: number): Map<string, Span> => new Map(eachMember(text, from));
const elementSpans = (text: string, from: number): Span[] => [...eachElement(text, from)];

const cut = (text: string, { start, end }: Span): string => text.slice(start, end);

/** Slices, at any level, that are not the JSON text of exactly the value that JSON.parse has there. */
function disagreements(text: string, span: Span, value: unknown): string[] {
  if (!isDeepStrictEqual(JSON.parse(cut(text, span)), value)) return [cut(text, span)];
  if (span.depth < depthOf(value)) return [`the depth of ${cut(text, span)}`]; // repeated names may hide deeper ones
  if (Array.isArray(value)) {
    const spans = elementSpans(text, span.start);
    if (spans.length !== value.length) return [`the length of ${cut(text, span)}`];
    return spans.flatMap((each, index) => disagreements(text, each, value[index]));
  }
  if (typeof value !== 'object' || value === null) return [];
  const members = memberSpans(text, span.start);
  if (!isDeepStrictEqual(new Set(members.keys()), new Set(Object.keys(value)))) return [cut(text, span)];
  return [...members].flatMap(([key, each]) => disagreements(text, each, Reflect.get(value, key)));
}

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0;

test('slices are exactly what JSON.parse reads, whatever the text', () => {
  fc.assert(
    fc.property(blank, json, blank, (before, inner, after) => {
      const text = `${before}${inner}${after}`;
      const span = spanAt(text, 0);
      expect(cut(text, span)).toBe(inner);
      expect(disagreements(text, span, JSON.parse(text))).toEqual([]);
    }),
    { numRuns: 1_000, seed: 20_261_130 },
  );
});

test('of a name that occurs twice the last value is found, also when it is spelt differently', () => {
  const text = '{"data":1.0,"d\\u0061ta":{"x":[1.10]},"x":0}';
  expect(cut(text, memberSpans(text, 0).get('data')!)).toBe('{"x":[1.10]}');
  expect(JSON.parse(text)).toMatchObject({ data: { x: [1.1] } });
});

test('a pointer finds a value, and says where a member on the way is there twice', () => {
  const text = '{"a":[{"b":1.10},{"b":2,"b":3}],"c/d":{}}';
  const found = (...tokens: string[]): string => {
    const span = findSpan(text, tokens);
    return typeof span === 'string' ? span : cut(text, span);
  };
  expect(found()).toBe(text);
  expect(found('a', '0', 'b')).toBe('1.10');
  expect(found('a', '1', 'b')).toBe('repeated');
  expect(found('c/d')).toBe('{}');
  for (const missing of [
    ['x'],
    ['a', '2'],
    ['a', '00'],
    ['a', '-1'],
    ['a', 'length'],
    ['c/d', 'e'],
    ['a', '0', 'b', 'c'],
  ])
    expect(found(...missing)).toBe('missing');
});

test('what was parsed before changes no name', () => {
  JSON.parse('{"a":1,"\\\\":2}'); // see `name` above
  expect([...memberSpans('{"a":1,"\\u0062":2}', 0).keys()]).toEqual(['a', 'b']);
});

test('a text of nothing but brackets is measured, not recursed into', () => {
  const text = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  expect(spanAt(text, 0)).toEqual({ start: 0, end: 400_000, depth: 200_000 });
  expect(['1', '[]', '{}', '[[1],{"a":[{}]}]'].map((each) => spanAt(each, 0).depth)).toEqual([0, 1, 1, 4]);
});
