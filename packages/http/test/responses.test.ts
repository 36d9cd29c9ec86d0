import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import { Readable, pipeline } from 'node:stream';
import { expect, test } from '@jest/globals';
import { createHttpClient } from '../src/client.ts';
import { post, rawServer, saying, withClient, withServer } from './support/servers.ts';

async function answering(
  answer: (request: IncomingMessage, response: ServerResponse) => void,
  use: (port: number) => Promise<void>,
): Promise<void> {
  await withServer(createServer(answer), use);
}

function* endless(): Generator<Buffer> {
  for (;;) yield Buffer.alloc(65_536, 'x');
}

test('method, headers and the exact bytes of the body arrive, and nothing that nobody asked for', async () => {
  const body = Buffer.from([0x7b, 0x00, 0xff, 0xc3, 0x28, 0x7d]);
  let seen: { method: string | undefined; headers: IncomingMessage['headers']; body: Buffer } | undefined;
  await answering(
    (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        seen = { method: request.method, headers: request.headers, body: Buffer.concat(chunks) };
        response.setHeader('x-note', 'n').end('done');
      });
    },
    async (port) =>
      withClient(async (client) => {
        const headers = {
          'Webhook-Id': 'evt_1',
          'content-type': 'application/json',
          'content-length': '1',
          expect: '100-continue',
        };
        const outcome = await client.request(post(port, { method: 'PUT', headers, body }));
        expect(outcome).toMatchObject({
          kind: 'response',
          status: 200,
          truncated: false,
          headers: { 'x-note': 'n' },
        });
        expect(outcome.kind === 'response' && outcome.body.toString()).toBe('done');
        expect(seen).toEqual({
          method: 'PUT',
          body,
          headers: {
            host: `127.0.0.1:${port}`,
            'webhook-id': 'evt_1',
            'content-type': 'application/json',
            'content-length': '6',
            'user-agent': 'breakwater',
            connection: 'close',
          },
        });
      }),
  );
});

test.each(['GET', 'HEAD', 'DELETE', 'POST'])('%s without a body is sent and ends', async (method) => {
  await answering(
    (request, response) => {
      request.resume();
      request.on('end', () => response.end(request.method));
    },
    async (port) =>
      withClient(async (client) => {
        const { body: _body, ...bare } = post(port, { method });
        const outcome = await client.request(bare);
        expect(outcome).toMatchObject({ kind: 'response', status: 200, truncated: false });
        expect(outcome.kind === 'response' && outcome.body.toString()).toBe(method === 'HEAD' ? '' : method);
      }),
  );
});

test('a body of several megabytes arrives whole', async () => {
  let bytes = 0;
  await answering(
    (request, response) => {
      request.on('data', (chunk: Buffer) => (bytes += chunk.length));
      request.on('end', () => response.end());
    },
    async (port) =>
      withClient(async (client) => {
        expect(await client.request(post(port, { body: Buffer.alloc(5_000_000, 'x') }))).toMatchObject({
          kind: 'response',
          status: 200,
        });
        expect(bytes).toBe(5_000_000);
      }),
  );
});

test.each([204, 304, 400, 401, 404, 410, 429, 500, 503])(
  'status %i is a response, not an error',
  async (status) => {
    await answering(
      (_request, response) => response.writeHead(status).end(),
      async (port) =>
        withClient(async (client) =>
          expect(await client.request(post(port))).toMatchObject({
            kind: 'response',
            status,
            truncated: false,
          }),
        ),
    );
  },
);

test.each([301, 302, 303, 307, 308])('a %i is not followed', async (status) => {
  const paths: (string | undefined)[] = [];
  await answering(
    (request, response) => {
      paths.push(request.url);
      response.writeHead(status, { location: '/elsewhere' }).end();
    },
    async (port) =>
      withClient(async (client) => {
        expect(await client.request(post(port))).toMatchObject({
          kind: 'response',
          status,
          headers: { location: '/elsewhere' },
        });
        expect(paths).toEqual(['/hook']);
      }),
  );
});

