import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { createHttpClient } from '../../src/client.ts';
import { type Ask, HANG_MS, type Peer } from './peers.ts';
import { post, rawServer, withClient, withServer } from './servers.ts';

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
