import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { expect, test } from '@jest/globals';
import { createAgents } from '../src/agents.ts';
import { createHttpClient } from '../src/client.ts';
import { post, rawServer, withClient, withServer } from './support/servers.ts';

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** Answers the first request of every connection and kills the connection at the second one. */
function forgetful(): ReturnType<typeof rawServer> {
  const served = new Set<Socket>();
  return rawServer((socket) => {
    if (served.has(socket)) {
      socket.resetAndDestroy();
      return;
    }
    served.add(socket);
    socket.write(OK);
  });
}

test('repeatable requests share a connection, others never meet a used one', async () => {
  const ports: (number | undefined)[] = [];
  const server = createServer((request, response) => {
    ports.push(request.socket.remotePort);
    request.resume().on('end', () => response.end('ok'));
  });
  await withServer(server, async (port) =>
    withClient(async (client) => {
      for (const repeatable of [true, true, false, false]) {
        expect(await client.request(post(port, { repeatable }))).toMatchObject({
          kind: 'response',
          status: 200,
        });
      }
      expect(ports[1]).toBe(ports[0]);
      expect(new Set(ports).size).toBe(3);
    }),
  );
});

test('a kept connection that turns out to be closed is replaced within the same call', async () => {
  const { server, received, connections } = forgetful();
  await withServer(server, async (port) =>
    withClient(async (client) => {
      expect(await client.request(post(port, { repeatable: true, body: 'one' }))).toMatchObject({
        status: 200,
      });
      expect(await client.request(post(port, { repeatable: true, body: 'two' }))).toMatchObject({
        kind: 'response',
        status: 200,
      });
      expect(connections()).toBe(2);
      expect(received().match(/two/g)).toHaveLength(2);
    }),
  );
});

test('a request that must not be repeated is sent once, even to a server that closes after applying it', async () => {
  const { server, received } = rawServer((socket) => socket.resetAndDestroy());
  await withServer(server, async (port) =>
    withClient(async (client) => {
      expect(await client.request(post(port, { body: 'posting' }))).toMatchObject({
        kind: 'failure',
        class: 'connection_reset',
        sent: 'maybe',
      });
      expect(received().match(/posting/g)).toHaveLength(1);
    }),
  );
});

test('a new connection that is reset is not tried again', async () => {
  const { server, connections } = rawServer((socket) => socket.resetAndDestroy());
  await withServer(server, async (port) =>
    withClient(async (client) => {
      expect(await client.request(post(port, { repeatable: true }))).toMatchObject({
        kind: 'failure',
        class: 'connection_reset',
        sent: 'maybe',
      });
      expect(connections()).toBe(1);
    }),
  );
});

test('when the second try is not allowed any more, the first one is what is told', async () => {
  const { server, received } = forgetful();
  await withServer(server, async (port) =>
    withClient(async (client) => {
      await client.request(post(port, { repeatable: true }));
      const answers = [true, true, false];
      const outcome = await client.request(
        post(port, { repeatable: true, body: 'two', mayWrite: () => answers.shift() ?? false }),
      );
      expect(outcome).toMatchObject({ kind: 'failure', class: 'connection_reset', sent: 'maybe' });
      expect(received().match(/two/g)).toHaveLength(1);
    }),
  );
});

test('when the second try does not even connect, the first one may still have arrived', async () => {
  const { server } = forgetful();
  await withServer(server, async (port) =>
    withClient(async (client) => {
      await client.request(post(port, { repeatable: true }));
      server.close(); // the kept connection lives on, new ones are refused
      const outcome = await client.request(post(port, { repeatable: true }));
      expect(outcome).toMatchObject({ kind: 'failure', class: 'connection_refused', sent: 'maybe' });
      server.listen(0, '127.0.0.1');
    }),
  );
});

test.each([
  ['was cut', 'HTTP/1.1 200 OK\r\ncontent-length: 50000\r\n\r\n', 'x'.repeat(5_000)],
  ['broke off', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', '2\r\nok\r\nzz\r\n'],
])('a connection whose body %s is not used again', async (_name, head, body) => {
  const { server, connections } = rawServer((socket) => socket.write(head + body));
  await withServer(server, async (port) =>
    withClient(async (client) => {
      for (let round = 0; round < 2; round += 1) {
        expect(await client.request(post(port, { repeatable: true, maxBodyBytes: 1_000 }))).toMatchObject({
          status: 200,
          truncated: true,
        });
      }
      expect(connections()).toBe(2);
    }),
  );
});

test('an idle connection is closed after a while, and a slow answer is no idleness', async () => {
  const closed = Promise.withResolvers<void>();
  const server = createServer((_request, response) => void setTimeout(() => response.end('ok'), 300));
  server.on('connection', (socket) => socket.on('close', () => closed.resolve()));
  server.keepAliveTimeout = 0; // the server never closes, so that only the client can
  const agents = createAgents({ idleTimeoutMs: 100 });
  await withServer(server, async (port) =>
    withClient(
      async (client) => {
        expect(await client.request(post(port, { repeatable: true }))).toMatchObject({
          kind: 'response',
          status: 200,
        });
        await closed.promise;
      },
      createHttpClient({ guard: { agents, checkUrl: (text) => ({ ok: true, url: new URL(text) }) } }),
    ),
  );
});
