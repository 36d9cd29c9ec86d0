import { Resolver } from 'node:dns';
import { type LookupFunction, isIP } from 'node:net';

/** c-ares' code for name servers that do not answer. */
export const RESOLVER_TIMEOUT = 'ETIMEOUT';

/** For one question to one server, twice as long at the second try: 4.5 s in all, below the default timeout of an endpoint. */
const QUESTION_MS = 1_500;
const TRIES = 2;

/** How long addresses of one family wait for the other's: some name servers never answer what they do not know. */
const OTHER_FAMILY_MS = 250;

/** Of c-ares: no such name; a name without addresses. */
export const NOT_THERE: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA']);

export interface Found {
  readonly address: string;
  readonly family: 4 | 6;
}
/** `code` of what failed where nothing was found. */
export interface Answer {
  readonly found: readonly Found[];
  readonly code: string;
}

export interface NameResolver {
  readonly lookup: LookupFunction;
  /** Ends all questions that are open. */
  readonly cancel: () => void;
}

/** 0: both. */
export type Family = 0 | 4 | 6;

/**
 * Asks these name servers (`ip` or `ip:port`) and nothing else: no hosts file, no search domains. Unlike getaddrinfo, of
 * which a process runs four at a time, many names that hang do not hold up the others.
 * Fails with ENOTFOUND, EAI_AGAIN or RESOLVER_TIMEOUT.
 */
export function createResolver(servers: readonly string[]): NameResolver {
  const resolver = openResolver(servers);
  return {
    lookup: lookupBy(async (hostname, family) =>
      // RFC 6761, 6.3: never a question for a name server.
      LOCALHOST.test(plainName(hostname))
        ? { found: [foundAt(family === 6 ? '::1' : '127.0.0.1')], code: '' }
        : askBoth(resolver, hostname, family),
    ),
    cancel: () => resolver.cancel(),
  };
}

/** Of the machine's own name servers when none are given. */
export function openResolver(servers: readonly string[] = []): Resolver {
  const resolver = new Resolver({ timeout: QUESTION_MS, tries: TRIES });
  if (servers.length > 0) resolver.setServers(servers);
  return resolver;
}

/** What node:net asks for addresses, made of a function that finds them. Literals are no questions. */
export function lookupBy(find: (hostname: string, family: Family) => Promise<Answer>): LookupFunction {
  const answer = async (...[hostname, options, callback]: Parameters<LookupFunction>): Promise<void> => {
    const family = familyOf(options.family);
    const literal = isIP(hostname);
    const { found, code } =
      literal === 0 ? await find(hostname, family) : { found: [foundAt(hostname)], code: '' };
    const [first] = found;
    if (!first) callback(failure(code, hostname), '', 0);
    else if (options.all === true) callback(null, [...found]);
    else callback(null, first.address, first.family);
  };
  return (...question) => void answer(...question);
}

function familyOf(family: number | string | undefined): Family {
  if (family === 4 || family === 'IPv4') return 4;
  return family === 6 || family === 'IPv6' ? 6 : 0;
}

/** Lower case, without the final dot. */
export const plainName = (hostname: string): string => hostname.replace(/\.$/, '').toLowerCase();

/** IPv4 and IPv6 addresses of a name, by two questions at once. */
export async function askBoth(resolver: Resolver, hostname: string, family: Family): Promise<Answer> {
  const asked = ([4, 6] as const)
    .filter((each) => family === 0 || family === each)
    .map((each) => ask(resolver, hostname, each));
  const answers = await settle(asked);
  const found = answers.flatMap((answer) => answer.found);
  // "There is none" counts only when nobody is left who might know better.
  const code = answers.map((answer) => answer.code).find((each) => each !== '' && !NOT_THERE.has(each));
  return { found, code: code ?? 'ENOTFOUND' };
}

const LOCALHOST = /(?:^|\.)localhost$/;

export const foundAt = (address: string): Found => ({ address, family: isIP(address) === 6 ? 6 : 4 });

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