test('a compressed body is not unpacked: a small bomb stays small', async () => {
  const bytes = Buffer.from('1f8b0800', 'hex');
  await answering(
    (_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end(bytes),
    async (port) =>
      withClient(async (client) => {
        const outcome = await client.request(post(port));
        expect(outcome.kind === 'response' && outcome.body).toEqual(bytes);
      }),
  );
});

test('an endless body is cut at what was asked for, and the status counts', async () => {
  const stopped = Promise.withResolvers<void>();
  await answering(
    (_request, response) => void pipeline(Readable.from(endless()), response, () => stopped.resolve()),
    async (port) =>
      withClient(async (client) => {
        const outcome = await client.request(post(port, { maxBodyBytes: 2_000 }));
        expect(outcome).toMatchObject({ kind: 'response', status: 200, truncated: true });
        expect(outcome.kind === 'response' && outcome.body).toHaveLength(2_000);
        await stopped.promise;
      }),
  );
});

test('a body of exactly the size that was asked for is whole', async () => {
  await answering(
    (_request, response) => response.end('x'.repeat(2_000)),
    async (port) =>
      withClient(async (client) => {
        expect(await client.request(post(port, { maxBodyBytes: 2_000 }))).toMatchObject({
          kind: 'response',
          truncated: false,
        });
        expect(await client.request(post(port, { maxBodyBytes: 1_999 }))).toMatchObject({
          kind: 'response',
          truncated: true,
        });
      }),
  );
});

test('a body that comes after the timeout, but soon after the headers, is whole', async () => {
  await answering(
    (_request, response) => {
      response.write('first;');
      setTimeout(() => response.end('last'), 400);
    },
    async (port) =>
      withClient(async (client) => {
        const outcome = await client.request(post(port, { timeoutMs: 200 }));
        expect(outcome).toMatchObject({ kind: 'response', status: 200, truncated: false });
        expect(outcome.kind === 'response' && outcome.body.toString()).toBe('first;last');
      }),
  );
});

test('a body that drips after a 200 is still a 200, with what came', async () => {
  await answering(
    (_request, response) => {
      response.write('start;');
      const drip = setInterval(() => response.write('.'), 50);
      response.on('close', () => clearInterval(drip));
    },
    async (port) =>
      withClient(async (client) => {
        // The budget is over long before the body's own deadline: it must not turn an answer into a timeout.
        const outcome = await client.request(post(port, { timeoutMs: 400 }));
        expect(outcome).toMatchObject({ kind: 'response', status: 200, truncated: true });
        expect(outcome.kind === 'response' && outcome.body.toString()).toMatch(/^start;\.+$/);
      }),
  );
});

test.each([
  ['is shorter than announced', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc', 'end', true],
  ['is cut by a reset', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc', 'reset', true],
  [
    'breaks its chunked framing',
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n',
    'hold',
    true,
  ],
  ['ends with the connection', 'HTTP/1.0 200 OK\r\n\r\nabc', 'end', false],
  [
    'follows an early hint',
    'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc',
    'hold',
    false,
  ],
] as const)('a body that %s still has its status', async (_name, text, then, truncated) => {
  const { server } = saying(text, then);
  await withServer(server, async (port) =>
    withClient(async (client) => {
      const outcome = await client.request(post(port));
      expect(outcome).toMatchObject({ kind: 'response', status: 200, truncated });
      expect(outcome.kind === 'response' && outcome.body.toString()).toBe('abc');
    }),
  );
});

test('headers and a reset in one breath are a response', async () => {
  const { server } = saying('HTTP/1.1 410 Gone\r\ncontent-length: 5\r\n\r\n', 'reset');
  await withServer(server, async (port) =>
    withClient(async (client) =>
      expect(await client.request(post(port))).toMatchObject({
        kind: 'response',
        status: 410,
        truncated: true,
      }),
    ),
  );
});

test('an upgrade that nobody asked for is an answer, and its connection is closed', async () => {
  const closed = Promise.withResolvers<void>();
  const { server } = saying(
    'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
    'hold',
  );
  server.on('connection', (socket) => socket.on('close', () => closed.resolve()));
  await withServer(server, async (port) =>
    withClient(async (client) => {
      expect(await client.request(post(port))).toMatchObject({ kind: 'response', status: 101 });
      await closed.promise;
    }),
  );
});

test('no more requests per host run at once than allowed, and the others wait within their timeout', async () => {
  let running = 0;
  let most = 0;
  await answering(
    (_request, response) => {
      running += 1;
      most = Math.max(most, running);
      setTimeout(() => {
        running -= 1;
        response.end();
      }, 20);
    },
    async (port) =>
      withClient(
        async (client) => {
          const outcomes = await Promise.all(
            Array.from({ length: 9 }, async (_, index) =>
              client.request(post(port, { repeatable: index % 2 === 0 })),
            ),
          );
          expect(outcomes.every((outcome) => outcome.kind === 'response')).toBe(true);
          expect(most).toBe(3);
        },
        createHttpClient({ maxSockets: 3 }),
      ),
  );
});

test('waiting for a free connection longer than the timeout is timeout_queue with nothing sent', async () => {
  const { server, connections } = rawServer(() => {});
  await withServer(server, async (port) =>
    withClient(
      async (client) => {
        const hanging = client.request(post(port, { timeoutMs: 1_000 }));
        expect(await client.request(post(port, { timeoutMs: 50 }))).toMatchObject({
          kind: 'failure',
          class: 'timeout_queue',
          sent: 'no',
        });
        expect(connections()).toBe(1);
        expect(await hanging).toMatchObject({ kind: 'failure', class: 'timeout_response', sent: 'maybe' });
      },
      createHttpClient({ maxSockets: 1 }),
    ),
  );
});
