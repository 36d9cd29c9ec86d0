import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { BreakwaterConfig } from '@breakwater/contracts/config';
import { deliveryId, erpDestination, eventKey, newId } from '@breakwater/contracts/ids';
import { encodeBody } from '@breakwater/contracts/jobs';
import { openDeliveries } from '@breakwater/core/delivery-deps';
import { createFanOut } from '@breakwater/core/fan-out';
import { createErpTargets } from '@breakwater/erp/targets';
import { createHttpClient } from '@breakwater/http/client';
import { createLogger } from '@breakwater/runtime/logger';
import { readBreaker } from '@breakwater/store/gates';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { start } from '../src/app.ts';

const logger = createLogger({ service: 'test', level: 'silent' });
export const TARGET = 'receipts';
export const DESTINATION = erpDestination(TARGET);

/** What the ERP does with a document: 201 by default, once `after` has come. */
export interface ErpAnswer {
  readonly status?: number;
  readonly json?: unknown;
  readonly after?: Promise<unknown>;
}

export interface Posted {
  readonly reference: string;
  readonly key: string;
}

/** An ERP on a real socket that keeps what it was told, and whether it ever worked at one key twice at once. */
async function startErp(stack: AsyncDisposableStack) {
  const erp = {
    url: '',
    /** Documents created, in order. */
    posted: [] as Posted[],
    /** Requests of any kind. */
    requests: 0,
    overlaps: [] as string[],
    answer: (_document: Posted): ErpAnswer => ({}),
    isDown: false,
    /** Documents that it works at now. */
    working: (): number => [...working.values()].reduce((sum, count) => sum + count, 0),
  };
  const working = new Map<string, number>();
  const post = async (body: string): Promise<[number, unknown]> => {
    const document = JSON.parse(body) as Posted;
    const { reference, key } = document;
    working.set(key, (working.get(key) ?? 0) + 1);
    if ((working.get(key) ?? 0) > 1) erp.overlaps.push(key);
    const { status = 201, json = { receipt: `R-${reference}` }, after } = erp.answer(document);
    await (after ?? new Promise((resolve) => setTimeout(resolve, 2))); // long enough for an overlap to be seen
    if (status === 201) erp.posted.push({ reference, key });
    working.set(key, (working.get(key) ?? 1) - 1);
    return [status, json];
  };
  const look = ({ searchParams }: URL): [number, unknown] => {
    const asked = searchParams.get('reference');
    return [200, { hits: erp.posted.filter(({ reference }) => reference === asked) }];
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await text(request);
    erp.requests += 1;
    const [status, json] = erp.isDown
      ? [503, {}]
      : request.method === 'POST'
        ? await post(body)
        : look(new URL(request.url ?? '', 'http://erp.test'));
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
  };
  const server = createServer(
    (request, response) => void serve(request, response).catch(() => response.destroy()),
  );
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  erp.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  stack.defer(async () => {
    const closed = Promise.withResolvers<void>();
    server.close(() => closed.resolve());
    server.closeAllConnections();
    await closed.promise;
  });
  return erp;
}

/** As `breakwater.config.yaml` would say it; `target` replaces members of the ERP target. */
const configOf = (erpUrl: string, target: object): BreakwaterConfig =>
  BreakwaterConfig.parse({
    sources: {
      shop: {
        secrets: [{ id: 'a', value: 'b' }],
        auth: {
          kind: 'signature',
          algorithm: 'hmac-sha256',
          signature: { header: 'x', encoding: 'hex' },
        },
        eventId: { pointer: '/id' },
      },
    },
    erpTargets: {
      [TARGET]: {
        owner: 'integration',
        document: '{ "reference": reference, "key": data.key, "amount": $number(data.amount) }',
        serialKey: { pointer: '/key' },
        settle: '500ms',
        retrySchedule: ['0s', '1s', '1s', '1s', '1s', '1s'],
        adapter: {
          kind: 'http',
          baseUrl: erpUrl,
          post: {
            path: '"/documents"',
            answers: { posted: [201], rejected: [422], failed: [503] },
            receipt: 'answer.receipt',
          },
          find: {
            path: '"/documents?reference=" & $encodeUrlComponent(reference)',
            hits: 'answer.hits',
          },
        },
        ...target,
      },
    },
    routes: [{ source: 'shop', target: TARGET }],
  });

/**
 * A fleet of erp-consumers in this process, each with connections of its own, and an ERP. Events are fanned out as the
 * dispatcher does it.
 */
export async function openFleet(target: object = {}) {
  const stack = new AsyncDisposableStack();
  const erp = await startErp(stack);
  const breakwater = configOf(erp.url, target);
  const settings = { redisUrl: sharedRedisUrl(), keyPrefix: `fleet-${newId()}`, breakwater };
  const deliveries = openDeliveries(settings, {
    logger,
    defer: (_label, close) => stack.defer(async () => void (await close())),
  });
  const { redis, keys } = deliveries;
  const client = createHttpClient({});
  stack.defer(() => client.close());
  const targets = createErpTargets(breakwater, client);
  const fanOut = createFanOut({ ...deliveries, config: breakwater, targets });

  return {
    erp,
    ...deliveries,
    /** Resolves to the delivery's id. `at`: when it was accepted, ms since the epoch. */
    async accept(eventId: string, data: object, at = Date.now()): Promise<string> {
      const body = encodeBody(Buffer.from(JSON.stringify({ id: eventId, amount: 1, ...data })), true);
      const facts = { operator: 'default', source: 'shop', eventId, type: 'paid', entity: '' };
      await fanOut({ v: 1, ...facts, contentType: '', receivedAt: at, ...body });
      return deliveryId(eventKey('default', 'shop', eventId), DESTINATION);
    },
    /** Starts a replica; resolves to what stops it. */
    async replica(): Promise<() => Promise<void>> {
      const stopping = new AbortController();
      const closing = new AsyncDisposableStack();
      const stop = async (): Promise<void> => {
        stopping.abort();
        await closing.disposeAsync(); // a second time it does nothing
      };
      stack.defer(stop);
      await start(
        {
          ...settings,
          host: '127.0.0.1',
          port: 0,
          opsPort: 0,
          durability: 'relaxed',
          shutdownTimeoutMs: 75_000,
        },
        {
          logger,
          signal: stopping.signal,
          defer: (_label, close) => closing.defer(async () => void (await close())),
        },
      );
      return stop;
    },
    record: async (id: string): Promise<Record<string, string>> => await redis.hgetall(keys.delivery(id)),
    statuses: async (ids: readonly string[]) =>
      await Promise.all(ids.map((id) => redis.hget(keys.delivery(id), 'status'))),
    breaker: async () => (await readBreaker(redis, keys, DESTINATION)).state,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
export type Fleet = Awaited<ReturnType<typeof openFleet>>;
