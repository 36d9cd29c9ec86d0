import { parseScope, type TokenScope } from '@breakwater/contracts/access-token';
import { AppError, messageOf } from '@breakwater/runtime/errors';
import type { Logger } from '@breakwater/runtime/logger';
import type { Redis } from '@breakwater/store/connection';
import type { Keyspace } from '@breakwater/store/keys';
import { noteTokenUse, readToken, type TokenRecord } from '@breakwater/store/tokens';
import { hashOfToken } from './tokens.ts';

/**
 * How long a process goes on with what it knows of a token: so late a revocation takes effect at most. A request to
 * publish then asks Redis about its token once in 5 s, not every time.
 */
export const TOKEN_CACHE_MS = 5_000;
/** Known tokens, and wrong ones that are tried: a flood of the latter pushes out the oldest. */
const CACHED_MAX = 10_000;
/** Questions to Redis under way: strangers with invented tokens must not fill the connection. */
const IN_FLIGHT_MAX = 100;
const NOTE_EVERY_MS = 60_000;

export type TokenVerdict =
  | { readonly kind: 'known'; readonly id: string; readonly name: string; readonly scope: TokenScope }
  | { readonly kind: 'unknown' | 'expired' | 'revoked' };

export interface TokenReader {
  /** Whose is this token? Throws AppError unavailable when Redis does not say: the token may be a good one. */
  readonly judge: (value: string) => Promise<TokenVerdict>;
}

interface Cached {
  readonly at: number;
  readonly record: Promise<TokenRecord | undefined>;
  notedAt: number;
}

/** Looks tokens up by the hash of their value, and remembers each answer for TOKEN_CACHE_MS. */
export function createTokenReader(options: {
  /** One that fails fast, since a caller waits. */
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly logger: Logger;
  /** Monotonic, ms. */
  readonly now?: () => number;
}): TokenReader {
  const { redis, keys, logger, now = () => performance.now() } = options;
  const cache = new Map<string, Cached>();
  let inFlight = 0;

  const ask = (hash: string, before: Cached | undefined): Cached => {
    if (inFlight >= IN_FLIGHT_MAX) throw unavailable('Too many tokens are being looked up at this moment.');
    inFlight += 1;
    const record = readToken(redis, keys, hash).finally(() => (inFlight -= 1));
    const cached = { at: now(), record, notedAt: before?.notedAt ?? Number.NEGATIVE_INFINITY };
    cache.delete(hash); // it moves to the end: the first is always the oldest
    cache.set(hash, cached);
    record.catch(() => cache.get(hash) === cached && cache.delete(hash));
    const oldest = cache.keys().next().value;
    if (cache.size > CACHED_MAX && oldest !== undefined) cache.delete(oldest);
    return cached;
  };

  const noteUse = (hash: string, cached: Cached): void => {
    if (now() - cached.notedAt < NOTE_EVERY_MS) return;
    cached.notedAt = now();
    noteTokenUse(redis, keys, hash).catch((error: unknown) =>
      logger.debug({ reason: messageOf(error) }, 'the use of a token was not noted'),
    );
  };

  return {
    async judge(value) {
      const hash = hashOfToken(value);
      const known = cache.get(hash);
      const cached = known && now() - known.at < TOKEN_CACHE_MS ? known : ask(hash, known);
      let record: TokenRecord | undefined;
      try {
        record = await cached.record;
      } catch (error) {
        throw unavailable('Tokens cannot be looked up at this moment.', error);
      }
      const scope = record && parseScope(record.scope);
      if (!record || !scope) return { kind: 'unknown' };
      if (record.revokedAt !== null) return { kind: 'revoked' };
      if (record.expiresAt !== null && record.expiresAt <= Date.now()) return { kind: 'expired' };
      noteUse(hash, cached);
      return { kind: 'known', id: record.id, name: record.name, scope };
    },
  };
}

const unavailable = (message: string, cause?: unknown): AppError =>
  new AppError('unavailable', message, { cause });
