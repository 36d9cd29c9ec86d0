import type { IncomingMessage } from 'node:http';
import type { TokenReader } from '@breakwater/core/token-reader';
import { AppError } from '@breakwater/runtime/errors';
import { type Caller, createAuthentication } from './caller.ts';
import { createRateLimit, type Rate } from './rate-limit.ts';

export interface IdentifyOptions {
  readonly adminToken: string | undefined;
  readonly tokenReader: TokenReader;
  /** For each token. */
  readonly rate?: Rate;
  /** Requests without a good token, for each address. */
  readonly strangers?: Rate;
}

/**
 * Who calls, if not too often. A request that brings no token counts as a stranger's.
 * Throws AppError token_missing, token_invalid, rate_limited, unavailable.
 */
export type Identify = (token: string | undefined, request: IncomingMessage) => Promise<Caller>;

/** A page of a list needs 30 ms; scripts and dashboards stay far below it. */
const RATE: Rate = { perSecond: 50, burst: 200 };
/** A person who mistypes a token does not notice; 256 bits are not guessed at any rate, but the log would fill. */
const STRANGERS: Rate = { perSecond: 5, burst: 50 };

/** Strangers are counted by address, and only once they turn out to be strangers. */
export function createIdentification(options: IdentifyOptions): Identify {
  const { adminToken, tokenReader, rate = RATE, strangers = STRANGERS } = options;
  const authenticate = createAuthentication(adminToken, tokenReader);
  const limit = createRateLimit(rate, 'with this token');
  const strangerLimit = createRateLimit(strangers, 'without a good token from this address');
  return async (token, request) => {
    let caller: Caller;
    try {
      if (token === undefined)
        throw new AppError('token_missing', 'Send one token as Authorization: Bearer <token>.');
      caller = await authenticate(token);
    } catch (error) {
      if (error instanceof AppError && error.status === 401)
        strangerLimit.take(request.socket.remoteAddress ?? '');
      throw error;
    }
    limit.take(caller.id);
    return caller;
  };
}

const BEARER = /^bearer +(\S+)$/i;

/** The token of a request to the API; undefined where there is none, or more than one. */
export function bearerTokenOf(request: IncomingMessage): string | undefined {
  const lines = request.headersDistinct['authorization'] ?? [];
  return lines.length === 1 ? BEARER.exec(lines[0] ?? '')?.[1] : undefined;
}
