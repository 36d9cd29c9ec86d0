import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type Socket, connect } from 'node:net';
import type { TlsOptions } from 'node:tls';
import { createHttpClient } from '../../src/client.ts';
import { createGuardedClient } from '../../src/egress.ts';
import { type AnswerDns, NXDOMAIN, REFUSED, SERVFAIL, withDnsServer } from './dns-server.ts';
import type { Ask, Peer } from './peers.ts';
import { type Certificate, post, rawServer, withClient, withServer } from './servers.ts';

/** For peers that never do what is waited for: long enough for a slow machine to get into the phase that hangs. */
const HANG_MS = 700;
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** More than the buffers of both kernels hold. */
const LARGE = Buffer.alloc(25_000_000, 'x');

async function atClosedPort(ask: Ask): Promise<void> {
  let free = 0;
  await withServer(rawServer(() => {}).server, async (port) => void (free = port));
  await ask(post(free));
}

/** A stopped process with a full backlog: the kernel drops further connection requests, as a dead host does. */
async function atFullBacklog(ask: Ask): Promise<void> {
  const script = `const s = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(s.address().port))`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  child.kill('SIGSTOP');
  const port = Number(line.toString());
  const fillers = Array.from({ length: 6 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  try {
    await Promise.race(fillers.slice(0, 2).map(async (socket) => once(socket, 'connect')));
    await ask(post(port, { timeoutMs: HANG_MS }));
  } finally {
    for (const socket of fillers) socket.destroy();
    child.kill('SIGKILL');
  }
}

/** Answers the first request of every connection and closes the connection at the second one. */
async function atStaleConnection(ask: Ask): Promise<void> {
  const served = new Set<Socket>();
  const { server } = rawServer((socket) => {
    if (served.has(socket)) {
      socket.resetAndDestroy();
      return;
    }
    served.add(socket);
    socket.write(OK);
  });
  await withServer(server, async (port) =>
    withClient(async (client) => {
      await client.request(post(port, { repeatable: true }));
      await ask(post(port, { repeatable: true }), client);
    }),
  );
}

const onConnection =
  (act: (socket: Socket) => void, rest: Parameters<typeof post>[1] = {}) =>
  async (ask: Ask): Promise<void> => {
    const { server } = rawServer(() => {});
    server.on('connection', act);
    await withServer(server, async (port) => ask(post(port, rest)));
  };

const onRequest =
  (act: (socket: Socket) => void) =>
  async (ask: Ask): Promise<void> =>
    withServer(rawServer(act).server, async (port) => ask(post(port)));

export const CONNECTION_PEERS: readonly Peer[] = [
  { what: 'nobody listens on the port', outcome: 'connection_refused', sent: 'no', meet: atClosedPort },
  { what: 'takes no connection (full backlog)', outcome: 'timeout_connect', sent: 'no', meet: atFullBacklog },
  {
    what: 'all connections to it are busy until the timeout',
    outcome: 'timeout_queue',
    sent: 'no',
    meet: async (ask) =>
      withServer(rawServer(() => {}).server, async (port) =>
        withClient(
          async (client) => {
            const stop = new AbortController();
            const busy = client.request(post(port, { timeoutMs: 60_000, signal: stop.signal }));
            await ask(post(port, { timeoutMs: 100 }), client);
            stop.abort();
            await busy;
          },
          createHttpClient({ maxSockets: 1 }),
        ),
      ),
  },
  {
    what: 'no route leads to the address',
    outcome: 'network',
    sent: 'no',
    meet: async (ask) => ask(post(0, { url: 'http://224.0.0.1:8000/' })), // TCP knows no multicast
  },
  {
    what: 'accepts and says nothing',
    outcome: 'timeout_response',
    sent: 'maybe',
    meet: async (ask) =>
      withServer(rawServer(() => {}).server, async (port) => ask(post(port, { timeoutMs: HANG_MS }))),
  },
  {
    what: 'stops reading in the middle of the request',
    outcome: 'timeout_request',
    sent: 'maybe',
    meet: onConnection((socket) => socket.pause(), { body: LARGE, timeoutMs: HANG_MS }),
  },
  {
    what: 'resets before it reads the request',
    outcome: 'connection_reset',
    meet: onConnection((socket) => socket.resetAndDestroy(), { body: LARGE }),
  },
  {
    what: 'resets after it read the request',
    outcome: 'connection_reset',
    sent: 'maybe',
    meet: onRequest((socket) => socket.resetAndDestroy()),
  },
  {
    what: 'closes after it read the request',
    outcome: 'connection_reset',
    sent: 'maybe',
    meet: onRequest((socket) => socket.end()),
  },
  {
    what: 'ends its half of the connection at once and goes on reading',
    outcome: 'connection_reset',
    sent: 'maybe',
    meet: async (ask) => {
      const { server } = rawServer(() => {}, { allowHalfOpen: true });
      server.on('connection', (socket: Socket) => socket.end());
      await withServer(server, async (port) => ask(post(port)));
    },
  },
  {
    what: 'closes a kept connection while it is used again (sent once more at once, on a new one)',
    outcome: 'sent',
    meet: atStaleConnection,
  },
  {
    what: 'is there, but this process stops',
    outcome: 'interrupted',
    sent: 'maybe',
    meet: async (ask) => {
      const stop = new AbortController();
      const { server } = rawServer(() => stop.abort());
      await withServer(server, async (port) => ask(post(port, { signal: stop.signal })));
    },
  },
  {
    what: 'is there, but a header of ours cannot be sent',
    outcome: 'internal',
    sent: 'no',
    meet: async (ask) =>
      withServer(rawServer(() => {}).server, async (port) =>
        ask(post(port, { headers: { 'x-note': 'a\nb' } })),
      ),
  },
];

/** Requests to a name of which a name server says this, and to a server that answers 200 where it leads there. */
const named =
  (answer: AnswerDns, rest: Parameters<typeof post>[1] = {}, allow: readonly string[] = ['127.0.0.0/8']) =>
  async (ask: Ask): Promise<void> =>
    withDnsServer(answer, async (resolver) =>
      withServer(
        createServer((_request, response) => response.end('ok')),
        async (port) =>
          withClient(
            async (client) => ask(post(0, { url: `http://receiver.example:${port}/`, ...rest }), client),
            createGuardedClient({ allow, allowHttp: true, resolvers: [resolver] }),
          ),
      ),
    );

export const NAME_PEERS: readonly Peer[] = [
  {
    what: 'its name does not exist (NXDOMAIN)',
    outcome: 'dns_not_found',
    sent: 'no',
    meet: named(() => NXDOMAIN),
  },
  { what: 'its name has no address', outcome: 'dns_not_found', sent: 'no', meet: named(() => ({})) },
  {
    what: 'its name server fails (SERVFAIL)',
    outcome: 'dns_temporary',
    sent: 'no',
    meet: named(() => SERVFAIL),
  },
  {
    what: 'its name server refuses (REFUSED)',
    outcome: 'dns_temporary',
    sent: 'no',
    meet: named(() => REFUSED),
  },
  {
    what: 'its name server does not answer',
    outcome: 'timeout_dns',
    sent: 'no',
    meet: named(() => 'silence', { timeoutMs: HANG_MS }),
  },
  {
    what: 'its name server is slow',
    outcome: 'sent',
    meet: named(() => ({ addresses: ['127.0.0.1'], delayMs: 300 })),
  },
  {
    what: 'its name server never answers questions for IPv6',
    outcome: 'sent',
    meet: named((_name, type) => (type === 'A' ? { addresses: ['127.0.0.1'] } : 'silence')),
  },
  {
    what: 'its name leads to a private address',
    outcome: 'blocked_address',
    sent: 'no',
    meet: named(() => ({ addresses: ['127.0.0.1'] }), {}, []),
  },
  {
    what: 'its name leads to public and to private addresses',
    outcome: 'blocked_address',
    sent: 'no',
    meet: named(() => ({ addresses: ['93.184.216.34', '127.0.0.1'] }), {}, []),
  },
  {
    what: 'its URL has a private address',
    outcome: 'blocked_address',
    sent: 'no',
    meet: named(() => 'silence', { url: 'http://[::ffff:169.254.169.254]/' }),
  },
  {
    what: 'its URL has a refused port',
    outcome: 'blocked_address',
    sent: 'no',
    meet: named(() => 'silence', { url: 'http://receiver.example:25/' }),
  },
];

/** TLS peers; `valid` is trusted for receiver.example, `old` for old.example. */
export const tlsPeers = (
  certificates: () => Readonly<Record<'valid' | 'old' | 'stranger', Certificate>>,
): readonly Peer[] => {
  const serving =
    (whose: 'valid' | 'old' | 'stranger', name: string, options: TlsOptions = {}) =>
    async (ask: Ask): Promise<void> => {
      const answer = createTlsServer({ ...certificates()[whose], ...options }, (_request, response) =>
        response.end('ok'),
      );
      await withDnsServer(
        () => ({ addresses: ['127.0.0.1'] }),
        async (resolver) =>
          withServer(answer, async (port) =>
            withClient(
              async (client) => ask(post(0, { url: `https://${name}:${port}/` }), client),
              createGuardedClient({ allow: ['127.0.0.0/8'], allowHttp: false, resolvers: [resolver] }),
            ),
          ),
      );
    };
  const tlsTo =
    (act: (socket: Socket) => void, timeoutMs = 5_000) =>
    async (ask: Ask): Promise<void> =>
      withServer(rawServer(act).server, async (port) =>
        ask(post(0, { url: `https://127.0.0.1:${port}/`, timeoutMs })),
      );
  // OpenSSL serves TLS 1.1 only at its lowest level of security.
  const ancient: TlsOptions = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' };
  return [
    {
      what: 'speaks TLS with a valid certificate',
      outcome: 'sent',
      meet: serving('valid', 'receiver.example'),
    },
    {
      what: 'has a certificate for another host',
      outcome: 'tls_certificate',
      sent: 'no',
      meet: serving('valid', 'other.example'),
    },
    {
      what: 'has an expired certificate',
      outcome: 'tls_certificate',
      sent: 'no',
      meet: serving('old', 'old.example'),
    },
    {
      what: 'has a self-signed certificate',
      outcome: 'tls_certificate',
      sent: 'no',
      meet: serving('stranger', 'receiver.example'),
    },
    {
      what: 'speaks TLS 1.1 at most',
      outcome: 'tls_protocol',
      sent: 'no',
      meet: serving('valid', 'receiver.example', ancient),
    },
    {
      what: 'speaks plain HTTP where TLS is expected',
      outcome: 'tls_protocol',
      sent: 'no',
      meet: tlsTo((socket) => socket.end('HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n')),
    },
    {
      what: 'closes in the middle of the TLS handshake',
      outcome: 'connection_reset',
      sent: 'no',
      meet: tlsTo((socket) => socket.destroy()),
    },
    {
      what: 'says nothing in the TLS handshake',
      outcome: 'timeout_tls',
      sent: 'no',
      meet: tlsTo(() => {}, HANG_MS),
    },
    {
      what: 'speaks TLS where plain HTTP is sent',
      outcome: 'connection_reset',
      sent: 'maybe',
      meet: async (ask) => withServer(createTlsServer(certificates().valid), async (port) => ask(post(port))),
    },
  ];
};
