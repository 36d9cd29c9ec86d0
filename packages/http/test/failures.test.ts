import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { createHttpClient } from '../src/client.ts';
import { createEgressGuard } from '../src/egress.ts';
import type { HttpOutcome } from '../src/outcome.ts';
import { post, rawServer, withClient, withServer } from './servers.ts';

async function outcomeAt(port: number, timeoutMs = 5_000): Promise<HttpOutcome> {
  const client = createHttpClient({});
  try {
    return await client.request(post(port, { timeoutMs }));
  } finally {
    client.close();
  }
}

test('a port where nobody listens is connection_refused, surely unsent', async () => {
  const { server } = rawServer(() => {});
  let free = 0;
  await withServer(server, async (port) => {
    free = port;
  });
  expect(await outcomeAt(free)).toMatchObject({
    kind: 'failure',
    class: 'connection_refused',
    code: 'ECONNREFUSED',
    sent: 'no',
  });
});

test('a host that takes no connection is timeout_connect, surely unsent', async () => {
  // A stopped process with a full backlog: the kernel drops further connection requests, as a dead host does.
  const script = `const s = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => console.log(s.address().port))`;
  const child = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  child.kill('SIGSTOP');
  const port = Number(line.toString());
  const fillers = Array.from({ length: 6 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  try {
    await Promise.race(fillers.slice(0, 2).map(async (socket) => once(socket, 'connect')));
    expect(await outcomeAt(port, 500)).toMatchObject({
      kind: 'failure',
      class: 'timeout_connect',
      code: 'ETIMEDOUT',
      sent: 'no',
    });
  } finally {
    for (const socket of fillers) socket.destroy();
    child.kill('SIGKILL');
  }
});

test('a resolver that does not answer is timeout_connect, surely unsent', async () => {
  const guard = createEgressGuard({ allow: [], allowHttp: true, lookup: () => {} });
  await withClient(async (client) => {
    const outcome = await client.request(post(0, { url: 'http://slow.example/', timeoutMs: 100 }));
    expect(outcome).toMatchObject({ kind: 'failure', class: 'timeout_connect', sent: 'no' });
  }, createHttpClient({ guard }));
});

test('a connection that was given up does not stay behind', async () => {
  const { server, closed } = rawServer(() => {});
  await withServer(server, async (port) =>
    withClient(async (client) => {
      // TLS to a server that never says a word: connected, but not securely.
      const outcome = await client.request(post(0, { url: `https://127.0.0.1:${port}/`, timeoutMs: 200 }));
      expect(outcome).toMatchObject({ kind: 'failure', class: 'timeout_connect', sent: 'no' });
      await closed;
    }),
  );
});

test.each([
  ['ENOTFOUND', 'dns_not_found'],
  ['EAI_AGAIN', 'dns_temporary'],
])('a resolver that says %s is %s', async (code, name) => {
  const lookup = (
    hostname: string,
    _options: object,
    callback: (error: Error, address: string, family: number) => void,
  ): void => callback(Object.assign(new Error(`getaddrinfo ${code} ${hostname}`), { code }), '', 0);
  await withClient(
    async (client) => {
      const outcome = await client.request(post(0, { url: 'http://a.example/' }));
      expect(outcome).toMatchObject({ kind: 'failure', class: name, code, sent: 'no' });
    },
    createHttpClient({ guard: createEgressGuard({ allow: [], allowHttp: true, lookup }) }),
  );
});

test('a name that cannot exist is a DNS failure', async () => {
  await withClient(async (client) => {
    const outcome = await client.request(post(0, { url: 'http://nothing-here.invalid/', timeoutMs: 20_000 }));
    // A machine without any resolver says "temporary" instead of "not found".
    expect(outcome).toMatchObject({ kind: 'failure', class: expect.stringMatching(/^dns_/), sent: 'no' });
  });
});

test('a server that never answers is timeout_response, perhaps sent', async () => {
  const { server, received } = rawServer(() => {});
  await withServer(server, async (port) => {
    expect(await outcomeAt(port, 200)).toMatchObject({
      kind: 'failure',
      class: 'timeout_response',
      code: 'ETIMEDOUT',
      sent: 'maybe',
    });
    expect(received()).toContain('evt_1');
  });
});

test('headers that drip do not outlast the timeout', async () => {
  const { server } = rawServer((socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    const drip = setInterval(() => socket.write('x: y\r\n'), 20);
    socket.on('close', () => clearInterval(drip));
  });
  await withServer(server, async (port) => {
    expect(await outcomeAt(port, 300)).toMatchObject({
      kind: 'failure',
      class: 'timeout_response',
      sent: 'maybe',
    });
  });
});

test('endless interim answers do not outlast the timeout', async () => {
  const { server } = rawServer((socket) => {
    const drip = setInterval(() => socket.write('HTTP/1.1 100 Continue\r\n\r\n'), 20);
    socket.on('close', () => clearInterval(drip));
  });
  await withServer(server, async (port) => {
    expect(await outcomeAt(port, 300)).toMatchObject({
      kind: 'failure',
      class: 'timeout_response',
      sent: 'maybe',
    });
  });
});

test.each(['resetAndDestroy', 'destroy', 'end'] as const)(
  'a connection that the server closes unanswered (%s) is connection_reset',
  async (close) => {
    const { server } = rawServer((socket) => socket[close]());
    await withServer(server, async (port) => {
      expect(await outcomeAt(port)).toMatchObject({
        kind: 'failure',
        class: 'connection_reset',
        code: 'ECONNRESET',
        sent: 'maybe',
      });
    });
  },
);

test('a connection that the server resets before reading is connection_reset', async () => {
  const { server } = rawServer(() => {});
  server.on('connection', (socket) => socket.resetAndDestroy());
  await withServer(server, async (port) => {
    expect(await outcomeAt(port)).toMatchObject({ kind: 'failure', class: 'connection_reset' });
  });
});

test.each([
  ['another protocol', 'SSH-2.0-OpenSSH_9.6\r\n'],
  ['a broken header', 'HTTP/1.1 200 OK\r\nbad header\r\n\r\n'],
  ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab'],
  ['headers beyond any measure', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}\r\n\r\n`],
])('%s in place of an answer is protocol', async (_name, text) => {
  const { server } = rawServer((socket) => socket.write(text));
  await withServer(server, async (port) => {
    expect(await outcomeAt(port)).toMatchObject({ kind: 'failure', class: 'protocol', sent: 'maybe' });
  });
});

test.each([
  '',
  'nonsense',
  'http://',
  'ftp://example.com/',
  'http://exa mple.com/',
  'unix:/var/run/docker.sock:/',
  'http://[::g]/',
])('the URL %j is a failure, not an exception', async (url) => {
  await withClient(async (client) => {
    expect(await client.request(post(0, { url }))).toMatchObject({
      kind: 'failure',
      class: 'protocol',
      code: 'ERR_INVALID_URL',
      sent: 'no',
    });
  });
});

test.each([{ 'x-bad': 'a\r\nb: c' }, { 'x-bad': 'snow ☃' }, { 'bad name': 'x' }, { '': 'x' }])(
  'the headers %j are a failure, not an exception, and nothing is sent',
  async (headers) => {
    const { server, received } = rawServer(() => {});
    await withServer(server, async (port) =>
      withClient(async (client) => {
        expect(await client.request(post(port, { headers }))).toMatchObject({
          kind: 'failure',
          class: 'internal',
          sent: 'no',
        });
        expect(received()).toBe('');
      }),
    );
  },
);

test('an aborted request ends as interrupted and says whether it may have been sent', async () => {
  const { server } = rawServer(() => stop.abort());
  const stop = new AbortController();
  await withServer(server, async (port) =>
    withClient(async (client) => {
      expect(await client.request(post(port, { signal: stop.signal }))).toMatchObject({
        kind: 'failure',
        class: 'interrupted',
        sent: 'maybe',
      });
      expect(await client.request(post(port, { signal: stop.signal }))).toMatchObject({
        kind: 'failure',
        class: 'interrupted',
        sent: 'no',
      });
    }),
  );
});

test('a request that is aborted in the turn in which it was made writes nothing', async () => {
  const { server, received } = rawServer(() => {});
  await withServer(server, async (port) =>
    withClient(async (client) => {
      const stop = new AbortController();
      const outcome = client.request(post(port, { signal: stop.signal }));
      stop.abort();
      expect(await outcome).toMatchObject({ kind: 'failure', class: 'interrupted', sent: 'no' });
      expect(received()).toBe('');
    }),
  );
});

test('a request that is aborted while permission to write it is asked for writes nothing', async () => {
  const { server, received, closed } = rawServer(() => {});
  await withServer(server, async (port) =>
    withClient(async (client) => {
      const stop = new AbortController();
      let asked = 0;
      const mayWrite = (): boolean => {
        asked += 1;
        if (asked === 2) stop.abort();
        return true;
      };
      const outcome = await client.request(post(port, { signal: stop.signal, mayWrite }));
      expect(outcome).toMatchObject({ kind: 'failure', class: 'interrupted', sent: 'no' });
      await closed;
      expect(received()).toBe('');
    }),
  );
});

test('closing the client ends what is in flight and refuses what comes later', async () => {
  const arrived = Promise.withResolvers<void>();
  const { server } = rawServer(() => arrived.resolve());
  await withServer(server, async (port) => {
    const client = createHttpClient({});
    const hanging = client.request(post(port, { timeoutMs: 60_000 }));
    await arrived.promise;
    client.close();
    expect(await hanging).toMatchObject({ kind: 'failure', class: 'interrupted', sent: 'maybe' });
    expect(await client.request(post(port))).toMatchObject({
      kind: 'failure',
      class: 'interrupted',
      sent: 'no',
    });
  });
});
