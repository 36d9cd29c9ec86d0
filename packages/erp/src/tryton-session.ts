import type { TrytonAdapter } from '@breakwater/contracts/tryton-config';
import type { HttpClient } from '@breakwater/http/client';
import { z } from 'zod';
import { type Trouble, interpret, isTrouble, notSent } from './tryton-answer.ts';
import { callBody } from './tryton-wire.ts';

export interface Session {
  readonly uid: number;
  /** The company that the login works for. */
  readonly company: number;
  readonly authorization: string;
  /** What must not be shown. */
  readonly secrets: readonly string[];
}

export interface Sessions {
  /** The session, logged in where there is none. Waits until `deadline` (performance.now) at most. */
  readonly get: (deadline: number) => Promise<Session | Trouble>;
  /** The ERP did not know this session any more. A newer one is kept. */
  readonly ended: (session: Session) => void;
}

/** A right password is checked in 0.3 s; after wrong ones Tryton delays its answer, 27 s were seen. */
const LOGIN_TIMEOUT_MS = 30_000;
const MAX_LOGIN_BYTES = 64 * 1024;

const LoginResult = z.tuple([z.int(), z.string()]);
const Preferences = z.object({ company: z.int() });

/**
 * One session for all calls of the adapter. Concurrent calls share one login, and after a refused one nobody tries for
 * `loginPause`: Tryton locks out the right password as well, for as long as wrong logins keep coming.
 */
export function createSessions(client: HttpClient, url: string, config: TrytonAdapter): Sessions {
  let pending: Promise<Session | Trouble> | undefined;
  let live: Session | undefined;
  let refused: { readonly until: number; readonly trouble: Trouble } | undefined;

  const logIn = async (): Promise<Session | Trouble> => {
    const result = await login(client, url, config);
    if (!isTrouble(result)) live = result;
    else if (result.kind === 'failed' && (result.class === 'http_auth' || result.class === 'http_429'))
      refused = { until: performance.now() + config.loginPause, trouble: result };
    return result;
  };
  return {
    async get(deadline) {
      if (live) return live;
      if (refused && performance.now() < refused.until) {
        const { code, message } = refused.trouble;
        const seconds = Math.ceil((refused.until - performance.now()) / 1_000);
        return { ...notSent('http_auth', `${message} Not tried again for ${seconds} s.`), code };
      }
      pending ??= logIn().finally(() => (pending = undefined));
      return await before(deadline, pending);
    },
    ended(session) {
      if (live === session) live = undefined;
    },
  };
}

/** The login goes on for whoever comes next when this caller's time is over. */
async function before(deadline: number, session: Promise<Session | Trouble>): Promise<Session | Trouble> {
  const late = Promise.withResolvers<Trouble>();
  const timer = setTimeout(
    () => late.resolve(notSent('timeout_response', 'The ERP did not answer the login in time.')),
    Math.max(0, deadline - performance.now()),
  );
  try {
    return await Promise.race([session, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function login(client: HttpClient, url: string, config: TrytonAdapter): Promise<Session | Trouble> {
  const deadline = performance.now() + LOGIN_TIMEOUT_MS;
  const secrets = [config.password];
  const call = async (id: number, method: string, params: readonly unknown[], authorization?: string) => {
    const outcome = await client.request({
      method: 'POST',
      url,
      headers: { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }) },
      body: callBody(id, method, params),
      timeoutMs: Math.max(1, deadline - performance.now()),
      maxBodyBytes: MAX_LOGIN_BYTES,
    });
    return interpret(outcome, { id, method, config, secrets });
  };
  const answer = await call(1, 'common.db.login', [config.login, { password: config.password }, 'en']);
  if (answer.kind !== 'result') return loginFailed(answer, config);
  const result = LoginResult.safeParse(answer.value).data;
  if (!result) return notSent('http_auth', `The ERP gave ${config.login} no session.`);
  const [uid, token] = result;
  const credentials = Buffer.from(`${config.login}:${uid}:${token}`).toString('base64');
  secrets.push(token, credentials);
  const authorization = `Session ${credentials}`;
  const preferences = await call(2, 'model.res.user.get_preferences', [true, {}], authorization);
  if (preferences.kind !== 'result') return loginFailed(preferences, config);
  const company = Preferences.safeParse(preferences.value).data?.company;
  if (company === undefined)
    return notSent('configuration', `The user ${config.login} works for no company: set one in the ERP.`);
  return { uid, company, authorization, secrets };
}

function loginFailed(trouble: Trouble, { login: name }: TrytonAdapter): Trouble {
  const { code, sample } = trouble;
  const told = { code, ...(sample && { sample }) };
  if (code === '401')
    return {
      ...notSent('http_auth', `The ERP refuses the login ${name}: correct the password or the user.`),
      ...told,
    };
  if (code === '429')
    return { ...notSent('http_429', `The ERP has locked the login ${name} out for a while.`), ...told };
  if (code === '404') return { ...notSent('http_4xx', 'The ERP does not know this database.'), ...told };
  if (trouble.kind === 'failed' || trouble.kind === 'withheld') return trouble;
  return { ...notSent('http_5xx', trouble.message), ...told };
}
