import { type ChildProcess, spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { waitUntil } from '../support/wait-until.ts';

/** A repository with our scripts, a lock file, and an npm that notes its calls and installs a Node. */
let repo: string;
let running: ChildProcess[];
beforeEach(() => {
  running = [];
  repo = mkdtempSync(join(tmpdir(), 'breakwater run ')); // a space, as in many a home directory
  cpSync(join(import.meta.dirname, '../../scripts'), join(repo, 'scripts'), { recursive: true });
  writeFileSync(
    join(repo, 'package-lock.json'),
    JSON.stringify({ packages: { '': {}, 'node_modules/node': { version: '24.0.0' } } }),
  );
  writeFileSync(
    join(repo, 'hello.ts'),
    'const args: string[] = process.argv.slice(2);\nconsole.log(JSON.stringify(args));\nprocess.exitCode = 7;\n',
  );
  writeFileSync(join(repo, 'wait.ts'), waiting);
  writeFileSync(join(repo, 'npm-cli.js'), npm(''));
});
afterEach(() => {
  for (const child of running) child.kill('SIGKILL');
  rmSync(repo, { recursive: true, force: true, maxRetries: 20 });
});

const waiting = `
process.on('SIGINT', () => console.log('got SIGINT'));
process.on('SIGTERM', () => { console.log('got SIGTERM'); setTimeout(() => process.exit(4), 300); });
console.log('waiting', process.pid);
setTimeout(() => process.exit(9), 20_000);
`;

const npm = (first: string): string => `
const fs = require('node:fs');
fs.appendFileSync('npm-calls', process.argv.slice(2).join(' ') + '\\n');
fs.rmSync('node_modules', { recursive: true, force: true });
fs.mkdirSync('node_modules/node/bin', { recursive: true });
${first}
setTimeout(() => fs.symlinkSync(process.execPath, 'node_modules/node/bin/node'), 300);
`;

interface Run {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<number | null>;
}

const run = (...args: string[]): Run => follow(process.execPath, [join(repo, 'scripts/run.mjs'), ...args]);

function follow(command: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Run {
  const child = spawn(command, args, {
    cwd: repo,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      ...process.env,
      npm_execpath: join(repo, 'npm-cli.js'),
      npm_node_execpath: process.execPath,
      ...env,
    },
  });
  running.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  return { child, output: () => output, ended: new Promise((resolve) => child.once('close', resolve)) };
}

const npmCalls = (): number =>
  existsSync(join(repo, 'npm-calls'))
    ? readFileSync(join(repo, 'npm-calls'), 'utf8').trim().split('\n').length
    : 0;

async function runWaiting(started = run('wait.ts')): Promise<Run> {
  await waitUntil(() => started.output().includes('waiting'), { what: 'the program to run' });
  return started;
}

test('a fresh clone installs once, says so in one line, and runs the program with its arguments and exit code', async () => {
  const first = run('hello.ts', '--orders', '5', 'a b');
  expect(await first.ended).toBe(7);
  expect(first.output()).toBe(
    'installing dependencies (about a minute the first time) ...\n["--orders","5","a b"]\n',
  );
  const second = run('hello.ts');
  expect(await second.ended).toBe(7);
  expect(second.output()).toBe('[]\n');
  expect(npmCalls()).toBe(1);
  expect(readdirSync(join(repo, '.data'))).toEqual([]);
});

test('a changed lock file installs again', async () => {
  await run('hello.ts').ended;
  writeFileSync(
    join(repo, 'package-lock.json'),
    JSON.stringify({ packages: { 'node_modules/new': { version: '1.0.0' } } }),
  );
  expect(await run('hello.ts').ended).toBe(7);
  expect(npmCalls()).toBe(2);
});

test('what somebody installed with npm ci is used as it is', async () => {
  mkdirSync(join(repo, 'node_modules'));
  writeFileSync(
    join(repo, 'node_modules/.package-lock.json'),
    JSON.stringify({ packages: { 'node_modules/node': { version: '24.0.0' } } }),
  );
  expect(await run('hello.ts').ended).toBe(7);
  expect(npmCalls()).toBe(0);
});

test('an older installation by npm is not taken for the one of the lock file', async () => {
  mkdirSync(join(repo, 'node_modules'));
  writeFileSync(
    join(repo, 'node_modules/.package-lock.json'),
    JSON.stringify({ packages: { 'node_modules/node': { version: '23.0.0' } } }),
  );
  expect(await run('hello.ts').ended).toBe(7);
  expect(npmCalls()).toBe(1);
});

test('two runs at once install once and both succeed', async () => {
  const runs = [run('hello.ts', 'one'), run('hello.ts', 'two'), run('hello.ts', 'three')];
  expect(await Promise.all(runs.map(({ ended }) => ended))).toEqual([7, 7, 7]);
  expect(npmCalls()).toBe(1);
  expect(runs.map(({ output }) => output()).join('')).toContain('which is installing dependencies');
});

test('an installation that was killed half-way heals itself', async () => {
  const first = run('hello.ts');
  await waitUntil(() => existsSync(join(repo, 'node_modules/node/bin')), {
    what: 'the installation to be half-way',
  });
  process.kill(-(first.child.pid ?? 0), 'SIGKILL');
  await first.ended;
  expect(readdirSync(join(repo, '.data/install.lock'))).toEqual([String(first.child.pid)]);
  expect(await run('hello.ts').ended).toBe(7);
  expect(npmCalls()).toBe(2);
});

test('when npm fails, its words and a sentence that says what to do are shown, and the next run tries again', async () => {
  writeFileSync(join(repo, 'npm-cli.js'), npm("console.error('npm error ENOTFOUND'); process.exit(1);"));
  const failing = run('hello.ts');
  expect(await failing.ended).toBe(1);
  expect(failing.output()).toMatch(
    /npm error ENOTFOUND[^]*Dependencies could not be installed: npm ci ended with code 1.*run the same command again/,
  );
  writeFileSync(join(repo, 'npm-cli.js'), npm(''));
  expect(await run('hello.ts').ended).toBe(7);
});

test.each([
  ['process.exit(137)', 'SIGKILL'],
  ["process.kill(process.pid, 'SIGKILL')", 'SIGKILL'],
  ["process.kill(process.pid, 'SIGTERM')", 'SIGTERM'],
])('an npm that was killed (%s) is said to have been killed', async (end, signal) => {
  writeFileSync(join(repo, 'npm-cli.js'), npm(end));
  const killed = run('hello.ts');
  expect(await killed.ended).toBe(1);
  expect(killed.output()).toContain(`npm ci was killed (${signal})`);
  expect(killed.output()).not.toContain('registry');
});

test('what npm warns about on every machine with an older Node does not hide why it failed', async () => {
  const warning =
    'npm warn EBADENGINE Unsupported engine {\\nnpm warn EBADENGINE   package: x\\nnpm error EACCES';
  writeFileSync(join(repo, 'npm-cli.js'), npm(`console.error('${warning}'); process.exit(1);`));
  const failing = run('hello.ts');
  expect(await failing.ended).toBe(1);
  expect(failing.output()).toContain('npm error EACCES');
  expect(failing.output()).not.toContain('EBADENGINE');
});

test('a file that does not exist is named, before anything is installed', async () => {
  const wrong = run('missing.ts');
  expect(await wrong.ended).toBe(2);
  expect(wrong.output()).toContain('There is no missing.ts');
  expect(npmCalls()).toBe(0);
});

test('SIGTERM to the runner alone reaches the program, whose exit code is kept', async () => {
  const { child, ended, output } = await runWaiting();
  child.kill('SIGTERM');
  expect(await ended).toBe(4);
  expect(output()).toContain('got SIGTERM');
});

test('the program is stopped when the shell in which npm runs the script dies', async () => {
  const script = `"${process.execPath}" scripts/run.mjs wait.ts; true`; // true: so that sh stays, as npm's does
  const program = await runWaiting(follow('/bin/sh', ['-c', script], { npm_lifecycle_event: 'start' }));
  program.child.kill('SIGTERM'); // all that npm does when it gets one
  await waitUntil(() => program.output().includes('got SIGTERM'), { what: 'the program to be told' });
  expect(await program.ended).toBe(null);
});

test('SIGINT to the runner alone stops the program', async () => {
  const { child, ended, output } = await runWaiting();
  child.kill('SIGINT');
  expect(await ended).toBe(4);
  expect(output()).not.toContain('got SIGINT');
});

test('SIGINT to the whole group reaches the program once', async () => {
  const { child, ended, output } = await runWaiting();
  process.kill(-(child.pid ?? 0), 'SIGINT');
  expect(await ended).toBe(4);
  expect(output().match(/got SIGINT/g)).toHaveLength(1);
});

test('a program that dies of a signal gives the exit code that a shell would give', async () => {
  const { ended, output } = await runWaiting();
  process.kill(Number(/waiting (\d+)/.exec(output())?.[1]), 'SIGKILL');
  expect(await ended).toBe(137);
});
