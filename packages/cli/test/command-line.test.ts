import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type AddressInfo, createConnection, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { pause } from '@breakwater/runtime/poll';
import { startOwnRedis } from '../../../test/support/redis.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import type { Command } from 'commander';
import { createProgram } from '../src/program.ts';
import { createRig, type Rig } from './support.ts';

let rig: Rig;
beforeAll(async () => {
  rig = await createRig();
});
afterAll(() => rig.close());

const { PROGRAM } = ((): { PROGRAM: Command } => {
  const { program } = createProgram({
    stdin: process.stdin,
    stdout: { write: () => true },
    stderr: process.stderr,
    stderrIsTty: false,
    stdinIsTty: false,
    env: {},
    user: '',
    signal: new AbortController().signal,
    now: () => 0,
  });
  return { PROGRAM: program };
})();

/** Every command that there is: groups as well as what is in them. */
const COMMANDS = ((): string[][] => {
  const pathsOf = (command: Command, path: readonly string[]): string[][] => [
    [...path],
    ...command
      .createHelp()
      .visibleCommands(command)
      .filter((each) => each.name() !== 'help')
      .flatMap((each) => pathsOf(each, [...path, each.name()])),
  ];
  return pathsOf(PROGRAM, []);
})();

test('every command explains itself and names the options of all; what they and the exit codes mean is told once', async () => {
  expect(COMMANDS.length).toBeGreaterThan(50);
  for (const command of COMMANDS) {
    const { code, stdout } = await rig.cli([...command, '--help']);
    expect({ command, code }).toEqual({ command, code: 0 });
    for (const option of ['--operator <id>', '--json', '--redis-url <url>', '--config <file>'])
      expect(stdout.split(option)).toHaveLength(2);
    const top = command.length === 0;
    expect(/4 {2}refused in the present state/.test(stdout)).toBe(top);
    expect(stdout.endsWith('\nExit codes: breakwater --help\n')).toBe(!top);
  }
});

test('the version is that of the package', async () => {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  expect(await rig.cli(['--version'])).toMatchObject({ code: 0, stdout: `${version}\n`, stderr: '' });
});

test('replay carries its warning wherever it is offered', async () => {
  for (const group of ['deliveries', 'dead-letters']) {
    const { stdout } = await rig.cli([group, 'replay', '--help']);
    expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
      'Replay repeats the message, not the money. Reconcile monetary effects by their original financial key.',
    );
  }
});

test('a mistake on the command line ends with code 2, and says what was meant', async () => {
  for (const args of [
    ['deliverys'],
    ['deliveries'],
    ['deliveries', 'list', '--statu', 'sent'],
    ['deliveries', 'list', '--status', 'lost'],
    ['deliveries', 'list', '--limit', '0'],
    ['deliveries', 'show'],
    ['deliveries', 'replay', 'x'],
    ['deliveries', 'list', '--target', 'a', '--endpoint', 'b'],
  ]) {
    const { code, stdout, stderr } = await rig.cli(args);
    expect({ args, code, stdout }).toEqual({ args, code: 2, stdout: '' });
    expect(stderr).toMatch(/^(error|Usage): /);
  }
  expect((await rig.cli(['deliveries', 'list', '--statu', 'sent'])).stderr).toContain(
    'Did you mean --status?',
  );
});

test('an age, a time or a duration that no date can bear is a mistake on the command line, of every command', async () => {
  const asked = COMMANDS.flatMap((path) => {
    const command = path.reduce(
      (at: Command | undefined, name) => at?.commands.find((each) => each.name() === name),
      PROGRAM,
    );
    return (command?.options ?? [])
      .filter(({ long }) => long !== '--occurred-at') // judged with the event, as ingest does
      .filter(({ flags }) => /<[^>]*(age|time|duration|waits)[^>]*>/.test(flags))
      .map(({ long }) => [...path, long ?? '']);
  });
  expect(asked.length).toBeGreaterThan(20);
  for (const args of asked) {
    const { code, stderr } = await rig.cli([...args, '9999999999d']);
    expect({ args, code }).toEqual({ args, code: 2 });
    expect({ args, stderr }).toEqual({
      args,
      stderr: expect.stringMatching(/'9999999999d' is invalid. Expected /),
    });
  }
});

test('with --json an error is one JSON document on stderr, and stdout stays empty', async () => {
  for (const args of [
    ['--json', 'deliveries', 'show', 'nothing'],
    ['deliveries', 'list', '--status', 'lost', '--json'],
    ['deliveries', '--json'],
  ]) {
    const { stdout, stderr } = await rig.cli(args);
    expect(stdout).toBe('');
    expect(JSON.parse(stderr)).toEqual({
      ok: false,
      error: { code: expect.any(String), message: expect.any(String), remedy: expect.any(String) },
    });
  }
});

