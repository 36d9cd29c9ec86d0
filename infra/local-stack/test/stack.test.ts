import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { isFree } from '../src/ports.ts';
import { type StackRig, isAlive, rigStack } from './stack-rig.ts';

let stack: AsyncDisposableStack;
beforeEach(() => void (stack = new AsyncDisposableStack()));
afterEach(() => stack.disposeAsync());

async function rig(env?: NodeJS.ProcessEnv): Promise<StackRig> {
  const made = await rigStack(env);
  stack.defer(() => made.close());
  return made;
}

const isOpen = async (port: number): Promise<boolean> => !(await isFree(port, '127.0.0.1'));

/** The answer of a Redis to one inline command. */
async function ask(port: number, command: string): Promise<string> {
  const socket = connect(port, '127.0.0.1').setEncoding('utf8');
  socket.write(`${command}\r\n`);
  const [answer] = await once(socket, 'data');
  socket.destroy();
  return String(answer);
}

test('Ctrl-C in the terminal stops the services before what they use, Redis last, and exits with 0', async () => {
  const { plan, start, events } = await rig();
  const running = start();
  await running.up();
  expect(await isOpen(plan.redisPort)).toBe(true);
  process.kill(-running.pid, 'SIGINT'); // a terminal signals the whole group
  expect(await running.exitCode()).toBe(0);
  expect(events().slice(2)).toEqual(['ingest SIGTERM', 'ingest ended', 'erp SIGTERM', 'erp ended']);
  expect(await isOpen(plan.redisPort)).toBe(false);
});

test('SIGTERM to the stack alone stops it in order, and one that is repeated does no harm', async () => {
  const { start, events } = await rig();
  const running = start();
  await running.up();
  process.kill(running.pid, 'SIGTERM');
  process.kill(running.pid, 'SIGTERM');
  expect(await running.exitCode()).toBe(0);
  expect(events().slice(2)).toEqual(['ingest SIGTERM', 'ingest ended', 'erp SIGTERM', 'erp ended']);
});

test('the stack stops in order when the npm that started it is gone', async () => {
  const { start, events } = await rig();
  const running = start({ underNpm: true });
  await running.up();
  process.kill(running.pid, 'SIGKILL');
  await running.exitCode();
  expect(running.output()).toContain('breakwater: stopped');
  expect(events().slice(2)).toEqual(['ingest SIGTERM', 'ingest ended', 'erp SIGTERM', 'erp ended']);
});

test('a second Ctrl-C kills at once what does not want to stop', async () => {
  const { start, events, pidOf } = await rig({ HANGS: 'yes' });
  const running = start();
  await running.up();
  process.kill(-running.pid, 'SIGINT');
  await waitUntil(() => events().includes('ingest SIGTERM'), { what: 'ingest to be asked to stop' });
  process.kill(-running.pid, 'SIGINT');
  expect(await running.exitCode()).toBe(130);
  expect(isAlive(pidOf('ingest started'))).toBe(false);
});

test('a service that is killed is running again within moments, and the others never notice', async () => {
  const { start, events, pidOf } = await rig();
  const running = start();
  await running.up();
  const first = pidOf('ingest started');
  process.kill(first, 'SIGKILL');
  await waitUntil(() => running.output().includes('ingest is back'), { what: 'ingest to be back' });
  expect(pidOf('ingest started')).not.toBe(first);
  expect(running.output()).toContain('ingest died (signal SIGKILL)');
  expect(events().filter((event) => event === 'erp started')).toHaveLength(1);
  process.kill(running.pid, 'SIGTERM');
  expect(await running.exitCode()).toBe(0);
});

test('a Redis that is killed comes back on the same port with its data', async () => {
  const { plan, start } = await rig();
  const running = start();
  await running.up();
  await ask(plan.redisPort, 'SET kept yes');
  const pid = /process_id:(\d+)/.exec(await ask(plan.redisPort, 'INFO'))?.[1];
  process.kill(Number(pid), 'SIGKILL');
  await waitUntil(() => running.output().includes('redis is back'), { what: 'Redis to be back' });
  expect(await ask(plan.redisPort, 'GET kept')).toBe('$3\r\nyes\r\n');
});

test('a second start finds the data of the first', async () => {
  const { plan, start } = await rig();
  const first = start();
  await first.up();
  await ask(plan.redisPort, 'SET kept yes');
  process.kill(first.pid, 'SIGTERM');
  expect(await first.exitCode()).toBe(0);
  await start().up();
  expect(await ask(plan.redisPort, 'GET kept')).toBe('$3\r\nyes\r\n');
});

test('nothing is left running when the stack itself is killed', async () => {
  const { plan, start, events, pidOf } = await rig();
  const running = start();
  await running.up();
  process.kill(running.pid, 'SIGKILL');
  await waitUntil(async () => !(await isOpen(plan.redisPort)), { what: 'Redis to be gone' });
  expect(isAlive(pidOf('ingest started'))).toBe(false);
  expect(isAlive(pidOf('erp started'))).toBe(false);
  expect(events().slice(2)).toEqual(['ingest SIGTERM', 'ingest ended', 'erp SIGTERM', 'erp ended']);
});

