import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach } from '@jest/globals';
import { BreakwaterConfig } from '@breakwater/contracts/config';
import { newId } from '@breakwater/contracts/ids';
import { openDeliveries } from '@breakwater/core/delivery-deps';
import { addEndpoint } from '@breakwater/core/endpoints';
import { createEventProducer } from '@breakwater/queue/event-producer';
import { createLogger } from '@breakwater/runtime/logger';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { type Rate, writeGate } from '@breakwater/store/gates';
import { createSecretBox } from '@breakwater/store/secret-box';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { start } from '../src/app.ts';

const logger = createLogger({ service: 'dispatcher-test', level: 'silent' });
const stack: (() => unknown)[] = [];
export const afterwards = (close: () => unknown): void => void stack.push(close);
afterEach(async () => {
  for (const close of stack.splice(0).toReversed()) await close();
});

export type Deliveries = Partial<Record<'retriesInFlight' | 'maxInFlight', number>> & {
  readonly retrySchedule?: readonly string[];
  readonly autoPause?: Readonly<Record<string, string>>;
};

/** Dispatchers as `npm start` runs them, in this process and in a key space of their own, and the moves that tests need. */
export async function openFleet(
  dispatchers: number,
  deliveries: Deliveries = {},
  redisUrl = sharedRedisUrl(),
) {
  const keyPrefix = `t${newId()}`;
  const breakwater = BreakwaterConfig.parse({
    encryptionKeys: Buffer.alloc(32, 7).toString('base64'),
    egress: { allowHttp: true, allow: ['127.0.0.0/8'] },
    deliveries,
  });
  const config = { redisUrl, keyPrefix, breakwater };
  const work = openDeliveries(config, { defer: (_label, close) => afterwards(close), logger });
  const { redis, keys } = work;
  const secrets = createSecretBox(breakwater.encryptionKeys);
  const producing = connectRedis(redisUrl, 'producer', logger);
  afterwards(() => closeRedis(producing));
  const producer = createEventProducer(producing, keys, logger);
  afterwards(() => producer.close());
  const startDispatcher = async (): Promise<void> => {
    const stopping = new AbortController();
    const closers: (() => unknown)[] = [];
    afterwards(async () => {
      stopping.abort();
      for (const close of closers.toReversed()) await close();
    });
    await start(
      { ...config, host: '127.0.0.1', port: 0, opsPort: 0, durability: 'strict', shutdownTimeoutMs: 45_000 },
      { signal: stopping.signal, logger, defer: (_label, close) => void closers.push(close) },
    );
  };
  for (let count = 0; count < dispatchers; count += 1) await startDispatcher();
  return {
    ...work,
    breakwater,
    secrets,
    startDispatcher,
    /** An endpoint for events of its own type. Resolves to its id, which is also that type. */
    async endpoint(url: string, maxInFlight = 10, rate?: Rate): Promise<string> {
      const { endpoint } = await addEndpoint(
        { redis, keys, config: breakwater, secrets },
        { operator: 'default', url, types: [], sources: [], description: '', body: 'envelope', maxInFlight },
        'tester',
      );
      const record = JSON.stringify({ ...endpoint, types: [endpoint.id], timeoutMs: 30_000 });
      await redis.hset(keys.endpoint(endpoint.id), 'record', record);
      await redis.incr(keys.endpointsVersion('default'));
      await writeGate(redis, keys, endpoint.id, maxInFlight, { leaseMs: 40_000 }, rate);
      return endpoint.id;
    },
    /** Accepts one event for an endpoint, as ingest does. Resolves to its id. */
    async publish(endpoint: string): Promise<string> {
      const eventId = newId();
      await producer.add(
        {
          v: 1,
          operator: 'default',
          source: 'shop',
          eventId,
          type: endpoint,
          entity: '',
          contentType: 'application/json',
          receivedAt: Date.now(),
          encoding: 'utf8',
          body: '{}',
        },
        newId(),
        { id: eventId, ttlMs: 60_000 },
      );
      return eventId;
    },
    /** Deliveries to endpoints by status. */
    async count(status: string): Promise<number> {
      return Number((await redis.hget(keys.ledger, `status:endpoint:${status}`)) ?? 0);
    },
  };
}

export interface Receiver {
  readonly url: string;
  /** When each request came, ms, and the event that it carried. */
  readonly received: { readonly at: number; readonly id: string }[];
  /** What it does with a request; to begin with it answers 200. */
  answer: (response: ServerResponse, attempt: number) => void;
  /** Requests that have no answer yet. */
  readonly open: () => number;
  /** Answers all of them. */
  readonly finish: (status: number) => void;
}

/** A subscriber that may leave requests unanswered. */
export async function openReceiver(): Promise<Receiver> {
  const pending = new Set<ServerResponse>();
  const receiver: Receiver = {
    url: '',
    received: [],
    answer: (response) => response.writeHead(200).end(),
    open: () => pending.size,
    finish: (status) => pending.forEach((response) => response.writeHead(status).end()),
  };
  const server = createServer((request, response) => {
    request.resume();
    receiver.received.push({ at: performance.now(), id: String(request.headers['webhook-id']) });
    pending.add(response);
    response.on('close', () => pending.delete(response));
    receiver.answer(response, Number(request.headers['breakwater-attempt']));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterwards(() => {
    server.close();
    server.closeAllConnections();
  });
  return Object.assign(receiver, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` });
}