test('an error cannot carry terminal escapes from the command line back to the terminal', async () => {
  const { stderr } = await rig.cli(['deliveries', 'show', '\u001B[31mx']);
  expect(stderr).toContain(String.raw`\u001b[31mx`);
  expect(stderr).not.toContain('\u001B');
});

test('an unreachable Redis is told at once, with its address and without its password', async () => {
  const { code, stderr } = await rig.cli([
    'deliveries',
    'list',
    '--redis-url',
    'redis://me:hunter2@127.0.0.1:1/3',
  ]);
  expect(code).toBe(1);
  expect(stderr).toContain('Redis at redis://127.0.0.1:1/3 is not reachable: connect ECONNREFUSED');
  expect(stderr).not.toContain('hunter2');
  const changing = await rig.cli(['breaker', 'open', 'receipts', '--json'], {
    redisUrl: 'redis://127.0.0.1:1',
  });
  expect(JSON.parse(changing.stderr).error.code).toBe('redis_unavailable');
});

test('a password that Redis refuses is told as such', async () => {
  const url = new URL(rig.env.REDIS_URL);
  url.username = 'nobody';
  url.password = 'hunter2';
  const { code, stderr } = await rig.cli(['deliveries', 'list'], { redisUrl: url.href });
  expect(code).toBe(1);
  expect(stderr).toContain('WRONGPASS');
  expect(stderr).toContain('Correct the user and the password in REDIS_URL.');
  expect(stderr).not.toContain('hunter2');
});

// Before the next test, whose three seconds outlast the two that ioredis gives a closed socket.
test('a Redis that goes away in the middle ends the command with an error', async () => {
  const redis = await startOwnRedis();
  const own = await createRig(undefined, redis.url);
  try {
    const id = await own.deadLetter('evt_1');
    const running = own.cli(['deliveries', 'replay', id, '--reason', 'fixed', '--wait', '--json']);
    await waitUntil(() => own.redis.hget(own.keys.delivery(id), 'replayId'), { what: 'the replay' });
    await redis.kill();
    const ended = await Promise.race([running, pause(20_000)]);
    expect(ended?.code).toBe(1);
    expect(JSON.parse(ended?.stderr ?? '').error).toMatchObject({
      code: 'redis_unavailable',
      message: expect.stringContaining('went away'),
    });
  } finally {
    await redis.restart(); // what is still connected can only be closed in peace when it answers
    await own.close();
    await redis.close();
  }
});

test('a command whose connection is closed in the middle of an answer says so, and is no fault of Breakwater', async () => {
  for (const event of ['evt_cut1', 'evt_cut2']) await rig.deadLetter(event);
  const upstreamPort = Number(new URL(rig.env.REDIS_URL).port);
  // Passes one reply of the pipeline that reads the records, and none of the others.
  const server = createServer((client) => {
    const upstream = createConnection(upstreamPort, '127.0.0.1');
    let cutting = false;
    client.on('data', (chunk) => {
      cutting ||= chunk.toString('latin1').toLowerCase().includes('hgetall');
      upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (!cutting) return void client.write(chunk);
      const end = firstReplyEnd(chunk.toString('latin1'));
      client.end(chunk.subarray(0, end));
      upstream.destroy();
    });
    for (const socket of [client, upstream]) socket.on('error', () => undefined);
    client.on('close', () => upstream.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const { code, stderr } = await rig.cli(['deliveries', 'list', '--json'], {
    redisUrl: `redis://127.0.0.1:${port}`,
  });
  server.close();
  expect(code).toBe(1);
  expect(JSON.parse(stderr).error).toMatchObject({
    code: 'redis_unavailable',
    message: expect.stringContaining('went away in the middle of the command'),
  });
});

/** A hash as RESP2 or RESP3 tells it: fields and values, a line of length and a line of text each. */
function firstReplyEnd(reply: string): number {
  const [, kind, count] = /^([*%])(\d+)\r\n/.exec(reply) ?? [];
  const lines = 1 + 2 * Number(count) * (kind === '%' ? 2 : 1);
  return reply.split('\r\n').slice(0, lines).join('\r\n').length + 2;
}

test('a Redis that accepts connections and never answers does not hang the command', async () => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const { code, stderr } = await rig.cli(['endpoints', 'list'], { redisUrl: `redis://127.0.0.1:${port}` });
  for (const socket of sockets) socket.destroy();
  server.close();
  expect(code).toBe(1);
  expect(stderr).toContain('no answer within 3 s');
});
