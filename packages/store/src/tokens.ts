import type { Redis } from 'ioredis';
import { auditEntry } from './audit.ts';
import type { Keyspace } from './keys.ts';
import { loadScript } from './script.ts';

/** A token as it is stored: under the hash of its value, which is nowhere. */
export interface TokenRecord {
  readonly id: string;
  readonly name: string;
  /** See contracts/access-token.ts. */
  readonly scope: string;
  readonly createdAt: number;
  readonly createdBy: string;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  readonly lastUsedAt: number | null;
}

const scripts = {
  revoke: loadScript('revoke-token', { prelude: false }),
  noteUse: loadScript('note-token-use', { prelude: false }),
};

/** So long people can see what became of a token that has ended. */
const KEPT_MS = 90 * 86_400_000;
/** A busy token is used thousands of times a second; when it was used last is for people. */
const NOTE_EVERY_MS = 60_000;

/** Stores a token under the hash of its value, with its audit entry. */
export async function writeToken(
  redis: Redis,
  keys: Keyspace,
  hash: string,
  token: Pick<TokenRecord, 'id' | 'name' | 'scope' | 'createdAt' | 'createdBy' | 'expiresAt'>,
  audit: Readonly<Record<string, string>>,
): Promise<void> {
  const key = keys.token(hash);
  const { expiresAt, ...fields } = token;
  const write = redis
    .multi()
    .hset(key, { ...fields, ...(expiresAt !== null && { expiresAt }) })
    .hset(keys.tokens, token.id, hash)
    .xadd(...auditEntry(keys.audit, audit));
  if (expiresAt !== null) write.pexpireat(key, expiresAt + KEPT_MS);
  for (const [error] of (await write.exec()) ?? []) if (error) throw error;
}

/** The token whose value has this hash; undefined where there is none. */
export async function readToken(
  redis: Redis,
  keys: Keyspace,
  hash: string,
): Promise<TokenRecord | undefined> {
  return toToken(await redis.hgetall(keys.token(hash)));
}

/** The hash that a token of this id is stored under. */
export async function findTokenHash(redis: Redis, keys: Keyspace, id: string): Promise<string | undefined> {
  return (await redis.hget(keys.tokens, id)) ?? undefined;
}

/** Every token, oldest first. Those whose record has left are forgotten here. */
export async function listTokenRecords(redis: Redis, keys: Keyspace): Promise<TokenRecord[]> {
  const hashes = Object.entries(await redis.hgetall(keys.tokens));
  const records = await Promise.all(hashes.map(([, hash]) => readToken(redis, keys, hash)));
  const gone = hashes.filter((_, index) => records[index] === undefined).map(([id]) => id);
  if (gone.length > 0) await redis.hdel(keys.tokens, ...gone);
  return records
    .filter((record) => record !== undefined)
    .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
}

/** Revokes a token, audited. `already`: it had been revoked. */
export async function revokeTokenRecord(
  redis: Redis,
  keys: Keyspace,
  { id, hash }: { readonly id: string; readonly hash: string },
  audit: Readonly<Record<string, string>>,
): Promise<'ok' | 'already' | 'not_found'> {
  const [answer] = await scripts.revoke.run(
    redis,
    [keys.token(hash), keys.audit],
    [id, KEPT_MS, ...Object.entries(audit).flat()],
  );
  return answer as 'ok' | 'already' | 'not_found';
}

/** Notes that a token was used, to the minute. */
export async function noteTokenUse(redis: Redis, keys: Keyspace, hash: string): Promise<void> {
  await scripts.noteUse.run(redis, [keys.token(hash)], [NOTE_EVERY_MS]);
}

const instant = (text: string | undefined): number | null => (text === undefined ? null : Number(text));

function toToken(fields: Readonly<Record<string, string>>): TokenRecord | undefined {
  if (fields['id'] === undefined) return undefined;
  return {
    id: fields['id'],
    name: fields['name'] ?? '',
    scope: fields['scope'] ?? '',
    createdAt: Number(fields['createdAt']),
    createdBy: fields['createdBy'] ?? '',
    expiresAt: instant(fields['expiresAt']),
    revokedAt: instant(fields['revokedAt']),
    lastUsedAt: instant(fields['lastUsedAt']),
  };
}
