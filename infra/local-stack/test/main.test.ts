import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';

const MAIN = join(import.meta.dirname, '../src/main.ts');

let dir: string;
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'breakwater-main-'))));
afterEach(() => rmSync(dir, { recursive: true }));

/** `npm start` that is expected to refuse; its data directory must stay empty then. */
function start(
  env: NodeJS.ProcessEnv,
  ...args: string[]
): { readonly code: number | null; readonly output: string } {
  const data = join(dir, 'data');
  const { status, stdout, stderr } = spawnSync(process.execPath, [MAIN, ...args], {
    encoding: 'utf8',
    timeout: 20_000,
    // Far from the ports of anything else, should it start after all.
    env: { ...process.env, PORT_OFFSET: '17000', BREAKWATER_DATA_DIR: data, ...env },
  });
  expect(readdirSync(dir)).not.toContain('data');
  return { code: status, output: stdout + stderr };
}

test('a mistake in the environment is said once, before anything is started', () => {
  const { code, output } = start({ RETRY_SCHEDULE: 'nonsense', LOG_LEVEL: 'loud' });
  expect(code).toBe(1);
  expect(output).toMatch(/^breakwater: The environment is not valid:\n/);
  expect(output.match(/RETRY_SCHEDULE/g)).toHaveLength(1);
  expect(output.match(/LOG_LEVEL/g)).toHaveLength(1);
  expect(output).not.toMatch(/^ +at /m); // no stack trace
});

test('a mistake in the configuration is said once, before anything is started', () => {
  const path = join(dir, 'breakwater.config.yaml');
  writeFileSync(path, 'sources: { shop: { auth: { kind: none } } }\n');
  const { code, output } = start({ BREAKWATER_CONFIG: path });
  expect(code).toBe(1);
  expect(output).toMatch(new RegExp(`^breakwater: ${path} is not valid:\n`));
  expect(output.match(/is not valid/g)).toHaveLength(1);
});

test('an argument is refused, since settings are environment variables', () => {
  const { code, output } = start({}, 'PORT_OFFSET=100');
  expect(code).toBe(2);
  expect(output).toContain('npm start takes no arguments, and was given PORT_OFFSET=100');
});
