import { expect, test } from '@jest/globals';
import { isJson } from '../src/json-check.ts';

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

test.each([
  '',
  ' ',
  '{}',
  '[]',
  ' [ ] ',
  '{ }',
  'null',
  'true',
  'false',
  'nul',
  'truex',
  'nullnull',
  '0',
  '-0',
  '-',
  '01',
  '1.',
  '.5',
  '1.5',
  '1e',
  '1e5',
  '1E+5',
  '1e-',
  '1e-05',
  '+1',
  '0x1',
  'NaN',
  'Infinity',
  '1 2',
  '"',
  '"a"',
  '"a',
  '"\\"',
  '"\\""',
  '"\\u12"',
  '"\\u12aF"',
  '"\\u12ag"',
  '"\\x"',
  '"\t"',
  '"\u007f\u2028"',
  '"\\',
  "'a'",
  '[1,]',
  '[,1]',
  '[1,2]',
  '[1 2]',
  '[',
  ']',
  '[]]',
  '[[]',
  '[}',
  '{]',
  '{"a"}',
  '{"a":}',
  '{"a":1',
  '{"a":1,}',
  '{,}',
  '{"a":1,"a":2}',
  '{a:1}',
  '{1:1}',
  '{"a":{"b":[1,{"c":[]}]}} ',
  '[{"a":1},{"b":2}]',
  '[{"a":1]}',
  '{"a":[}]',
  '\u00a0[]',
  '[]\u0000',
  '\ufeff{}',
  '// a\n1',
  '{"":""}',
  '[[[[[[[[[[[[{}]]]]]]]]]]]]',
  '[{},[],{},[[]],{"a":{}}]',
])('says of %j what JSON.parse says', (text) => {
  expect(isJson(Buffer.from(text))).toBe(parses(text));
});

test('says of texts with one character too many, too few or another one what JSON.parse says', () => {
  const text = '{"a":[1,-2.5e+3,{"b\\u00e9":null},"x\\n",true],"c":{"d":[[],{}],"e":false}}';
  for (let at = 0; at <= text.length; at += 1)
    for (const insert of ['', ...'{}[],:"\\0-.eE+ tnu\n/'.split('')])
      for (const drop of [0, 1]) {
        const changed = text.slice(0, at) + insert + text.slice(at + drop);
        if (isJson(Buffer.from(changed)) !== parses(changed))
          throw new Error(`not as JSON.parse: ${changed}`);
      }
});

test('needs no stack and next to no memory for the deepest and the widest of texts', () => {
  const deep = 5_000_000;
  expect(isJson(Buffer.from('['.repeat(deep) + ']'.repeat(deep)))).toBe(true);
  expect(isJson(Buffer.from('['.repeat(deep) + ']'.repeat(deep - 1)))).toBe(false);
  const wide = Buffer.from(`[${'{},'.repeat(3_000_000)}{}]`);
  const before = process.memoryUsage().heapUsed;
  expect(isJson(wide)).toBe(true);
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(20 * 1_048_576); // parsed: 200 MB
});
