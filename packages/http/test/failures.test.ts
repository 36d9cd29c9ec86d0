import { expect, test } from '@jest/globals';
import { createHttpClient } from '../src/client.ts';
import { createEgressGuard, createGuardedClient } from '../src/egress.ts';
import { withDnsServer } from './support/dns-server.ts';
import { post, rawServer, withClient, withServer } from './support/servers.ts';

test('a resolver that does not answer is timeout_dns, surely unsent', async () => {
  const guard = createEgressGuard({ allow: [], allowHttp: true, lookup: () => {} });
  await withClient(async (client) => {
    const outcome = await client.request(post(0, { url: 'http://slow.example/', timeoutMs: 100 }));
    expect(outcome).toMatchObject({ kind: 'failure', class: 'timeout_dns', sent: 'no' });
  }, createHttpClient({ guard }));
});

test('a connection that was given up does not stay behind', async () => {
  const { server, closed } = rawServer(() => {});
  await withServer(server, async (port) =>
    withClient(async (client) => {
      // TLS to a server that never says a word: connected, but not securely.
      const outcome = await client.request(post(0, { url: `https://127.0.0.1:${port}/`, timeoutMs: 200 }));
      expect(outcome).toMatchObject({ kind: 'failure', class: 'timeout_tls', sent: 'no' });
      await closed;
    }),
  );
});

test('the budget is one: what finding the name used up is missing for the answer', async () => {
  await withDnsServer(
    (_name, type) => (type === 'A' ? { addresses: ['127.0.0.1'], delayMs: 700 } : {}),
    async (resolver) =>
      withServer(rawServer(() => {}).server, async (port) =>
        withClient(
          async (client) => {
            const outcome = await client.request(
              post(0, { url: `http://slow.example:${port}/`, timeoutMs: 1_200 }),
            );
            expect(outcome).toMatchObject({ kind: 'failure', class: 'timeout_response', sent: 'maybe' });
            // With a budget for each phase it would be 1,900 ms.
            expect(outcome.durationMs).toBeLessThan(1_850);
          },
          createGuardedClient({ allow: ['127.0.0.0/8'], allowHttp: true, resolvers: [resolver] }),
        ),
      ),
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
