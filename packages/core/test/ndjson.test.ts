import { expect, test } from '@jest/globals';
import { assert, asyncProperty, integer, uint8Array } from 'fast-check';
import { type Line, readLines } from '../src/ndjson.ts';

async function read(chunks: readonly (Buffer | string)[], maxBytes = 1_000): Promise<Line[]> {
  const stream = (async function* () {
    yield* chunks;
  })();
  return await Array.fromAsync(readLines(stream, maxBytes));
}
const textOf = (line: Line): string | undefined =>
  'bytes' in line ? line.bytes.toString('latin1') : undefined;

test('a line keeps its bytes and its number, without its end, a byte order mark and the blank lines', async () => {
  const lines = await read(['\uFEFF{"a": 1.10}\r\n\n  \n{"b":"\u00e9"}  \n', '{"c":1}']);
  expect(lines.map(({ line }) => line)).toEqual([1, 4, 5]);
  expect(lines.map((line) => ('bytes' in line ? line.bytes.toString() : ''))).toEqual([
    '{"a": 1.10}',
    '{"b":"\u00e9"}  ',
    '{"c":1}',
  ]);
  expect(lines.at(-1)?.readBytes).toBe(
    Buffer.byteLength('\uFEFF{"a": 1.10}\r\n\n  \n{"b":"\u00e9"}  \n{"c":1}'),
  );
});

test('a line that is too long is told with its number, and the next one is read', async () => {
  const lines = await read(['12345', '67890', '1\n12345\n', 'x'.repeat(11)], 10);
  expect(lines.map((line) => [line.line, textOf(line)])).toEqual([
    [1, undefined],
    [2, '12345'],
    [3, undefined],
  ]);
});

test('wherever a stream is cut into chunks, the lines are the same', async () => {
  const bytes = uint8Array({ maxLength: 60 }).map((values) =>
    Buffer.from(values.map((value) => (value % 4 === 0 ? 10 : value))),
  );
  await assert(
    asyncProperty(bytes, integer({ min: 1, max: 7 }), async (whole, size) => {
      const chunks = Array.from({ length: Math.ceil(whole.length / size) }, (_, nth) =>
        whole.subarray(nth * size, (nth + 1) * size),
      );
      const simplify = (lines: Line[]) => lines.map((line) => [line.line, textOf(line)]);
      expect(simplify(await read(chunks, 20))).toEqual(simplify(await read([whole], 20)));
    }),
    { seed: 7, numRuns: 200 },
  );
});