test('a start after kill -9 waits until the killed stack has stopped', async () => {
  const { start, events } = await rig({ STOP_MS: '2000' });
  const killed = start();
  await killed.up();
  process.kill(killed.pid, 'SIGKILL');
  await killed.exitCode();
  const next = start();
  await next.up();
  expect(next.output()).toContain(`(pid ${killed.pid}) was killed; waiting until what it ran has stopped`);
  expect(events().slice(2, 6)).toEqual(['ingest SIGTERM', 'ingest ended', 'erp SIGTERM', 'erp ended']);
});

test('Ctrl-C ends the wait for a killed stack', async () => {
  const { start } = await rig({ STOP_MS: '5000' });
  const killed = start();
  await killed.up();
  process.kill(killed.pid, 'SIGKILL');
  await killed.exitCode();
  const next = start();
  await waitUntil(() => next.output().includes('waiting'), { what: 'the next stack to wait' });
  process.kill(next.pid, 'SIGINT');
  expect(await next.exitCode()).toBe(0);
  expect(next.output()).not.toContain('starting');
});

test('the process ids that can be killed are printed when the stack is ready', async () => {
  const { start, pidOf } = await rig();
  const running = start();
  await running.up();
  expect(running.output()).toMatch(
    new RegExp(`redis \\d+, erp ${pidOf('erp started')}, ingest ${pidOf('ingest started')}\nBANNER`),
  );
});

test('a service that cannot start is named with its words, once, and nothing stays behind', async () => {
  const { plan, start } = await rig({ FAILS: 'the configuration is wrong' });
  const running = start();
  expect(await running.exitCode()).toBe(1);
  expect(running.output()).toMatch(
    /ingest did not start: it ended with code 3\n +the configuration is wrong/,
  );
  expect(running.output().match(/the configuration is wrong/g)).toHaveLength(1);
  expect(await isOpen(plan.redisPort)).toBe(false);
  expect(() => readFileSync(join(plan.dataDir, 'stack.pid'))).toThrow('ENOENT');
});

test('of several services that cannot start only the first is shown', async () => {
  const { plan, start } = await rig();
  const services = plan.services.map((one) => ({
    ...one,
    env: { ...one.env, FAILS: 'the configuration is wrong' },
  }));
  const running = start({ plan: { ...plan, services } });
  expect(await running.exitCode()).toBe(1);
  expect(running.output().match(/the configuration is wrong/g)).toHaveLength(1);
});

test('a service that finds its mistake while the stack stops because of another is not shown either', async () => {
  const { plan, start } = await rig({ FAILS: 'the first mistake' });
  const [erp, ...rest] = plan.services;
  if (!erp) throw new Error('the rig has no services');
  const late = { ...erp, env: { ...erp.env, FAILS_LATE: 'another mistake' } };
  const running = start({ plan: { ...plan, services: [late, ...rest] } });
  expect(await running.exitCode()).toBe(1);
  expect(running.output()).toContain('the first mistake');
  expect(running.output()).not.toContain('another mistake');
});

test('what a service printed while it started is shown when it is ready', async () => {
  const { start } = await rig({ SAYS: 'Redis is not durable' });
  const running = start();
  await running.up();
  expect(running.output().match(/Redis is not durable/g)).toHaveLength(1);
});

test('every port that is taken is named in one message, with what would have used it', async () => {
  const { plan, start, events } = await rig();
  const ports = [plan.redisPort, plan.services[1]?.ports[0]?.port ?? 0];
  for (const port of ports) {
    const server = createServer();
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    stack.defer(() => void server.close());
  }
  const running = start();
  expect(await running.exitCode()).toBe(1);
  expect(running.output()).toContain(`  ${ports[0]}  Redis\n  ${ports[1]}  ingest\n`);
  expect(running.output()).not.toContain('  erp');
  expect(events()).toEqual([]);
});

test('a second start says which process is already running, and leaves it alone', async () => {
  const { start, pidOf } = await rig();
  const running = start();
  await running.up();
  const second = start();
  expect(await second.exitCode()).toBe(1);
  expect(second.output()).toContain(`Breakwater is already running (pid ${running.pid})`);
  expect(isAlive(pidOf('ingest started'))).toBe(true);
});

test('two stacks never share a data directory, whatever their ports are', async () => {
  const one = await rig();
  const other = await rig();
  const running = one.start();
  await running.up();
  const second = other.start({ plan: { ...other.plan, dataDir: one.plan.dataDir } });
  expect(await second.exitCode()).toBe(1);
  expect(second.output()).toContain(`already running (pid ${running.pid})`);
});
