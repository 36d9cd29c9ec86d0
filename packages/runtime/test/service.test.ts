import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterEach, expect, test } from '@jest/globals';
import { waitUntil } from '../../../test/support/wait-until.ts';

const CHILD = join(import.meta.dirname, 'fixtures/service-child.ts');
const children: ChildProcess[] = [];

afterEach(() => {
  for (const child of children.splice(0))
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
});

function run(...args: string[]) {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', CHILD, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  const exited = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  return {
    child,
    exited,
    lines: () => text.trim().split('\n'),
    started: () => waitUntil(() => text.includes('started'), { what: 'the child to start' }),
  };
}

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s closes what was opened in reverse order, after the abort signal, and exits 0',
  async (signal) => {
    const service = run('well');
    await service.started();
    service.child.kill(signal);
    expect(await service.exited).toEqual([0, null]);
    expect(service.lines()).toEqual([
      'started',
      'signal aborted',
      'closed third',
      'closed second',
      'closed first',
      'code 0',
    ]);
  },
);

test('a start that fails closes what it had opened and exits 1', async () => {
  const service = run('start-fails');
  expect(await service.exited).toEqual([1, null]);
  expect(service.lines()).toEqual(['signal aborted', 'closed first', 'code 1']);
});

test('a bug at the start is no other way out: what was opened is closed, exit 1', async () => {
  const service = run('start-breaks');
  expect(await service.exited).toEqual([1, null]);
  expect(service.lines()).toEqual(['signal aborted', 'closed second', 'closed first', 'code 1']);
});

test('a clean-up that fails does not keep the others from running, and shows in the exit code', async () => {
  const service = run('clean-up-fails');
  await service.started();
  service.child.kill('SIGTERM');
  expect(await service.exited).toEqual([1, null]);
  expect(service.lines().slice(-4)).toEqual(['closed third', 'closed second', 'closed first', 'code 1']);
});

test('a shutdown that does not end in time ends with exit code 70', async () => {
  const service = run('hangs', '300');
  await service.started();
  service.child.kill('SIGTERM');
  expect(await service.exited).toEqual([70, null]);
  expect(service.lines()).not.toContain('closed first');
});

test('a second signal kills a shutdown that hangs', async () => {
  const service = run('hangs', '60000');
  await service.started();
  service.child.kill('SIGTERM');
  await waitUntil(() => service.lines().includes('closed second'), { what: 'the shutdown to hang' });
  service.child.kill('SIGTERM');
  expect(await service.exited).toEqual([null, 'SIGTERM']);
});
