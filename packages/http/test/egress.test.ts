import { createHook } from 'node:async_hooks';
import { lookup as systemLookup } from 'node:dns';
import { createServer } from 'node:http';
import type { LookupFunction } from 'node:net';
import { expect, test } from '@jest/globals';
import { createAgents } from '../src/agents.ts';
import { createHttpClient } from '../src/client.ts';
import { createEgressGuard, createGuardedClient } from '../src/egress.ts';
import { withDnsServer } from './support/dns-server.ts';
import { post, rawServer, withClient, withServer } from './support/servers.ts';

const strict = createEgressGuard({ allow: [], allowHttp: false });

/** A resolver that says the same of every name, in both forms that node asks for. */
const resolvesTo = (...addresses: string[]): LookupFunction => {
  const found = addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
  return (_hostname, options, callback) => {
    if (options.all === true) callback(null, found);
    else callback(null, addresses[0] ?? '', found[0]?.family ?? 4);
  };
};

const PRIVATE_HOSTS = [
  '127.0.0.1',
  '127.1',
  '2130706433',
  '0x7f000001',
  '0x7f.1',
  '0177.0.0.1',
  '017700000001',
  '127.0.0.1.',
  '１２７.０.０.１',
  '%31%32%37.0.0.1',
  '0.0.0.0',
  '10.0.0.5',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '100.100.100.200',
  '100.64.0.1',
  '168.63.129.16',
  '192.0.0.192',
  '198.18.0.1',
  '224.0.0.1',
  '255.255.255.255',
  '127.0.1',
  '0x7F.0x0.0x0.0x1',
  '0300.0250.1.1',
  '3232235777',
  '127。0。0。1',
  '①②⑦.⓪.⓪.①',
  '0.1.2.3',
  '169.254.170.2',
  '192.0.2.1',
  '240.0.0.1',
  '[::]',
  '[::1]',
  '[0:0:0:0:0:0:0:1]',
  '[::ffff:127.0.0.1]',
  '[::ffff:7f00:1]',
  '[::7f00:1]',
  '[::127.0.0.1]',
  '[64:ff9b::7f00:1]',
  '[64:ff9b:1::a00:1]',
  '[2002:7f00:1::]',
  '[2001:0:7f00:1::]',
  '[fe80::1]',
  '[fc00::1]',
  '[fd00:ec2::254]',
  '[fec0::1]',
  '[ff02::1]',
  '[2001:db8::1]',
  '[64:ff9b::a9fe:a9fe]',
  '[::ffff:0:127.0.0.1]',
  '[0000:0000:0000:0000:0000:FFFF:7F00:0001]',
  '[2001:10::1]',
  '[3fff::1]',
  '[5f00::1]',
  '[4000::1]',
  'localhost',
  'LOCALHOST.',
  'db.localhost',
];

/** Names that are refused before anybody resolves them. */
const LOCAL_NAMES = [
  'ⓛⓞⓒⓐⓛⓗⓞⓢⓣ',
  '127.0.0.1..',
  'local%68ost',
  'localhost..',
  'localhost.localdomain',
  'ip6-localhost',
  'metadata.google.internal',
  'METADATA',
  'instance-data.ec2.internal.',
];

test.each([...PRIVATE_HOSTS, ...LOCAL_NAMES])('https://%s/ is refused at registration', (host) => {
  expect(strict.checkUrl(`https://${host}/hook`)).toMatchObject({ ok: false });
});

test.each(PRIVATE_HOSTS.filter((host) => !/localhost/i.test(host)))(
  'https://%s/ is refused by the agents themselves, without any check before',
  async (host) => {
    await withClient(
      async (client) => {
        const outcome = await client.request(post(0, { url: `https://${host}:9/` }));
        expect(outcome).toMatchObject({
          kind: 'failure',
          class: 'blocked_address',
          code: 'ERR_ADDRESS_BLOCKED',
          sent: 'no',
        });
      },
      createHttpClient({ guard: { ...strict, checkUrl: (text) => ({ ok: true, url: new URL(text) }) } }),
    );
  },
);

