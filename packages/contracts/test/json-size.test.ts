import { expect, test } from '@jest/globals';
import { escapedBytes } from '../src/json-size.ts';

test('the size of a text as a JSON string is known without writing it', () => {
  const every = Array.from({ length: 0x3000 }, (_, code) => String.fromCodePoint(code)).join('');
  for (const text of ['', 'plain', '\u0000\u001f\u007f\b\t\n\f\r', '"\\/', '\u2028é🚢\ufeff', every])
    expect([text, escapedBytes(Buffer.from(text))]).toEqual([
      text,
      Buffer.byteLength(JSON.stringify(text)) - 2,
    ]);
});
