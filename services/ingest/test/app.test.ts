import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterEach, expect, test } from '@jest/globals';
import { parseConfig } from '@breakwater/runtime/config';
import { createLogger } from '@breakwater/runtime/logger';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { startRedisProxy } from '../../../test/support/redis-proxy.ts';
import { start } from '../src/app.ts';
import { call, codeOf, connectRaw, eventually, sign, SIGNATURE } from './support.ts';

const CONFIG = `
sources:
  demo:
    secrets: [{ id: first, value: a secret for tests }]
    auth: { kind: signature, algorithm: hmac-sha256, signature: { header: x-signature, prefix: sha256=, encoding: hex } }
    eventId: { pointer: /id }
`;

const stack: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of stack.splice(0).toReversed()) await close();
});

/** A port on which nothing listens: as Redis, it is down. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

interface Started {
  readonly port: number;
  readonly opsPort: number;
  readonly stopping: AbortController;
}

const startWithoutRedis = async (): Promise<Started> => startAt(`redis://127.0.0.1:${await freePort()}`);

async function startAt(redisUrl: string): Promise<Started> {
  const stopping = new AbortController();
  const ports = await start(
    {
      host: '127.0.0.1',
      port: 0,
      opsPort: 0,
      breakwater: parseConfig(CONFIG, {}),
      shutdownTimeoutMs: 9_000,
      keyPrefix: `ingest-app-test-${randomUUID()}`,
      redisUrl,
      durability: 'strict',
    },
    {
      signal: stopping.signal,
      defer: (_label, close) => void stack.push(close),
      logger: createLogger({ service: 'ingest-test', level: 'silent' }),
    },
  );
  return { ...ports, stopping };
}

test('without Redis ingest listens, answers 503, and says that it is not ready', async () => {
  const { port, opsPort } = await startWithoutRedis();
  const body = '{"id":"evt_1"}';
  const answer = await call(port, { body, headers: { [SIGNATURE]: sign(body) } });
  expect([answer.status, codeOf(answer), answer.headers['retry-after']]).toEqual([503, 'unavailable', '5']);
  expect((await call(port, { body })).status).toBe(401); // who cannot sign is told so whatever Redis does
  expect((await call(opsPort, { method: 'GET', path: '/livez' })).status).toBe(200);
  expect((await call(opsPort, { method: 'GET', path: '/readyz' })).status).toBe(503);
  const metrics = await call(opsPort, { method: 'GET', path: '/metrics' });
  expect(metrics.text).toContain('breakwater_webhooks_received_total{source="demo",outcome="unavailable"} 1');
  expect(metrics.text).toContain('process_cpu_seconds_total');
});

test('an ingest that has just opened its port takes the first event: it has asked Redis before', async () => {
  const proxy = await startRedisProxy(sharedRedisUrl(), {
    at: (sent) => sent.includes('appendfsync'),
    when: 'before',
  });
  stack.push(() => proxy.close());
  const starting = startAt(proxy.url);
  await proxy.reached;
  setTimeout(proxy.release, 200);
  const { port } = await starting;
  const body = '{"id":"evt_1"}';
  expect((await call(port, { body, headers: { [SIGNATURE]: sign(body) } })).status).toBe(200);
});

test('a stopping ingest is not ready, finishes what it has begun, and leaves no connection', async () => {
  const { port, opsPort, stopping } = await startWithoutRedis();
  const idle = await connectRaw(port);
  idle.socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  await idle.until(/not_found/);
  const busy = await connectRaw(port);
  busy.socket.write(
    'POST /webhooks/demo HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n',
  );
  await busy.until(/100 Continue/);
  stopping.abort();
  expect((await call(opsPort, { method: 'GET', path: '/readyz' })).text).toBe(
    '{"ok":false,"reasons":["stopping"]}',
  );
  const closing = stack.pop()?.();
  await idle.closed;
  busy.socket.write('{}');
  expect(await busy.until(/signature_missing/)).toMatch(/HTTP\/1\.1 401 [^]*connection: close/i);
  await closing;
  await busy.closed;
  let refused = false;
  await eventually(async () => {
    refused = await call(port, {}).then(
      () => false,
      () => true,
    );
    return refused;
  }, 'the port is closed');
  expect(refused).toBe(true);
});