test.each([
  'https://example.com/hook',
  'https://8.8.8.8/',
  'https://[2606:4700::1111]/',
  'https://bücher.example/x?y#z',
])('%s may be registered', (text) => {
  expect(strict.checkUrl(text)).toMatchObject({ ok: true });
});

test.each([
  'http://example.com/',
  'ftp://example.com/',
  'file:///etc/passwd',
  'example.com',
  '',
  'https://',
  'https://a:b@example.com/',
  'https://a@example.com',
  'https://example.com:0/',
  'javascript:alert(1)',
  'ws://example.com/',
  'blob:https://example.com/1',
  'https://@@example.com/',
  'https://[fe80::1%25eth0]/',
  'https://[fe80::1%eth0]/',
  'https://1.2.3.4.5/',
  'https://256.256.256.256/',
  'https://0x100000000/',
])('%j is refused at registration', (text) => {
  expect(strict.checkUrl(text)).toMatchObject({ ok: false });
});

test.each([1, 22, 25, 587, 6667, 10080])('port %i is refused: no web server is there', (port) => {
  expect(strict.checkUrl(`https://example.com:${port}/`)).toMatchObject({
    ok: false,
    message: expect.stringContaining(String(port)),
  });
});

test.each([80, 443, 3000, 8080, 8443, 65_535])('port %i may be registered', (port) => {
  expect(strict.checkUrl(`https://example.com:${port}/`)).toMatchObject({ ok: true });
});

test('http is allowed by configuration, and other schemes still are not', () => {
  const guard = createEgressGuard({ allow: [], allowHttp: true });
  expect(guard.checkUrl('http://example.com/')).toMatchObject({ ok: true });
  expect(guard.checkUrl('ftp://example.com/')).toMatchObject({ ok: false });
});

test('localhost may be registered once loopback is allowed', () => {
  const guard = createEgressGuard({ allow: ['127.0.0.0/8'], allowHttp: true });
  expect(guard.checkUrl('http://localhost:3000/')).toMatchObject({ ok: true });
  expect(guard.checkUrl('http://127.0.0.1:3000/')).toMatchObject({ ok: true });
  expect(guard.checkUrl('http://10.0.0.1/')).toMatchObject({ ok: false });
});

test('a range that is no CIDR is refused when the guard is made', () => {
  expect(() => createEgressGuard({ allow: ['10.0.0.0'], allowHttp: false })).toThrow(/CIDR/);
});

test.each([['127.0.0.1'], ['93.184.216.34', '127.0.0.1'], ['::ffff:127.0.0.1'], ['::1']])(
  'a public name that resolves to %s is refused when connecting, and no byte arrives',
  async (...addresses) => {
    const { server, connections } = rawServer(() => {});
    await withServer(server, async (port) => {
      const guard = createEgressGuard({ allow: [], allowHttp: true, lookup: resolvesTo(...addresses) });
      await withClient(async (client) => {
        const outcome = await client.request(post(0, { url: `http://rebind.example:${port}/` }));
        expect(outcome).toMatchObject({ kind: 'failure', class: 'blocked_address', sent: 'no' });
        // Tenants must not learn what internal names resolve to.
        expect(outcome).toMatchObject({ message: expect.not.stringContaining('127.0.0.1') });
        expect(connections()).toBe(0);
      }, createHttpClient({ guard }));
    });
  },
);

test('a name that turns private after a first good answer is refused at its next connection', async () => {
  let address = '127.0.0.1';
  const lookup: LookupFunction = (hostname, options, callback) =>
    resolvesTo(address)(hostname, options, callback);
  const guard = createEgressGuard({ allow: ['127.0.0.1/32'], allowHttp: true, lookup });
  const server = createServer((_request, response) => response.end('ok'));
  await withServer(server, async (port) => {
    await withClient(async (client) => {
      const request = post(0, { url: `http://rebind.example:${port}/` });
      expect(await client.request(request)).toMatchObject({ kind: 'response', status: 200 });
      address = '127.0.0.2';
      expect(await client.request(request)).toMatchObject({ kind: 'failure', class: 'blocked_address' });
    }, createHttpClient({ guard }));
  });
});

