import { createServer as createTlsServer } from 'node:https';
import { createServer } from 'node:http';
import type { Server } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createHttpClient } from '../src/client.ts';
import { createEgressGuard } from '../src/egress.ts';
import { type Certificate, post, rawServer, selfSigned, withClient, withServer } from './support/servers.ts';

const authorities = getCACertificates('default');
let certificate: Certificate;

beforeAll(async () => {
  certificate = await selfSigned('receiver.example');
  setDefaultCACertificates([...authorities, certificate.cert]);
});
afterAll(() => setDefaultCACertificates(authorities));

/** Says yes `count` times, then no, and counts how often it was asked. */
function yes(count: number): { mayWrite: () => boolean; asked: () => number } {
  let asked = 0;
  return { mayWrite: () => (asked += 1) <= count, asked: () => asked };
}

test('without permission nothing starts: no connection is made', async () => {
  const { server, connections } = rawServer(() => {});
  await withServer(server, async (port) =>
    withClient(async (client) => {
      expect(await client.request(post(port, { mayWrite: () => false }))).toMatchObject({ kind: 'withheld' });
      expect(connections()).toBe(0);
    }),
  );
});

test.each(['GET', 'POST'])(
  'a %s that may no longer be written once the connection stands leaves no byte',
  async (method) => {
    const { server, received } = rawServer(() => {});
    const closed = Promise.withResolvers<void>();
    server.on('connection', (socket) => socket.on('close', () => closed.resolve()));
    await withServer(server, async (port) =>
      withClient(async (client) => {
        const { mayWrite, asked } = yes(1);
        const { body, ...bare } = post(port, { method, mayWrite });
        const outcome = await client.request(
          method === 'GET' || body === undefined ? bare : { ...bare, body },
        );
        expect(outcome).toMatchObject({ kind: 'withheld' });
        await closed.promise;
        expect(received()).toBe('');
        expect(asked()).toBe(2);
      }),
    );
  },
);

test('permission is asked for only after the connection stands, however long that takes', async () => {
  const { server, received } = rawServer(() => {});
  await withServer(server, async (port) => {
    const resolving = Promise.withResolvers<() => void>();
    const guard = createEgressGuard({
      allow: ['127.0.0.0/8'],
      allowHttp: true,
      lookup: (_hostname, _options, callback) => {
        resolving.resolve(() => callback(null, [{ address: '127.0.0.1', family: 4 }]));
      },
    });
    await withClient(async (client) => {
      let leased = true;
      const outcome = client.request(post(0, { url: `http://a.example:${port}/`, mayWrite: () => leased }));
      const answer = await resolving.promise;
      leased = false;
      answer();
      expect(await outcome).toMatchObject({ kind: 'withheld' });
      expect(received()).toBe('');
    }, createHttpClient({ guard }));
  });
});

test('on a kept connection permission is asked for again, and a refusal leaves no further byte', async () => {
  const { server, received, connections } = rawServer((socket) =>
    socket.write('HTTP/1.1 204 No Content\r\n\r\n'),
  );
  await withServer(server, async (port) =>
    withClient(async (client) => {
      expect(await client.request(post(port, { repeatable: true }))).toMatchObject({ status: 204 });
      const before = received();
      const { mayWrite, asked } = yes(1);
      expect(await client.request(post(port, { repeatable: true, body: 'second', mayWrite }))).toMatchObject({
        kind: 'withheld',
      });
      expect(asked()).toBe(2);
      expect(connections()).toBe(1);
      // A further exchange proves that the server has seen all that there was.
      expect(await client.request(post(port, { repeatable: true, body: 'third' }))).toMatchObject({
        status: 204,
      });
      expect(received().slice(before.length)).not.toContain('second');
    }),
  );
});

test('permission is asked for twice when all goes well, also for a large body', async () => {
  const server = createServer((request, response) => void request.resume().on('end', () => response.end()));
  await withServer(server, async (port) =>
    withClient(async (client) => {
      const { mayWrite, asked } = yes(2);
      expect(await client.request(post(port, { body: Buffer.alloc(3_000_000), mayWrite }))).toMatchObject({
        status: 200,
      });
      expect(asked()).toBe(2);
    }),
  );
});

/** A TLS server for receiver.example that counts handshakes and requests. */
async function withTlsServer(
  use: (port: number, state: { secured: number; requests: number }) => Promise<void>,
): Promise<void> {
  const state = { secured: 0, requests: 0 };
  const server: Server = createTlsServer(certificate, (request, response) => {
    state.requests += 1;
    request.resume().on('end', () => response.end('ok'));
  });
  server.on('secureConnection', () => (state.secured += 1));
  await withServer(server, async (port) => use(port, state));
}

const guardFor = (address: string): ReturnType<typeof createEgressGuard> =>
  createEgressGuard({
    allow: ['127.0.0.0/8'],
    allowHttp: false,
    lookup: (_hostname, _options, callback) => callback(null, [{ address, family: 4 }]),
  });

test('over TLS nothing is written without permission after the handshake', async () => {
  await withTlsServer(async (port, state) =>
    withClient(
      async (client) => {
        const url = `https://receiver.example:${port}/`;
        const { mayWrite, asked } = yes(1);
        expect(await client.request(post(0, { url, mayWrite }))).toMatchObject({ kind: 'withheld' });
        expect(asked()).toBe(2);
        expect(await client.request(post(0, { url }))).toMatchObject({ kind: 'response', status: 200 });
        expect(state.requests).toBe(1);
      },
      createHttpClient({ guard: guardFor('127.0.0.1') }),
    ),
  );
});

test('a certificate for another host is tls_certificate, surely unsent', async () => {
  await withTlsServer(async (port, state) =>
    withClient(
      async (client) => {
        const { mayWrite, asked } = yes(9);
        const outcome = await client.request(post(0, { url: `https://other.example:${port}/`, mayWrite }));
        expect(outcome).toMatchObject({
          kind: 'failure',
          class: 'tls_certificate',
          code: 'ERR_TLS_CERT_ALTNAME_INVALID',
          sent: 'no',
        });
        expect(asked()).toBe(1);
        expect(state.requests).toBe(0);
      },
      createHttpClient({ guard: guardFor('127.0.0.1') }),
    ),
  );
});

test('a self-signed certificate that nobody vouches for is tls_certificate, surely unsent', async () => {
  const stranger = await selfSigned('receiver.example');
  const server: Server = createTlsServer(stranger, (_request, response) => response.end());
  await withServer(server, async (port) =>
    withClient(
      async (client) => {
        const outcome = await client.request(post(0, { url: `https://receiver.example:${port}/` }));
        expect(outcome).toMatchObject({ kind: 'failure', class: 'tls_certificate', sent: 'no' });
      },
      createHttpClient({ guard: guardFor('127.0.0.1') }),
    ),
  );
});

test('a server that does not speak TLS is tls_protocol, surely unsent', async () => {
  await withServer(
    createServer((_request, response) => response.end()),
    async (port) =>
      withClient(async (client) => {
        const outcome = await client.request(post(0, { url: `https://127.0.0.1:${port}/` }));
        expect(outcome).toMatchObject({ kind: 'failure', class: 'tls_protocol', sent: 'no' });
      }),
  );
});

test('a connection that is closed during the handshake is connection_reset, surely unsent', async () => {
  const { server } = rawServer((socket) => socket.destroy());
  await withServer(server, async (port) =>
    withClient(async (client) => {
      const outcome = await client.request(post(0, { url: `https://127.0.0.1:${port}/` }));
      expect(outcome).toMatchObject({ kind: 'failure', class: 'connection_reset', sent: 'no' });
    }),
  );
});
