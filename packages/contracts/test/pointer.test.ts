import { expect, test } from '@jest/globals';
import { parsePointer, resolvePointer, textAt } from '../src/pointer.ts';

const at = (text: string, pointer: string): string | undefined => {
  const tokens = parsePointer(pointer);
  if (!tokens) throw new Error(`${pointer} is no pointer`);
  return textAt({ text, value: JSON.parse(text) as unknown }, tokens);
};

test('a pointer is read as RFC 6901 says, its escapes in the right order', () => {
  expect(parsePointer('')).toEqual([]);
  expect(parsePointer('/a/b')).toEqual(['a', 'b']);
  expect(parsePointer('/')).toEqual(['']);
  expect(parsePointer('/a~1b/m~0n/~01')).toEqual(['a/b', 'm~n', '~1']);
});

test('what is no pointer is refused', () => {
  for (const text of ['a', 'a/b', '/a~', '/a~2b', '#/a']) expect(parsePointer(text)).toBeUndefined();
});

test('a pointer finds own members only, and array elements by plain numbers only', () => {
  const document = { list: ['x', 'y'], '': 'empty', deep: { a: null } };
  expect(resolvePointer(document, ['list', '1'])).toBe('y');
  expect(resolvePointer(document, [''])).toBe('empty');
  for (const tokens of [
    ['list', '01'],
    ['list', '-'],
    ['list', '1e0'],
    ['list', 'length'],
    ['__proto__'],
    ['constructor'],
    ['deep', 'a', 'b'],
    ['list', '2'],
    ['', '0'],
  ]) {
    expect(resolvePointer(document, tokens)).toBeUndefined();
  }
});

test('a number is its own spelling, so that two event ids never become one', () => {
  expect(at('{"id":12345678901234567890}', '/id')).toBe('12345678901234567890');
  expect(at('{"id":12345678901234567891}', '/id')).toBe('12345678901234567891');
  expect(at('{"id":1.10}', '/id')).toBe('1.10');
  expect(at('{"id":1.0}', '/id')).toBe('1.0');
  expect(at('{"id":1e3}', '/id')).toBe('1e3');
  expect(at('{"id":1E400}', '/id')).toBe('1E400');
  expect(at('{"id":-0}', '/id')).toBe('-0');
  expect(at('{"id":7}', '/id')).toBe('7');
  expect(at('{"a":[{"n":0.1},{"n":0.10}]}', '/a/1/n')).toBe('0.10');
});

test('of two members with one name the last counts, for numbers as for strings', () => {
  expect(at('{"id":1.50,"id":2.50}', '/id')).toBe('2.50');
  expect(at('{"id":1.50,"id":"b"}', '/id')).toBe('b');
});

test('strings and booleans are text; objects, lists, null and nothing are not', () => {
  expect(at('{"a":"1.0"}', '/a')).toBe('1.0');
  expect(at('{"a":true}', '/a')).toBe('true');
  expect(at('"bare"', '')).toBe('bare');
  expect(at('1.0', '')).toBe('1.0');
  for (const json of ['{"a":null}', '{"a":{}}', '{"a":[]}', '{}', '[]'])
    expect(at(json, '/a')).toBeUndefined();
});

test('a member called __proto__ is a member like any other', () => {
  expect(at('{"__proto__":{"id":1.0}}', '/__proto__/id')).toBe('1.0');
  expect(at('{"a":1.0}', '/__proto__')).toBeUndefined();
});
