import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { operatorName } from '@breakwater/contracts/operator';
import { hashId } from '@breakwater/contracts/ids';
import { AppError } from '@breakwater/runtime/errors';
import type { Redis } from '@breakwater/store/connection';
import type { Keyspace } from '@breakwater/store/keys';
import { endSession, keepSession, readSession } from '@breakwater/store/sessions';
import type { CookieOptions, Request, Response } from 'express';
import { boxOf } from '../box-of.ts';

const SESSION = 'breakwater_session';
/** The operator that a token of every operator looks at next. A preference, not a right: each call judges it, and no form follows it. */
const OPERATOR = 'breakwater_operator';
/** A working day; a token that was made for less ends before. */
const SESSION_MS = 12 * 3_600_000;

/**
 * A session is a random id in a cookie that no script reads and that no other site's form or script brings along. What it
 * stands for, the token, is in Redis, sealed with that id: cookies go to every port of a host, and a token is worth more
 * than 12 hours. Every page judges the token anew, as the API does, so one that is revoked ends its sessions.
 */
export interface Sessions {
  readonly signIn: (request: Request, response: Response, token: string) => Promise<void>;
  /** Ends the session itself, not this browser's cookie alone. */
  readonly signOut: (request: Request, response: Response) => Promise<void>;
  /** The token of whoever sends this; undefined without a session. Throws AppError unavailable when Redis is not there. */
  readonly tokenOf: (request: IncomingMessage) => Promise<string | undefined>;
}

/** `redis`: one that fails fast, since a person waits. */
export function createSessions(redis: Redis, keys: Keyspace): Sessions {
  return {
    async signIn(request, response, token) {
      const id = randomBytes(32).toString('base64url');
      const sealed = boxOf(id, 'session').seal(token, hashOf(id));
      await asking(() => keepSession(redis, keys, hashOf(id), { sealed, ttlMs: SESSION_MS }));
      response.cookie(SESSION, id, options(request));
    },
    async signOut(request, response) {
      const id = cookieOf(request, SESSION);
      if (id !== undefined) await asking(() => endSession(redis, keys, hashOf(id)));
      for (const name of [SESSION, OPERATOR]) response.clearCookie(name, options(request));
    },
    async tokenOf(request) {
      const id = cookieOf(request, SESSION);
      if (id === undefined) return undefined;
      const sealed = await asking(() => readSession(redis, keys, hashOf(id)));
      return sealed === null ? undefined : boxOf(id, 'session').open(sealed, hashOf(id));
    },
  };
}

export function chooseOperator(request: Request, response: Response, operator: string): void {
  response.cookie(OPERATOR, operator, options(request));
}

export const operatorChosen = (request: IncomingMessage): string | undefined =>
  operatorName.safeParse(cookieOf(request, OPERATOR)).data;

const hashOf = (id: string): string => hashId('session', id);

/** Who waits for a page is told, not kept waiting. */
async function asking<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw new AppError('unavailable', 'Redis is not reachable at this moment.', { cause: error });
  }
}

/** Lax, not strict: a link in an alert or a chat must open. It shows something at most: every change is a form with a proof. */
const options = (request: Request): CookieOptions => ({
  httpOnly: true,
  sameSite: 'lax',
  path: '/',
  maxAge: SESSION_MS,
  // A proxy that ends TLS says so. Whoever forges this only keeps a cookie of their own from plain HTTP.
  secure: request.headers['x-forwarded-proto'] === 'https',
});

/** The first of that name: a second one was set by somebody who does not know how cookies of a host shadow each other. */
function cookieOf(request: IncomingMessage, name: string): string | undefined {
  for (const pair of (request.headers.cookie ?? '').split(';')) {
    const at = pair.indexOf('=');
    if (at !== -1 && pair.slice(0, at).trim() === name)
      try {
        return decodeURIComponent(pair.slice(at + 1).trim());
      } catch {
        return undefined; // not one of ours
      }
  }
  return undefined;
}

/**
 * What a form holds that another site cannot know. It names the operator whose things its page showed: the cookie may name
 * another one by the time that the form is sent, since all tabs share it.
 */
export const csrfOf = (token: string, operator: string): string =>
  `${operator}.${createHmac('sha256', token).update(`breakwater form ${operator}`).digest('base64url')}`;

/**
 * Was this form sent from a page of ours? Browsers say where a request comes from; the field proves it also for those that
 * do not. Returns the operator of that page. Throws AppError form_foreign.
 */
export function checkForm(request: IncomingMessage, token: string, given: string | null): string {
  checkOrigin(request);
  const operator = given?.slice(0, Math.max(0, given.lastIndexOf('.'))) ?? '';
  const expected = Buffer.from(csrfOf(token, operator));
  const actual = Buffer.from(given ?? '');
  if (actual.length !== expected.length || !timingSafeEqual(actual, expected))
    throw new AppError('form_foreign', 'This form is not of your session, or of one that has ended.');
  return operator;
}

/**
 * Browsers say `sec-fetch-site` themselves where they trust the connection (TLS, this machine). Elsewhere the origin is
 * compared with the host that was asked; a proxy that rewrites it says the former one. Throws AppError form_foreign.
 */
export function checkOrigin({ headers }: IncomingMessage): void {
  const site = headers['sec-fetch-site'];
  const { origin } = headers;
  const host = headers['x-forwarded-host'] ?? headers.host;
  const ours =
    site === undefined
      ? origin === undefined || (URL.canParse(origin) && new URL(origin).host === host)
      : site === 'same-origin' || site === 'none';
  if (ours) return;
  throw new AppError(
    'form_foreign',
    'Another site sent this form, or a proxy on the way changes the Host header.',
  );
}
