import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { startOwnRedis } from '../../../test/support/redis.ts';
import { startRedis } from '../src/redis.ts';
import { ensureRedisServer, findRedisServer } from '../src/redis-binary.ts';

let stack: AsyncDisposableStack;
let dir: string;
beforeEach(() => {
  stack = new AsyncDisposableStack();
  dir = mkdtempSync(join(tmpdir(), 'breakwater-redis-test-'));
  stack.defer(() => rmSync(dir, { recursive: true, force: true }));
});
afterEach(() => stack.disposeAsync());

const cli = (port: number, ...args: string[]): string =>
  spawnSync('redis-cli', ['-p', String(port), ...args], { encoding: 'utf8' }).stdout.trim();

/** A directory with a program of that name, a shell script. */
function program(name: string, script: string): string {
  const directory = join(dir, `bin-${name}`);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, name), `#!/bin/sh\n${script}\n`);
  chmodSync(join(directory, name), 0o755);
  return directory;
}

const server = (name: string, version: string): string =>
  program(name, `echo 'Redis server v=${version} sha=0:0 malloc=x'`);
const machine = (PATH: string, platform: NodeJS.Platform = 'linux', uid = 0) => ({
  env: { PATH },
  platform,
  getuid: () => uid,
});

test('Redis runs with the durable settings that ingest insists on, and data survives kill -9', async () => {
  const redis = await startOwnRedis();
  stack.defer(() => redis.close());
  const settings = ['appendonly', 'appendfsync', 'no-appendfsync-on-rewrite', 'maxmemory-policy'];
  expect(settings.map((name) => cli(redis.port, 'CONFIG', 'GET', name).split('\n')[1])).toEqual([
    'yes',
    'always',
    'no',
    'noeviction',
  ]);
  cli(redis.port, 'SET', 'kept', 'yes');
  const first = redis.pid();
  await redis.kill();
  await redis.restart({ overrides: { maxmemory: '20mb' } });
  expect(redis.pid()).not.toBe(first);
  expect(cli(redis.port, 'GET', 'kept')).toBe('yes');
  expect(cli(redis.port, 'CONFIG', 'GET', 'maxmemory').split('\n')[1]).toBe(String(20 * 1024 * 1024));
});

test('a server that is already on the port is not taken for our own', async () => {
  const other = await startOwnRedis();
  stack.defer(() => other.close());
  const binary = findRedisServer(process) ?? '';
  await expect(startRedis({ binary, port: other.port, dir })).rejects.toThrow(
    /did not start on port \d+.*ended with code 1[^]*in use/,
  );
});

test('a port that accepts but never answers is reported with the reason, within the deadline', async () => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  stack.defer(() => void silent.close());
  const address = silent.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const sleeper = join(program('sleeper', 'exec sleep 60'), 'sleeper');
  await expect(startRedis({ binary: sleeper, port, dir, readyTimeoutMs: 100 })).rejects.toThrow(
    'no answer within 2 s',
  );
});

test('a Redis that is too old is passed over, and Valkey will do', () => {
  const PATH = [server('redis-server', '6.0.16'), server('valkey-server', '8.1.0')].join(':');
  expect(findRedisServer(machine(PATH), [])).toMatch(/valkey-server$/);
});

test.each([
  ['6.2.0', true],
  ['6.10.1', true],
  ['7.0.15', true],
  ['10.0.0', true],
  ['6.1.9', false],
  ['5.0.7', false],
])('version %s is new enough: %s', (version, isEnough) => {
  expect(findRedisServer(machine(server('redis-server', version)), []) !== undefined).toBe(isEnough);
});

test.each([
  ['darwin', 'brew install redis'],
  ['linux', 'sudo apt-get install redis-server'],
  ['win32', 'WSL'],
] as const)(
  'without Redis and without apt-get, the message says what to install on %s',
  (platform, advice) => {
    expect(() => ensureRedisServer(machine(dir, platform), () => undefined, [])).toThrow(advice);
  },
);

test('one that is too old is named with its version, and nothing is installed over it', () => {
  const calls: string[] = [];
  const PATH = [server('redis-server', '5.0.7'), program('apt-get', 'exit 1')].join(':');
  expect(() => ensureRedisServer(machine(PATH), (line) => calls.push(line), [])).toThrow(
    /6\.2 or newer.*redis-server is 5\.0\.7/,
  );
  expect(calls).toEqual([]);
});

// The script that runs apt-get also writes to /usr/sbin for a moment, so only its stand-in for sudo is given work here.
test('apt-get is asked through sudo without a password, and what it could not do is shown', () => {
  const sudo = program('sudo', '[ "$2" = true ] && exit 0; echo "E: no network"; exit 100');
  const PATH = [sudo, program('apt-get', 'exit 1')].join(':');
  expect(() => ensureRedisServer(machine(PATH, 'linux', 1000), () => undefined, [])).toThrow(
    /E: no network[^]*apt-get could not install redis-server/,
  );
});

test('apt-get installs it where that needs no password', () => {
  const target = join(dir, 'target');
  mkdirSync(target);
  const fake = join(server('fake-redis', '7.0.15'), 'fake-redis');
  const sudo = program('sudo', `[ "$2" = true ] || /bin/cp ${fake} ${target}/redis-server`);
  const PATH = [sudo, program('apt-get', 'exit 1'), target].join(':');
  expect(ensureRedisServer(machine(PATH, 'linux', 1000), () => undefined, [])).toBe(`${target}/redis-server`);
});
