import { Resolver } from 'node:dns';
import { type LookupFunction, isIP } from 'node:net';

/** c-ares' code for name servers that do not answer. */
export const RESOLVER_TIMEOUT = 'ETIMEOUT';

/** Of one question to one server, and how often all are asked: 4.5 s in all, below the default timeout of an endpoint. */
const QUESTION_MS = 1_500;
const TRIES = 3;

/** How long addresses of one family wait for the other's: some name servers never answer what they do not know. */
const OTHER_FAMILY_MS = 250;

const NOT_THERE = new Set(['ENOTFOUND', 'ENODATA']);

interface Found {
  readonly address: string;
  readonly family: 4 | 6;
}
interface Answer {
  readonly found: readonly Found[];
  readonly code: string;
}

export interface NameResolver {
  readonly lookup: LookupFunction;
  /** Ends all questions that are open. */
  readonly cancel: () => void;
}

/**
 * Asks these name servers (`ip` or `ip:port`) and nothing else: no hosts file, no search domains. Unlike the system's
 * resolver, of which a process runs four at a time, many names that hang do not hold up the others.
 * Fails with ENOTFOUND, EAI_AGAIN or RESOLVER_TIMEOUT.
 */
export function createResolver(servers: readonly string[]): NameResolver {
  const resolver = new Resolver({ timeout: QUESTION_MS, tries: TRIES });
  resolver.setServers(servers);
  const answer = async (...[hostname, options, callback]: Parameters<LookupFunction>): Promise<void> => {
    const { found, code } = await resolve(resolver, hostname, familyOf(options.family));
    const [first] = found;
    if (!first) callback(failure(code, hostname), '', 0);
    else if (options.all === true) callback(null, [...found]);
    else callback(null, first.address, first.family);
  };
  return { lookup: (...question) => void answer(...question), cancel: () => resolver.cancel() };
}

function familyOf(family: number | string | undefined): 0 | 4 | 6 {
  if (family === 4 || family === 'IPv4') return 4;
  return family === 6 || family === 'IPv6' ? 6 : 0;
}

async function resolve(resolver: Resolver, hostname: string, family: 0 | 4 | 6): Promise<Answer> {
  const name = hostname.replace(/\.$/, '').toLowerCase();
  const literal = isIP(name);
  if (literal !== 0) return { found: [{ address: name, family: literal === 6 ? 6 : 4 }], code: '' };
  // RFC 6761, 6.3: never a question for a name server.
  if (name === 'localhost' || name.endsWith('.localhost'))
    return { found: loopback.filter((each) => family === 0 || each.family === family), code: '' };
  const asked = ([4, 6] as const)
    .filter((each) => family === 0 || family === each)
    .map((each) => ask(resolver, hostname, each));
  const answers = await settle(asked);
  const found = answers.flatMap((answer) => answer.found);
  // "There is none" counts only when nobody is left who might know better.
  const code = answers.map((answer) => answer.code).find((each) => !NOT_THERE.has(each)) ?? 'ENOTFOUND';
  return { found, code };
}

const loopback: readonly Found[] = [
  { address: '127.0.0.1', family: 4 },
  { address: '::1', family: 6 },
];

/** All answers; once one has addresses, the others get little time. */
async function settle(asked: readonly Promise<Answer>[]): Promise<Answer[]> {
  const answers: Answer[] = [];
  const enough = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  const collect = async (question: Promise<Answer>): Promise<void> => {
    const answer = await question;
    answers.push(answer);
    if (answer.found.length > 0) timer ??= setTimeout(enough.resolve, OTHER_FAMILY_MS);
  };
  await Promise.race([Promise.all(asked.map(collect)), enough.promise]);
  clearTimeout(timer);
  return [...answers];
}

async function ask(resolver: Resolver, hostname: string, family: 4 | 6): Promise<Answer> {
  return new Promise((done) => {
    const answered = (error: NodeJS.ErrnoException | null, addresses: string[] | undefined): void =>
      done({ found: (addresses ?? []).map((address) => ({ address, family })), code: error?.code ?? '' });
    if (family === 4) resolver.resolve4(hostname, answered);
    else resolver.resolve6(hostname, answered);
  });
}

function failure(code: string, hostname: string): NodeJS.ErrnoException {
  if (code === RESOLVER_TIMEOUT)
    return Object.assign(new Error(`no name server answered for ${hostname}`), { code });
  if (NOT_THERE.has(code))
    return Object.assign(new Error(`${hostname} does not exist`), { code: 'ENOTFOUND' });
  return Object.assign(new Error(`the name servers cannot resolve ${hostname} now (${code})`), {
    code: 'EAI_AGAIN',
  });
}
