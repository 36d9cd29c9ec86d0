import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { type ReceiverOptions, startReceiver } from '../src/app.ts';

const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const DEADLINE_MS = 10_000;

export const secretOf = (text: string): string =>
  `whsec_${Buffer.from(text.padEnd(24, '.')).toString('base64')}`;
export const SECRET = secretOf('the first secret');

export const ACCEPTED = { status: 200, body: { ok: true, duplicate: false } };
export const DUPLICATE = { status: 200, body: { ok: true, duplicate: true } };

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

export async function temporaryInbox(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'receiver-'));
  cleanups.push(() => rm(directory, { recursive: true }));
  return join(directory, 'inbox.ndjson');
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface Sending {
  readonly body?: string;
  readonly secret?: string;
  readonly at?: Date;
  readonly headers?: Record<string, string>;
}

/** Sends a message as a Standard Webhooks sender does. */
export async function send(port: number, id: string, sending: Sending = {}): Promise<Answer> {
  const { body = `{"id":"${id}"}`, secret = SECRET, at = new Date() } = sending;
  const response = await fetch(`http://127.0.0.1:${port}/webhooks`, {
    method: 'POST',
    headers: {
      'webhook-id': id,
      'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign(id, at, body),
      ...sending.headers,
    },
    body,
  });
  return { status: response.status, body: await response.json() };
}

export async function events(port: number): Promise<unknown> {
  const response = await fetch(`http://127.0.0.1:${port}/events`);
  return ((await response.json()) as { events: unknown }).events;
}

export async function start(
  options: Partial<ReceiverOptions> & { inboxFile: string },
): Promise<{ port: number; close: () => Promise<void> }> {
  const receiver = await startReceiver({ host: '127.0.0.1', port: 0, secrets: [SECRET], ...options });
  let closed: Promise<void> | undefined;
  const close = () => (closed ??= receiver.close());
  cleanups.push(close);
  return { port: receiver.port, close };
}

export interface ReceiverProcess {
  readonly port: number;
  readonly output: () => string;
  readonly kill: (signal: NodeJS.Signals) => Promise<number | null>;
}

/** Starts main.ts as a process of its own, by way of a shell's `script` if given, and waits until it listens. */
export async function startProcess(
  env: Record<string, string>,
  script = 'exec "$0" "$@"',
): Promise<ReceiverProcess> {
  const { child, exited, output } = run({ PORT: '0', WEBHOOK_SECRET: SECRET, ...env }, script);
  const kill = async (signal: NodeJS.Signals): Promise<number | null> => {
    child.kill(signal);
    return exited;
  };
  cleanups.push(() => kill('SIGKILL'));
  const port = () => /receiving webhooks on port (\d+)/.exec(output())?.[1];
  await until('the receiver listens', () => port() !== undefined || child.exitCode !== null);
  if (port() === undefined) throw new Error(`the receiver did not start: ${output()}`);
  return { port: Number(port()), output, kill };
}

/** Runs main.ts to its end. */
export async function runToEnd(
  env: Record<string, string>,
): Promise<{ code: number | null; output: string }> {
  const { exited, output } = run(env, 'exec "$0" "$@"');
  return { code: await exited, output: output() };
}

function run(env: Record<string, string>, script: string) {
  const child = spawn('sh', ['-c', script, process.execPath, MAIN], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += String(chunk)));
  const exited = once(child, 'close').then(([code]) => code as number | null);
  return { child, exited, output: () => text };
}

export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`gave up waiting until ${what}`);
    await sleep(10);
  }
}
