import type { HttpAdapter } from '@breakwater/contracts/target-config';
import type { HttpClient, HttpRequest } from '@breakwater/http/client';
import type { HttpOutcome } from '@breakwater/http/outcome';
import { createAssertionSigner } from './client-assertion.ts';
import type { Compiler } from './expression.ts';
import { basic, createTokenSource, type TokenSource } from './oauth2.ts';

/** Sends requests with the credentials of a target. */
export interface Authorizer {
  /**
   * As the client's `request`, and so never rejects. Where a token is refused (401), one new one is fetched and the request
   * is sent once more; `renewOn401: false` where the ERP's configuration says that 401 means something else.
   */
  readonly request: (request: HttpRequest, renewOn401: boolean) => Promise<HttpOutcome>;
  /** What must be masked wherever the ERP's answers are kept. */
  readonly secrets: () => readonly string[];
}

/** Mistakes of the configuration go to the compiler. */
export function createAuthorizer(config: HttpAdapter, client: HttpClient, compiler: Compiler): Authorizer {
  const { auth } = config;
  const known = [
    ...Object.entries(config.headers).flatMap(([name, value]) => secretsOf(name, value)),
    ...Object.values(config.secrets).filter(worthMasking),
  ];
  if (auth?.kind === 'oauth2') {
    const { clientAssertion, clientSecret = '' } = auth;
    const signer = clientAssertion && createAssertionSigner(auth, clientAssertion);
    if (clientAssertion && !signer) {
      const { algorithm } = clientAssertion;
      compiler.mistake(
        'adapter.auth.clientAssertion.privateKey',
        `expected a private key in PEM that ${algorithm} can use (${algorithm === 'ES256' ? 'EC' : 'RSA'})`,
      );
    }
    const tokens = createTokenSource(auth, client, signer);
    return {
      request: (request, renewOn401) => withToken(client, tokens, request, renewOn401),
      secrets: () => [...known, ...tokens.secrets(), clientSecret].filter(worthMasking),
    };
  }
  const headers = fixedHeaders(auth);
  const secrets = [...known, ...Object.entries(headers).flatMap(([name, value]) => secretsOf(name, value))];
  if (auth?.kind === 'basic') secrets.push(...[auth.password].filter(worthMasking));
  return {
    request: (request) => client.request({ ...request, headers: { ...request.headers, ...headers } }),
    secrets: () => secrets,
  };
}

/** The header that carries the credentials; '' where there are none. */
export function authHeaderName(auth: HttpAdapter['auth']): string {
  if (auth === undefined) return '';
  return auth.kind === 'header' ? auth.name : 'authorization';
}

function fixedHeaders(auth: Exclude<HttpAdapter['auth'], { kind: 'oauth2' }>): Record<string, string> {
  switch (auth?.kind) {
    case undefined:
      return {};
    case 'basic':
      return { authorization: `Basic ${basic(auth.username, auth.password)}` };
    case 'bearer':
      return { authorization: `Bearer ${auth.token}` };
    case 'header':
      return { [auth.name]: auth.value };
  }
}

async function withToken(
  client: HttpClient,
  tokens: TokenSource,
  request: HttpRequest,
  renewOn401: boolean,
): Promise<HttpOutcome> {
  const first = await sendOnce(client, tokens, request);
  const { outcome, token } = first;
  if (token === undefined || outcome.kind !== 'response' || outcome.status !== 401 || !renewOn401)
    return outcome;
  // 401 is before any work (RFC 9110, 15.5.2), so a second request is no second posting.
  tokens.forget(token);
  const second = await sendOnce(client, tokens, request);
  return second.outcome;
}

async function sendOnce(
  client: HttpClient,
  tokens: TokenSource,
  request: HttpRequest,
): Promise<{ readonly outcome: HttpOutcome; readonly token?: string }> {
  const result = await tokens.get();
  if (!result.ok) {
    const { code, message } = result;
    return {
      outcome: { kind: 'failure', class: result.class, code, message, sent: 'no', durationMs: 0 },
    };
  }
  const { token } = result;
  const headers = { ...request.headers, authorization: `Bearer ${token}` };
  return { outcome: await client.request({ ...request, headers }), token };
}

/** Shorter ones would cut up any text. */
const worthMasking = (text: string): boolean => text.length >= 4;

/** A header's value, and what follows its scheme (`Bearer abc`), which is how servers quote it. */
function secretsOf(name: string, value: string): string[] {
  if (/^(?:accept|content-type|user-agent)$/i.test(name)) return [];
  const credentials = value.replace(/^\S+\s+/, '');
  return [...new Set([value, credentials])].filter(worthMasking);
}
