import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '@breakwater/runtime/logger';
import { afterEach } from '@jest/globals';
import { type Simulator, startSimulator } from '../src/app.ts';

export const MAIN = fileURLToPath(new URL('../src/main.ts', import.meta.url));
const DEADLINE_MS = 10_000;

const cleanups: (() => unknown)[] = [];

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

export function defer(cleanup: () => unknown): void {
  cleanups.push(cleanup);
}

export interface Answer {
  readonly status: number;
  readonly body: unknown;
}

export interface Client {
  readonly request: (method: string, path: string, body?: unknown) => Promise<Answer>;
  /** Posts a receipt of `reference`; rejects when the socket breaks. */
  readonly post: (reference: string, warehouse?: string, signal?: AbortSignal) => Promise<Answer>;
  readonly faults: (faults: Record<string, unknown>) => Promise<Answer>;
  readonly stats: () => Promise<unknown>;
}

export const receiptBody = (reference: string, warehouse = 'north') => ({
  external_reference: reference,
  order_id: `order-${reference}`,
  warehouse,
  lines: [{ sku: 'bolt-8', quantity: 3 }],
});

export function clientOf(port: number): Client {
  const request = async (
    method: string,
    path: string,
    body?: unknown,
    signal?: AbortSignal,
  ): Promise<Answer> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal ? { signal } : {}),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
  };
  return {
    request,
    post: (reference, warehouse, signal) =>
      request('POST', '/api/receipts', receiptBody(reference, warehouse), signal),
    faults: (faults) => request('PUT', '/api/faults', faults),
    stats: async () => (await request('GET', '/api/stats')).body,
  };
}

export const silent = createLogger({ service: 'test', level: 'silent' });

export async function start(
  options: { random?: () => number; dataFile?: string } = {},
): Promise<Client & { simulator: Simulator }> {
  const simulator = await startSimulator({ host: '127.0.0.1', port: 0, logger: silent, ...options });
  defer(simulator.close);
  return { ...clientOf(simulator.port), simulator };
}

export interface Begun {
  readonly answer: Promise<PromiseSettledResult<Answer>>;
  readonly settled: () => boolean;
}

export interface SimulatorProcess extends Client {
  readonly child: ChildProcess;
  /** Log lines so far, parsed. */
  readonly log: Record<string, unknown>[];
  /** Posts without waiting for the answer, and resolves when the simulator has read the posting. */
  readonly begin: (reference: string, warehouse?: string, signal?: AbortSignal) => Promise<Begun>;
  readonly kill: (signal: NodeJS.Signals) => Promise<void>;
}

/** Starts main.ts as a process of its own, by way of a shell's `script` if given, and waits until it listens. */
export async function startProcess(
  env: Record<string, string> = {},
  script = 'exec "$0" "$@"',
): Promise<SimulatorProcess> {
  const child = spawn('sh', ['-c', script, process.execPath, MAIN], {
    env: { ...process.env, PORT: '0', LOG_LEVEL: 'debug', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const kill = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await exited;
  };
  defer(() => kill('SIGKILL'));
  const log: Record<string, unknown>[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => log.push(JSON.parse(line)));
  const listening = () => log.find((line) => line['msg'] === 'listening');
  await until('the simulator listens', () => listening() !== undefined || child.exitCode !== null);
  if (!listening()) throw new Error(`the simulator did not start: ${JSON.stringify(log)}`);
  const client = clientOf(Number(listening()!['port']));
  const begin: SimulatorProcess['begin'] = async (reference, ...rest) => {
    let settled = false;
    const answer = Promise.allSettled([client.post(reference, ...rest)]).then(([result]) => {
      settled = true;
      return result;
    });
    await until(`${reference} arrives`, () =>
      log.some((line) => line['msg'] === 'posting arrived' && line['reference'] === reference),
    );
    return { answer, settled: () => settled };
  };
  return { ...client, child, log, begin, kill };
}

export async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`gave up waiting until ${what}`);
    await sleep(10);
  }
}
