import type { LookupAddress } from 'node:dns';
import { expect, test } from '@jest/globals';
import { createResolver } from '../src/resolver.ts';
import { type AnswerDns, NXDOMAIN, SERVFAIL, withDnsServer } from './support/dns-server.ts';

type Found = { code: string | undefined; found: readonly LookupAddress[] };

async function lookUp(server: string, name: string, family: 0 | 4 | 6 = 0): Promise<Found> {
  return new Promise((done) =>
    createResolver([server]).lookup(name, { all: true, family }, (error, found) =>
      done({ code: error?.code, found: typeof found === 'string' ? [] : found }),
    ),
  );
}

test.each(['10.0.0.53', '10.0.0.53:5353', 'fd00::53', '[fd00::53]', '[fd00::53]:5353'])(
  'what the configuration takes for a name server is one: %s',
  (server) => {
    expect(createResolver([server]).lookup).toBeInstanceOf(Function);
  },
);

test('all addresses of a name are told, and the first one to who asks for one', async () => {
  const answer: AnswerDns = (_name, type) => ({ addresses: type === 'A' ? ['192.0.2.1', '192.0.2.2'] : [] });
  await withDnsServer(answer, async (server) => {
    const { found } = await lookUp(server, 'a.example');
    expect(found.map(({ address }) => address).toSorted()).toEqual(['192.0.2.1', '192.0.2.2']);
    expect((await lookUp(server, 'a.example', 6)).code).toBe('ENOTFOUND');
    const one = await new Promise((done) =>
      createResolver([server]).lookup('a.example', {}, (_error, address, family) => done([address, family])),
    );
    expect(one).toEqual([expect.stringMatching(/^192\.0\.2\.[12]$/), 4]);
  });
});

test('a name is gone only when nobody is left who might know better', async () => {
  const half: AnswerDns = (name, type) =>
    type === 'A' ? NXDOMAIN : name === 'a.example' ? SERVFAIL : NXDOMAIN;
  await withDnsServer(half, async (server) => {
    expect((await lookUp(server, 'a.example')).code).toBe('EAI_AGAIN');
    expect((await lookUp(server, 'b.example')).code).toBe('ENOTFOUND');
  });
});

test('a name server that is not there is a temporary failure, of the resolver and not of the endpoint', async () => {
  let gone = '';
  await withDnsServer(
    () => NXDOMAIN,
    async (server) => void (gone = server),
  );
  expect((await lookUp(gone, 'a.example')).code).toBe('EAI_AGAIN');
});

test('localhost and addresses are no questions for a name server', async () => {
  let asked = 0;
  const count: AnswerDns = () => {
    asked += 1;
    return NXDOMAIN;
  };
  await withDnsServer(count, async (server) => {
    const { found } = await lookUp(server, 'LOCALHOST.');
    expect(found).toEqual([{ address: '127.0.0.1', family: 4 }]);
    expect((await lookUp(server, 'a.localhost', 6)).found).toEqual([{ address: '::1', family: 6 }]);
    expect((await lookUp(server, '192.0.2.7')).found).toEqual([{ address: '192.0.2.7', family: 4 }]);
    expect(asked).toBe(0);
  });
});

test('names that are slow do not hold up others', async () => {
  const answer: AnswerDns = (name, type) => ({
    addresses: type === 'A' ? ['192.0.2.1'] : [],
    delayMs: name.startsWith('slow') ? 700 : 0,
  });
  await withDnsServer(answer, async (server) => {
    const { lookup } = createResolver([server]);
    let open = 50;
    const slow = Array.from({ length: open }, async (_, number) => {
      await new Promise((done) => lookup(`slow${number}.example`, { all: true }, done));
      open -= 1;
    });
    await new Promise((done) => lookup('quick.example', { all: true }, done));
    expect(open).toBe(50);
    await Promise.all(slow);
  });
});

test('what is still asked when the client is closed keeps no process alive', async () => {
  await withDnsServer(
    () => 'silence',
    async (server) => {
      const { lookup, cancel } = createResolver([server]);
      const answer = new Promise((done) => lookup('a.example', { all: true }, (error) => done(error?.code)));
      cancel();
      expect(await answer).toBe('EAI_AGAIN');
    },
  );
});
