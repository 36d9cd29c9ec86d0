import type { OAuth2 } from '@breakwater/contracts/erp-auth-config';
import type { FailureClass } from '@breakwater/contracts/failure-class';
import { failureClassOfStatus } from '@breakwater/http/classify';
import type { HttpClient } from '@breakwater/http/client';
import type { HttpOutcome, HttpResponse } from '@breakwater/http/outcome';
import { z } from 'zod';
import { readAnswer } from './json.ts';
import type { AssertionSigner } from './client-assertion.ts';

/** A token, or why there is none. Nothing was sent to the ERP then. No message holds what the endpoint answered. */
export type TokenResult =
  | { readonly ok: true; readonly token: string }
  | {
      readonly ok: false;
      readonly class: FailureClass;
      readonly code: string;
      readonly message: string;
    };

export interface TokenSource {
  /** The token to use now: a kept one while it is good, else a new one. Whoever asks meanwhile gets the same. */
  readonly get: () => Promise<TokenResult>;
  /** The ERP refuses this token. Another one that has come since stays. */
  readonly forget: (token: string) => void;
  /** The token in use and the one before, which the answer to a late request may still quote. */
  readonly secrets: () => readonly string[];
}

const MAX_ANSWER_BYTES = 64 * 1024;
/** Renewed so long before the end, so that no request leaves with a token that ends on the way ... */
const RENEW_BEFORE_MS = 60_000;
/** ... and where the endpoint does not say how long it lasts (RFC 6749, 5.1), asked again after this. */
const ASSUMED_LIFE_S = 300;

/** `token_type` and `expires_in` come as servers like: any case, number or text. A token is what a header can carry. */
const Answer = z.object({
  access_token: z.string().regex(/^[\x21-\x7E]+$/),
  token_type: z.string().toLowerCase().pipe(z.literal('bearer')).optional(),
  expires_in: z.coerce.number().positive().optional(),
});
/** RFC 6749, 5.2. Its description may hold anything, so it is not read. */
const Refusal = z.object({ error: z.string().regex(/^[\w.-]{1,64}$/) });

interface Kept {
  readonly token: string;
  readonly renewAtMs: number;
  readonly endsAtMs: number;
}

/**
 * Tokens by client credentials (RFC 6749, 4.4), kept until shortly before they end. One request at a time, whatever number
 * of posts wait for it. `nowMs`: a monotonic clock.
 */
export function createTokenSource(
  config: OAuth2,
  client: HttpClient,
  sign: AssertionSigner | undefined,
  nowMs: () => number = () => performance.now(),
): TokenSource {
  let kept: Kept | undefined;
  let previous = '';
  let pending: Promise<TokenResult> | undefined;

  const request = async (): Promise<TokenResult> => {
    const askedAtMs = nowMs(); // before the request: the token ends later than this says
    const outcome = await client.request({
      method: 'POST',
      url: config.tokenUrl,
      ...tokenRequest(config, sign),
      timeoutMs: config.timeout,
      maxBodyBytes: MAX_ANSWER_BYTES,
      repeatable: true, // a token that nobody uses harms nobody
    });
    const read = readToken(outcome);
    if (!read.ok) return read;
    const lifeMs = (read.lifeS ?? ASSUMED_LIFE_S) * 1_000;
    previous = kept?.token ?? previous;
    kept = {
      token: read.token,
      renewAtMs: askedAtMs + lifeMs - Math.min(RENEW_BEFORE_MS, lifeMs / 2),
      endsAtMs: askedAtMs + lifeMs,
    };
    return { ok: true, token: read.token };
  };

  return {
    async get() {
      if (kept && nowMs() < kept.renewAtMs) return { ok: true, token: kept.token };
      pending ??= request().finally(() => (pending = undefined));
      const result = await pending;
      // Asked early, so that an endpoint that fails now costs nothing yet.
      return !result.ok && kept && nowMs() < kept.endsAtMs ? { ok: true, token: kept.token } : result;
    },
    forget(token) {
      if (kept?.token !== token) return;
      previous = token;
      kept = undefined;
    },
    secrets: () => [kept?.token ?? '', previous].filter((token) => token !== ''),
  };
}

function tokenRequest(
  config: OAuth2,
  sign: AssertionSigner | undefined,
): { headers: Record<string, string>; body: string } {
  const { clientId, clientSecret, scope, parameters, credentials } = config;
  const form = new URLSearchParams({ grant_type: 'client_credentials' });
  if (scope !== undefined) form.set('scope', scope);
  const headers: Record<string, string> = {
    accept: 'application/json',
    'content-type': 'application/x-www-form-urlencoded',
  };
  if (sign) {
    form.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
    form.set('client_assertion', sign());
  } else if (credentials === 'header') {
    headers['authorization'] = `Basic ${basic(formEncoded(clientId), formEncoded(clientSecret ?? ''))}`;
  } else {
    form.set('client_id', clientId);
    form.set('client_secret', clientSecret ?? '');
  }
  for (const [name, value] of Object.entries(parameters)) form.set(name, value);
  return { headers, body: form.toString() };
}

/** RFC 6749, 2.3.1: id and secret are form-encoded before they become a name and a password. */
const formEncoded = (text: string): string => new URLSearchParams({ '': text }).toString().slice(1);

/** What follows `Basic ` (RFC 7617). */
export const basic = (username: string, password: string): string =>
  Buffer.from(`${username}:${password}`, 'utf8').toString('base64');

type Read =
  | { readonly ok: true; readonly token: string; readonly lifeS: number | undefined }
  | Extract<TokenResult, { ok: false }>;

const NOT_SENT = 'Nothing was sent to the ERP.';

function readToken(outcome: HttpOutcome): Read {
  if (outcome.kind === 'failure') {
    const { code, message } = outcome;
    return { ok: false, class: outcome.class, code, message: `Token endpoint: ${message} ${NOT_SENT}` };
  }
  if (outcome.kind === 'withheld')
    return { ok: false, class: 'interrupted', code: '', message: `No token was asked for. ${NOT_SENT}` };
  const { status } = outcome;
  const code = String(status);
  if (status < 200 || status > 299) return refusedToken(outcome);
  const answer = Answer.safeParse(readAnswer(outcome));
  if (answer.success) return { ok: true, token: answer.data.access_token, lifeS: answer.data.expires_in };
  // Which member is wrong, never its value.
  const where = answer.error.issues[0]?.path.join('.') || 'the answer';
  const message = `The token endpoint gave no bearer token that can be used (${where} is missing or wrong). ${NOT_SENT}`;
  return { ok: false, class: 'http_auth', code, message };
}

function refusedToken(outcome: HttpResponse): Extract<TokenResult, { ok: false }> {
  const { status } = outcome;
  const refusal = Refusal.safeParse(readAnswer(outcome));
  const why = refusal.success ? `${status} ${refusal.data.error}` : String(status);
  const credentials = status === 400 || status === 401 || status === 403; // 400 is the RFC's for invalid_client as well
  return {
    ok: false,
    class: credentials ? 'http_auth' : failureClassOfStatus(status),
    code: String(status),
    message: `The token endpoint answered ${why}. ${NOT_SENT}`,
  };
}
