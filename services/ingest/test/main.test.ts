import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { eventually } from './support.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const VALID = 'sources: {}\n';
// Port 1 is never open, so Redis is down: a start must not depend on it.
const ENVIRONMENT = { PORT: '0', OPS_PORT: '0', REDIS_URL: 'redis://127.0.0.1:1' };

let directory: string;
const children: ChildProcess[] = [];
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'ingest-main-'));
});
afterEach(() => {
  for (const child of children.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
});
afterAll(() => rm(directory, { recursive: true }));

interface Run {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly exited: Promise<unknown>;
}

async function run(config: string, environment: Record<string, string> = {}): Promise<Run> {
  const path = join(directory, 'breakwater.config.yaml');
  await writeFile(path, config);
  const env = { PATH: process.env['PATH'], BREAKWATER_CONFIG: path, ...ENVIRONMENT, ...environment };
  const child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  return { child, output: () => output, exited: once(child, 'close').then(([code]: unknown[]) => code) };
}

test('SIGTERM ends the process with 0', async () => {
  const { child, output, exited } = await run(VALID);
  await eventually(() => output().includes('ingest started'), 'the start', 20_000);
  child.kill('SIGTERM');
  expect(await exited).toBe(0);
  expect(output()).not.toContain('unclean');
});

test.each([
  ['a mistake in the configuration', 'sources: { Demo: {} }\n', {}, /sources/],
  [
    'no configuration',
    VALID,
    { BREAKWATER_CONFIG: '/nowhere/config.yaml' },
    /Cannot read the configuration \/nowhere\/config\.yaml/,
  ],
  [
    'a secret that cannot be decoded',
    'sources: { demo: { secrets: [{ id: first, value: zz }], auth: { kind: signature, algorithm: hmac-sha1, key: hex, signature: { header: x, encoding: hex } }, eventId: { pointer: /id } } }\n',
    {},
    /secret first: expected hex text/,
  ],
  ['a mistake in the environment', VALID, { PORT: 'http' }, /The environment is not valid[^]*PORT/],
])('%s is told in the log, and the process exits with 1', async (_, config, environment, message) => {
  const { output, exited } = await run(config, environment);
  expect(await exited).toBe(1);
  expect(output()).toMatch(message);
});