test('an allowed loopback address is reached through the guard, by address and by name', async () => {
  const guard = createEgressGuard({
    allow: ['127.0.0.0/8', '::1/128'],
    allowHttp: true,
    lookup: (hostname, options, callback) => systemLookup(hostname, { ...options, family: 4 }, callback),
  });
  const server = createServer((_request, response) => response.end('ok'));
  await withServer(server, async (port) => {
    await withClient(async (client) => {
      for (const host of ['127.0.0.1', 'localhost', '2130706433']) {
        expect(await client.request(post(0, { url: `http://${host}:${port}/` }))).toMatchObject({
          kind: 'response',
          status: 200,
        });
      }
    }, createHttpClient({ guard }));
  });
});

test('a name is judged at every connection by what a name server says then', async () => {
  const answers = ['127.0.0.1', '127.0.0.2'];
  await withDnsServer(
    (_name, type) => (type === 'A' ? { addresses: [answers.shift() ?? ''] } : {}),
    async (resolver) => {
      const server = createServer((_request, response) => response.end('ok'));
      await withServer(server, async (port) =>
        withClient(
          async (client) => {
            const request = post(0, { url: `http://rebind.example:${port}/` });
            expect(await client.request(request)).toMatchObject({ kind: 'response', status: 200 });
            expect(await client.request(request)).toMatchObject({ class: 'blocked_address', sent: 'no' });
          },
          createGuardedClient({ allow: ['127.0.0.1/32'], allowHttp: true, resolvers: [resolver] }),
        ),
      );
    },
  );
});

test('what counts is the address that was connected to: a refused one gets no byte, whatever was asked before', async () => {
  const { server, received, closed } = rawServer(() => {});
  let asked = 0;
  const agents = createAgents({ policy: () => (asked += 1) === 1 });
  await withServer(server, async (port) =>
    withClient(
      async (client) => {
        expect(await client.request(post(port))).toMatchObject({ class: 'blocked_address', sent: 'no' });
        await closed;
        expect(received()).toBe('');
      },
      createHttpClient({ guard: { agents, checkUrl: (text) => ({ ok: true, url: new URL(text) }) } }),
    ),
  );
});

test('a kept connection is not used once its address is refused', async () => {
  const { server, received, closed } = rawServer((socket) =>
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'),
  );
  let isAllowed = true;
  const agents = createAgents({ policy: () => isAllowed });
  await withServer(server, async (port) =>
    withClient(
      async (client) => {
        const one = post(port, { repeatable: true, body: 'one' });
        expect(await client.request(one)).toMatchObject({ kind: 'response', status: 200 });
        isAllowed = false;
        const two = post(port, { repeatable: true, body: 'two' });
        expect(await client.request(two)).toMatchObject({ class: 'blocked_address', sent: 'no' });
        await closed;
        expect(received()).not.toContain('two');
      },
      createHttpClient({ guard: { agents, checkUrl: (text) => ({ ok: true, url: new URL(text) }) } }),
    ),
  );
});

test('a URL that was registered under a laxer configuration is not requested', async () => {
  const { server, connections } = rawServer(() => {});
  await withServer(server, async (port) => {
    await withClient(
      async (client) => {
        expect(await client.request(post(port))).toMatchObject({
          kind: 'failure',
          class: 'blocked_address',
          code: 'ERR_URL_REFUSED',
          sent: 'no',
        });
        expect(connections()).toBe(0);
      },
      createHttpClient({ guard: createEgressGuard({ allow: ['127.0.0.0/8'], allowHttp: false }) }),
    );
  });
});

test('a guarded client asks name servers before it fills the pool of getaddrinfo', async () => {
  const asked: string[] = [];
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'QUERYWRAP' || type === 'GETADDRINFOREQWRAP') asked.push(type);
    },
  }).enable();
  try {
    await withClient(
      async (client) => {
        await client.request(post(0, { url: 'http://not-there.invalid/', timeoutMs: 20_000 }));
        expect(asked[0]).toBe('QUERYWRAP');
      },
      createGuardedClient({ allow: [], allowHttp: true }),
    );
  } finally {
    hook.disable();
  }
}, 30_000);

test('closing a client closes its guard, so that open questions to name servers keep no process alive', () => {
  let closed = 0;
  createHttpClient({ guard: { ...strict, close: () => void (closed += 1) } }).close();
  expect(closed).toBe(1);
});
