import type { LookupAddress } from 'node:dns';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { LookupFunction } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type SystemOptions, createSystemResolver } from '../src/system-resolver.ts';
import { type AnswerDns, NXDOMAIN, SERVFAIL, withDnsServer } from './support/dns-server.ts';

let folder = '';
let hostsPath = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'breakwater-hosts-'));
  hostsPath = join(folder, 'hosts');
  await writeFile(
    hostsPath,
    '# ours\n192.0.2.9\tPinned.example other.example # why\n2001:db8::9 pinned.example\nnonsense\n',
  );
});
afterAll(() => rm(folder, { recursive: true }));

interface Said {
  readonly code: string | undefined;
  readonly addresses: readonly string[];
}
const ask = async (lookup: LookupFunction, name: string): Promise<Said> =>
  new Promise((done) =>
    lookup(name, { all: true }, (error, found) =>
      done({
        code: error?.code,
        addresses: error ? [] : (found as LookupAddress[]).map(({ address }) => address),
      }),
    ),
  );

/** Asks once, and ends what is still open. */
async function once(options: SystemOptions, name: string): Promise<Said> {
  const { lookup, cancel } = createSystemResolver(options);
  try {
    return await ask(lookup, name);
  } finally {
    cancel();
  }
}

const everywhere: AnswerDns = (_name, type) => ({ addresses: type === 'A' ? ['192.0.2.1'] : [] });

test('what the hosts file says goes before what name servers say', async () => {
  await withDnsServer(everywhere, async (server) => {
    const options = { servers: [server], hostsPath };
    expect((await once(options, 'pinned.EXAMPLE.')).addresses).toEqual(['192.0.2.9', '2001:db8::9']);
    expect((await once(options, 'other.example')).addresses).toEqual(['192.0.2.9']);
    expect((await once(options, 'why.example')).addresses).toEqual(['192.0.2.1']);
    expect((await once({ ...options, hostsPath: join(folder, 'none') }, 'pinned.example')).addresses).toEqual(
      ['192.0.2.1'],
    );
  });
});

test.each([
  ['does not know it', NXDOMAIN, 'localhost'],
  ['knows it without an address', {}, 'localhost'],
])('a name is left to the machine where a name server %s', async (_what, answer, name) => {
  await withDnsServer(
    () => answer,
    async (server) => {
      const { addresses } = await once({ servers: [server], hostsPath: '' }, name);
      expect(addresses.every((address) => address === '127.0.0.1' || address === '::1')).toBe(true);
      expect(addresses).not.toEqual([]);
      // Nobody knows this one; a machine without any resolver says "temporary" instead.
      expect((await once({ servers: [server], hostsPath: '' }, 'not-there.invalid')).code).toMatch(
        /^ENOTFOUND$|^EAI_AGAIN$/,
      );
    },
  );
});

test('a name server that fails or says nothing is not asked again by other means', async () => {
  await withDnsServer(
    (name) => (name === 'silent.example' ? 'silence' : SERVFAIL),
    async (server) => {
      expect((await once({ servers: [server], hostsPath }, 'a.example')).code).toBe('EAI_AGAIN');
      expect((await once({ servers: [server], hostsPath }, 'silent.example')).code).toBe('ETIMEOUT');
    },
  );
}, 30_000);

test('names whose servers say nothing hold up neither other names nor the files of this process', async () => {
  const answer: AnswerDns = (name, type) => (name.startsWith('silent') ? 'silence' : everywhere(name, type));
  await withDnsServer(answer, async (server) => {
    const { lookup, cancel } = createSystemResolver({ servers: [server], hostsPath });
    let open = 50;
    const silent = Array.from({ length: open }, async (_, number) => {
      const said = await ask(lookup, `silent${number}.example`);
      open -= 1;
      return said;
    });
    expect((await ask(lookup, 'quick.example')).addresses).toEqual(['192.0.2.1']);
    await writeFile(join(folder, 'written'), 'in the same pool as getaddrinfo');
    expect(open).toBe(50);
    cancel();
    await Promise.all(silent);
  });
});
