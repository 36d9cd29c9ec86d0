import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const CHILD = join(import.meta.dirname, 'fixtures/main-child.ts');

function run(
  behaviour: string,
  env: NodeJS.ProcessEnv = {},
): { readonly code: number | null; readonly lines: string[] } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [CHILD, behaviour], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], ...env },
  });
  return { code: status, lines: (stdout + stderr).trimEnd().split('\n') };
}

test('a mistake in the environment is one log entry with exit code 1, not a stack trace', () => {
  const { code, lines } = run('', { RETRY_SCHEDULE: 'nonsense' });
  expect(code).toBe(1);
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ service: 'child', msg: expect.stringContaining('RETRY_SCHEDULE') }),
  ]);
});

test('a start that fails says what to do on a line of its own', () => {
  const { code, lines } = run('fails', { LOG_PRETTY: 'true' });
  expect(code).toBe(1);
  expect(lines[0]).toMatch(/child: Redis does not answer\.$/);
  expect(lines[1]).toMatch(/^ *Start Redis or correct REDIS_URL\./);
});

test('a pretty log entry is one line, so that a terminal shows as many entries as it has lines', () => {
  const { lines } = run('logs', { LOG_PRETTY: 'true' });
  expect(lines.filter((line) => line.includes('d-1'))).toEqual([
    expect.stringMatching(/INFO: child: attempt .*"delivery":"d-1".*"attempt":1/),
  ]);
  expect(lines).toHaveLength(3); // the entry, "child started", "child stopping"
});

test('ps names the process', () => {
  expect(run('titles', { LOG_LEVEL: 'silent' }).lines).toEqual(['bw-child']);
});
