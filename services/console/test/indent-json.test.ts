import { expect, test } from '@jest/globals';
import { indentJson } from '../src/ui/indent-json.ts';

test.each([
  '1.10',
  '-0.0e+05',
  '9007199254740993',
  'null',
  '""',
  '{}',
  '[ ]',
  '[[],{}]',
  String.raw`{"a\"}":"\\","b":[1.0,{"c,":"[{\u0041"}],"b":true}`,
  '{"n":\t1.10 ,\r\n "m" : [ 1E5 , -0 ] }',
  '"\u2028 ü 🐚"',
])('JSON with lines and levels differs from %j by blanks between values alone', (text) => {
  const blanks = /("(?:[^"\\]|\\.)*")|\s+/g;
  const indented = indentJson(text) ?? '';
  expect(indented.replaceAll(blanks, '$1')).toBe(text.replaceAll(blanks, '$1'));
  expect(JSON.parse(indented)).toEqual(JSON.parse(text));
});

test('members and elements have lines of their own, and what is empty stays in one', () => {
  expect(indentJson('{"a":[1,{"b":[]}],"c":{}}')).toBe(
    ['{', '  "a": [', '    1,', '    {', '      "b": []', '    }', '  ],', '  "c": {}', '}'].join('\n'),
  );
});

test('what is no JSON is left as it is, and so is what would grow beyond measure', () => {
  expect(indentJson('{"a":1,}')).toBeUndefined();
  expect(indentJson('<a/>')).toBeUndefined();
  const deep = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth);
  expect(indentJson(deep(32))).toBeDefined();
  expect(indentJson(deep(33))).toBeUndefined();
  expect(indentJson(deep(30_000))).toBeUndefined();
  expect(indentJson(`"${'x'.repeat(60_000)}"`)).toBeDefined();
  expect(indentJson(`"${'x'.repeat(70_000)}"`)).toBeUndefined();
});
