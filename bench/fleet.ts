import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { openDeliveries } from '@breakwater/core/delivery-deps';
import { addEndpoint } from '@breakwater/core/endpoints';
import { startGuard } from '@breakwater/local-stack/guard';
import { type Child, probeHttp, spawnChild, waitReady } from '@breakwater/local-stack/processes';
import { parseConfig } from '@breakwater/runtime/config';
import { createLogger } from '@breakwater/runtime/logger';
import { createSecretBox } from '@breakwater/store/secret-box';
import { freePort } from '../test/support/free-port.ts';
import { startOwnRedis } from '../test/support/redis.ts';
import { signedPost } from '../test/support/webhook.ts';

const root = join(import.meta.dirname, '..');
const configFile = join(root, 'breakwater.config.yaml');

export interface FleetOptions {
  readonly dispatchers: number;
  /** RETRY_SCHEDULE. */
  readonly schedule: string;
}

/** Ingest and dispatchers as child processes over a durable Redis of their own; the subscribers are in this process. */
export async function startFleet({ dispatchers, schedule }: FleetOptions) {
  const stack = new AsyncDisposableStack();
  const guard = startGuard();
  stack.defer(() => guard.close());
  const server = await startOwnRedis({ overrides: { maxmemory: '4gb' } });
  stack.defer(() => server.close());
  const env = {
    PATH: process.env['PATH'],
    REDIS_URL: server.url,
    LOG_LEVEL: 'warn',
    BREAKWATER_CONFIG: configFile,
    RETRY_SCHEDULE: schedule,
  };
  const children: Child[] = [];
  stack.defer(async () => void (await Promise.all(children.map((child) => child.stop(15_000)))));
  const start = async (service: string, more: Record<string, string>): Promise<Child> => {
    const opsPort = await freePort();
    const child = spawnChild({
      name: service,
      command: process.execPath,
      args: [join(root, 'services', service, 'src/main.ts')],
      env: { ...env, ...more, OPS_PORT: String(opsPort) },
      guard,
      stage: 1,
    });
    children.push(child);
    const state = await waitReady(child, () => probeHttp(`http://127.0.0.1:${opsPort}/readyz`), 30_000);
    if (state.kind !== 'ready') throw new Error(`${service} did not start: ${child.tail().join('\n')}`);
    return child;
  };
  const port = String(await freePort());
  await start('ingest', { PORT: port });
  const startDispatchers = (): Promise<Child[]> =>
    Promise.all(Array.from({ length: dispatchers }, () => start('dispatcher', {})));

  const breakwater = parseConfig(readFileSync(configFile, 'utf8'), {});
  const logger = createLogger({ service: 'bench', level: 'silent' });
  const deliveries = openDeliveries(
    { redisUrl: server.url, keyPrefix: 'bw', breakwater },
    { logger, defer: (_label, close) => stack.defer(async () => void (await close())) },
  );
  const { redis, keys } = deliveries;
  const secrets = createSecretBox(breakwater.encryptionKeys);
  return {
    ...deliveries,
    redisUrl: server.url,
    startDispatchers,
    async endpoint(url: string, type: string): Promise<string> {
      const wanted = { operator: 'default', url, types: [type], sources: ['demo-payments'], description: '' };
      const { endpoint } = await addEndpoint(
        { redis, keys, config: breakwater, secrets },
        { ...wanted, body: 'envelope' },
        'bench',
      );
      return endpoint.id;
    },
    /** Resolves when it is acknowledged, to how long that took, ms. */
    async send(type: string, id: string): Promise<number> {
      const sentAt = performance.now();
      const event = { event_id: id, type, order_id: id, note: 'x'.repeat(500) };
      const response = await signedPost(`http://127.0.0.1:${port}/webhooks/demo-payments`, event);
      if (response.status !== 200) throw new Error(`ingest answered ${response.status}`);
      await response.arrayBuffer();
      return performance.now() - sentAt;
    },
    status: async (status: string): Promise<number> =>
      Number((await redis.hget(keys.ledger, `status:endpoint:${status}`)) ?? 0),
    defer: (close: () => void) => stack.defer(close),
    stop: () => stack.disposeAsync(),
  };
}
export type Fleet = Awaited<ReturnType<typeof startFleet>>;

export interface Receiver {
  readonly url: string;
  /** By `webhook-id`: when the first request with it came. */
  readonly arrived: Map<string, number>;
  /** Requests so far. */
  requests: number;
  answer: (response: ServerResponse, attempt: number) => void;
}

/** A subscriber that is closed with the fleet. */
export async function startReceiver(fleet: Fleet, answer: Receiver['answer']): Promise<Receiver> {
  const arrived = new Map<string, number>();
  const server = createServer((request, response) => {
    const id = String(request.headers['webhook-id']);
    if (!arrived.has(id)) arrived.set(id, performance.now());
    request.resume();
    receiver.requests += 1;
    receiver.answer(response, Number(request.headers['breakwater-attempt']));
  });
  fleet.defer(() => {
    server.close();
    server.closeAllConnections();
  });
  const receiver: Receiver = { url: '', arrived, requests: 0, answer };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(receiver, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` });
}

export const OK = (response: ServerResponse): void => void response.writeHead(200).end();

export interface Paced {
  /** From being sent to ingest to reaching the subscriber, ms. */
  readonly latencies: number[];
  readonly acknowledged: number[];
}

/** Sends `count` events of a type at an even rate, and waits until the subscriber has all of them. */
export async function sendPaced(
  fleet: Fleet,
  receiver: Receiver,
  { type, run, count, perSecond }: { type: string; run: string; count: number; perSecond: number },
): Promise<Paced> {
  const sentAt = new Map<string, number>();
  const sending: Promise<number>[] = [];
  const started = performance.now();
  for (let index = 0; index < count; index += 1) {
    const early = started + (index / perSecond) * 1_000 - performance.now();
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
    const id = `${run}-${index}`;
    sentAt.set(id, performance.now());
    sending.push(fleet.send(type, id));
  }
  const acknowledged = await Promise.all(sending);
  await until(() => [...sentAt.keys()].every((id) => receiver.arrived.has(id)), 'the paced events');
  return {
    acknowledged,
    latencies: [...sentAt].map(([id, at]) => (receiver.arrived.get(id) ?? 0) - at),
  };
}

export async function until(done: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const deadline = performance.now() + 600_000;
  while (!(await done())) {
    if (performance.now() > deadline) throw new Error(`waited ten minutes for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export const quantile = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))] ?? 0;
export const median = (values: readonly number[]): number => quantile(values, 0.5);
export const figures = (values: readonly number[]): string =>
  `p50 ${median(values).toFixed(0)} ms, p99 ${quantile(values, 0.99).toFixed(0)} ms, max ${Math.max(...values).toFixed(0)} ms`;

/** Runs `work(index)` for 0 to count - 1, `width` at a time. */
export async function inParallel(
  count: number,
  width: number,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: width }, lane));
}
