import { readFileSync } from 'node:fs';
import { type RequestListener, createServer } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Delivery } from '@breakwater/contracts/delivery';
import { listDeliveries } from '@breakwater/core/list-deliveries';
import { readEnvironment } from '@breakwater/runtime/environment';
import { createLogger } from '@breakwater/runtime/logger';
import { closeRedis, connectRedis, type Redis } from '@breakwater/store/connection';
import { readSample } from '@breakwater/store/deliveries';
import { createKeyspace } from '@breakwater/store/keys';
import { closeServer, listen } from '@breakwater/runtime/listen';
import { startDnsServer } from '../../packages/http/test/support/dns-server.ts';
import { type Rig, startRig } from '../support/rig.ts';
import { waitUntil } from '../support/wait-until.ts';
import { orderPaid } from '../support/webhook.ts';

/** What the name server says of a name, until a test says otherwise. */
const addresses = new Map<string, string>();
const stack = new AsyncDisposableStack();
let rig: Rig;
let redis: Redis;
const keys = createKeyspace(readEnvironment({}).KEY_PREFIX);

beforeAll(async () => {
  const dns = await startDnsServer((name, type) => {
    const address = addresses.get(name);
    if (address === undefined) return 'silence';
    return { addresses: type === 'A' ? [address] : [] };
  });
  stack.defer(() => dns.close());
  const demonstration = readFileSync(join(import.meta.dirname, '../../breakwater.config.yaml'), 'utf8');
  const config = demonstration.replace(
    /^egress:\n/m,
    `samples: { redact: ['cust-\\d+'] }\negress:\n  resolvers: ['${dns.address}']\n`,
  );
  rig = await startRig({ config, schedule: '0s,1s,2s', services: ['ingest', 'dispatcher'] });
  stack.defer(() => rig.close());
  redis = connectRedis(rig.redis.url, 'scripts', createLogger({ service: 'test', level: 'silent' }));
  stack.defer(() => closeRedis(redis));
}, 60_000);
afterAll(() => stack.disposeAsync(), 60_000);

type Shown = Delivery & { readonly sample: Awaited<ReturnType<typeof readSample>> };

let serial = 0;
/** Sends an event to an endpoint of its own at `name`, and waits until its delivery has passed `isDone`. */
async function deliver(
  name: string,
  answer: RequestListener,
  isDone: (delivery: Delivery) => boolean,
): Promise<Shown> {
  const server = createServer(answer);
  const port = await listen(server, 0, '127.0.0.1');
  try {
    const type = `test.outbound${(serial += 1)}`;
    const url = `http://${name}:${port}/hook`;
    const added = ['endpoints', 'add', '--url', url, '--types', type, '--timeout', '1s'];
    const { id } = await rig.json<{ id: string }>(...added);
    expect((await rig.send(orderPaid(`evt-${type}`, { type }))).status).toBe(200);
    const look = async (): Promise<Shown | false> => {
      const query = { operator: 'default', destination: id };
      const { deliveries } = await listDeliveries(redis, keys, query, undefined, { limit: 1 });
      const [delivery] = deliveries;
      if (!delivery || !isDone(delivery)) return false;
      return { ...delivery, sample: await readSample(redis, keys, delivery.id) };
    };
    return await waitUntil(look, { what: `the delivery to ${name}`, timeoutMs: 40_000 });
  } finally {
    await closeServer(server, 0);
  }
}

test('Retry-After lengthens a wait and never shortens one', async () => {
  addresses.set('busy.example', '127.0.0.1');
  const answers = [
    [429, '3'],
    [503, '0'],
    [200, ''],
  ] as const;
  let asked = 0;
  const { attempts } = await deliver(
    'busy.example',
    (request, response) => {
      const [status, wait] = answers[asked++] ?? [200, ''];
      request.resume().on('end', () => response.writeHead(status, { 'retry-after': wait }).end());
    },
    ({ status }) => status === 'sent',
  );
  expect(attempts.map(({ class: name }) => name)).toEqual(['http_429', 'http_5xx', 'sent']);
  const waits = attempts.slice(1).map(({ startedAt }, index) => {
    const before = attempts[index];
    return startedAt - (before!.startedAt + before!.durationMs);
  });
  // Asked for 3 s where the schedule says 1 s; asked for none where it says 2 s. Durations are rounded.
  expect(waits[0]).toBeGreaterThanOrEqual(2_950);
  expect(waits[1]).toBeGreaterThanOrEqual(1_950);
}, 60_000);

test('an answer that echoes the request shows no secret of it, and can be expunged', async () => {
  addresses.set('echo.example', '127.0.0.1');
  const shown = await deliver(
    'echo.example',
    (request, response) => {
      response.writeHead(410).end(`of cust-77: ${JSON.stringify(request.headers)}`);
    },
    ({ status }) => status === 'dead_letter',
  );
  expect(shown.sample?.text).toContain('of [redacted]: {');
  expect(shown.sample?.text).toContain('"webhook-signature":"[redacted]"');
  expect(shown.sample?.text).not.toMatch(/v1,|cust-/);
  const expunged = await rig.json('deliveries', 'expunge', shown.id, '--reason', 'a test');
  expect(expunged).toMatchObject({ expunged: 1, deliveries: [shown.id] });
  expect(await readSample(redis, keys, shown.id)).toBeUndefined();
}, 60_000);

test('a 200 with a body that never ends is sent, once', async () => {
  addresses.set('endless.example', '127.0.0.1');
  let requests = 0;
  const shown = await deliver(
    'endless.example',
    (_request, response) => {
      requests += 1;
      const pour = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
      };
      response.on('drain', pour);
      pour();
    },
    ({ status }) => status === 'sent',
  );
  expect(shown.sample).toMatchObject({ text: 'x'.repeat(1_024), truncated: true });
  expect(requests).toBe(1);
}, 60_000);

test('a name that turns private between two attempts is blocked in the second', async () => {
  addresses.set('rebind.example', '127.0.0.1');
  let requests = 0;
  const shown = await deliver(
    'rebind.example',
    (_request, response) => {
      requests += 1;
      addresses.set('rebind.example', '10.1.2.3');
      response.writeHead(500, { connection: 'close' }).end();
    },
    ({ attempts }) => attempts.length >= 2,
  );
  expect(shown.attempts.map(({ class: name }) => name).slice(0, 2)).toEqual(['http_5xx', 'blocked_address']);
  expect(requests).toBe(1);
}, 60_000);

test('a name server that says nothing is timeout_dns, within the timeout of the endpoint', async () => {
  const shown = await deliver(
    'silent.example',
    () => {},
    ({ attempts }) => attempts.length > 0,
  );
  expect(shown.attempts[0]).toMatchObject({ class: 'timeout_dns', code: 'ETIMEDOUT' });
}, 60_000);
