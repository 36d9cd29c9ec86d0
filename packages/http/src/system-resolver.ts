import { type LookupAddress, type Resolver, lookup as getaddrinfo } from 'node:dns';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';
import {
  type Answer,
  type Family,
  type Found,
  type NameResolver,
  NOT_THERE,
  askBoth,
  foundAt,
  lookupBy,
  openResolver,
  plainName,
} from './resolver.ts';
import { createSlots } from './slots.ts';

/**
 * getaddrinfo runs in a pool of four threads, and one name whose servers say nothing keeps its thread for ten seconds and
 * more. Half of the pool stays free for whatever else needs it; that many names at once are found by it alone.
 */
const GETADDRINFO_AT_ONCE = 2;
const GETADDRINFO_WAIT_MS = 5_000;

/** No name server where one should be, which is said at once: the machine finds names in another way. */
const NOBODY_THERE = 'ECONNREFUSED';

/** After a failure it is read anew whom to ask, since the machine may be in another network by now; not more often than this. */
const REOPEN_MS = 5_000;

/** How long the hosts file is remembered. */
const HOSTS_MS = 5_000;

export interface SystemOptions {
  /** The machine's own when left out. */
  readonly servers?: readonly string[];
  readonly hostsPath?: string;
}

/**
 * Finds names as this machine does, without letting some that hang hold up the others: the hosts file first, then the
 * machine's name servers, then getaddrinfo for what only it knows (search domains, single names, mDNS). A name whose
 * servers say nothing never gets as far as the last step.
 */
export function createSystemResolver(options: SystemOptions = {}): NameResolver {
  const { servers = [], hostsPath = '/etc/hosts' } = options;
  let resolver: Resolver = openResolver(servers);
  let openedAt = performance.now();
  const slots = createSlots(GETADDRINFO_AT_ONCE);
  const closing = new AbortController();
  const hosts = createHosts(hostsPath);

  const reopen = (code: string): void => {
    if (NOT_THERE.has(code) || performance.now() - openedAt < REOPEN_MS) return;
    resolver = openResolver(servers);
    openedAt = performance.now();
  };
  const find = async (hostname: string, family: Family): Promise<Answer> => {
    const name = plainName(hostname);
    const listed = (await hosts(name)).filter((each) => family === 0 || each.family === family);
    if (listed.length > 0) return { found: listed, code: '' };
    if (name.includes('.')) {
      const answer = await askBoth(resolver, hostname, family);
      if (answer.found.length > 0) return answer;
      reopen(answer.code);
      if (!NOT_THERE.has(answer.code) && answer.code !== NOBODY_THERE) return answer;
    }
    const release = await slots.take('', GETADDRINFO_WAIT_MS, closing.signal);
    if (!release) return { found: [], code: 'EAI_AGAIN' };
    try {
      return await askSystem(hostname, family);
    } finally {
      release();
    }
  };
  return {
    lookup: lookupBy(find),
    cancel: () => {
      closing.abort();
      resolver.cancel();
    },
  };
}

async function askSystem(hostname: string, family: Family): Promise<Answer> {
  return new Promise((done) =>
    getaddrinfo(hostname, { all: true, family }, (error, found: LookupAddress[] | undefined) =>
      done({
        found: (found ?? []).map(({ address }) => foundAt(address)),
        code: error?.code ?? 'ENOTFOUND',
      }),
    ),
  );
}

/** Addresses of a name in a file as hosts(5) describes it; none where there is no such file. */
function createHosts(path: string): (name: string) => Promise<readonly Found[]> {
  let known = new Map<string, Found[]>();
  let readAt = -Infinity;
  return async (name) => {
    if (performance.now() - readAt > HOSTS_MS) {
      readAt = performance.now();
      known = parseHosts(await readFile(path, 'utf8').catch(() => ''));
    }
    return known.get(name) ?? [];
  };
}

function parseHosts(text: string): Map<string, Found[]> {
  const known = new Map<string, Found[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = (line.split('#', 1)[0] ?? '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names.map(plainName)) known.set(name, [...(known.get(name) ?? []), foundAt(address)]);
  }
  return known;
}
