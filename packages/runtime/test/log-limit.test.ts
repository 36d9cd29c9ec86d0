import { expect, test } from '@jest/globals';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { limitLines } from '../src/log-limit.ts';
import { createLogger, type Logger } from '../src/logger.ts';

function recording() {
  const lines: unknown[][] = [];
  const write =
    (level: string) =>
    (...line: unknown[]): void =>
      void lines.push([level, ...line]);
  const logger: Logger = Object.assign(Object.create(createLogger({ service: 'test', level: 'silent' })), {
    warn: write('warn'),
    error: write('error'),
    debug: write('debug'),
  });
  return { logger, at: (level: string) => lines.filter(([each]) => each === level).map((line) => line[2]) };
}

test('a flood of one kind hides neither its first lines nor those of other kinds, and is told in one line', async () => {
  const { logger, at } = recording();
  const lines = limitLines(logger, { most: 2, everyMs: 50 });
  for (let index = 0; index < 1_000; index += 1) lines.warn('shop: invalid', {}, `refused ${index}`);
  lines.warn('other: invalid', {}, 'the other');
  lines.error('shop: invalid', {}, 'an error');
  expect(at('warn')).toEqual(['refused 0', 'refused 1', 'the other']);
  expect(at('error')).toEqual(['an error']);
  expect(at('debug')).toHaveLength(998);
  await waitUntil(() => at('warn').length === 4, { what: 'the end of the time' });
  expect(at('warn')[3]).toMatch(/left out/);
  lines.warn('shop: invalid', {}, 'a new time');
  expect(at('warn')[4]).toBe('a new time');
});
