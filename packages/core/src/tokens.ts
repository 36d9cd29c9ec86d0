import { createHash, randomBytes } from 'node:crypto';
import {
  type AccessToken,
  formatScope,
  NewToken,
  parseScope,
  TOKEN_PREFIX,
} from '@breakwater/contracts/access-token';
import { newId } from '@breakwater/contracts/ids';
import { AppError } from '@breakwater/runtime/errors';
import type { Redis } from '@breakwater/store/connection';
import type { Keyspace } from '@breakwater/store/keys';
import {
  findTokenHash,
  listTokenRecords,
  readToken,
  revokeTokenRecord,
  type TokenRecord,
  writeToken,
} from '@breakwater/store/tokens';
import { z } from 'zod';

export interface TokenDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
}

/** 256 bits: no salt and no slow hash are needed where nothing can be guessed. */
const VALUE_BYTES = 32;

/** What a token's value is stored and looked up as. */
export const hashOfToken = (value: string): string => createHash('sha256').update(value).digest('hex');

/** A token as it is shown. */
export function viewOfToken(record: TokenRecord, now = Date.now()): AccessToken {
  const expired = record.expiresAt !== null && record.expiresAt <= now;
  return { ...record, state: record.revokedAt !== null ? 'revoked' : expired ? 'expired' : 'active' };
}

/**
 * Makes a token, audited. Resolves to it and to its value, which is stored nowhere and shown this once; with `dryRun`
 * nothing is stored. Throws AppError request_invalid.
 */
export async function createToken(
  { redis, keys }: TokenDeps,
  wanted: NewToken,
  actor: string,
  options: { readonly dryRun?: boolean } = {},
): Promise<{ readonly token: AccessToken; readonly value: string }> {
  const parsed = NewToken.safeParse(wanted);
  if (!parsed.success)
    throw new AppError('request_invalid', `The token is not valid:\n${z.prettifyError(parsed.error)}`);
  const { name, expiresInMs } = parsed.data;
  const scope = scopeOf(parsed.data.scope);
  const createdAt = Date.now();
  const record: TokenRecord = {
    id: `tok_${newId()}`,
    name,
    scope: formatScope(scope),
    createdAt,
    createdBy: actor,
    expiresAt: expiresInMs === null ? null : createdAt + expiresInMs,
    revokedAt: null,
    lastUsedAt: null,
  };
  const value = `${TOKEN_PREFIX}${randomBytes(VALUE_BYTES).toString('base64url')}`;
  if (!options.dryRun) {
    const { revokedAt: _revokedAt, lastUsedAt: _lastUsedAt, ...fields } = record;
    const { id, expiresAt } = record;
    await writeToken(redis, keys, hashOfToken(value), fields, {
      action: 'token.create',
      operator: scope.operator ?? '',
      actor,
      token: id,
      after: JSON.stringify({ name, scope: record.scope, expiresAt }),
    });
  }
  return { token: viewOfToken(record, createdAt), value };
}

/** Every token, oldest first; without values. */
export async function listTokens({ redis, keys }: TokenDeps): Promise<AccessToken[]> {
  const now = Date.now();
  return (await listTokenRecords(redis, keys)).map((record) => viewOfToken(record, now));
}

/**
 * Revokes a token, audited. It counts nowhere once the processes that know it have asked again (TOKEN_CACHE_MS).
 * Resolves to false where it was revoked before. Throws AppError not_found.
 */
export async function revokeToken(
  { redis, keys }: TokenDeps,
  { id, reason, actor }: { readonly id: string; readonly reason: string; readonly actor: string },
  options: { readonly dryRun?: boolean } = {},
): Promise<{ readonly token: AccessToken; readonly changed: boolean }> {
  const hash = await findTokenHash(redis, keys, id);
  const before = hash === undefined ? undefined : await readToken(redis, keys, hash);
  if (hash === undefined || before === undefined) throw noToken(id);
  if (options.dryRun) return { token: viewOfToken(before), changed: before.revokedAt === null };
  const answer = await revokeTokenRecord(
    redis,
    keys,
    { id, hash },
    {
      action: 'token.revoke',
      operator: scopeOf(before.scope).operator ?? '',
      actor,
      token: id,
      reason,
    },
  );
  const after = await readToken(redis, keys, hash);
  if (answer === 'not_found' || after === undefined) throw noToken(id);
  return { token: viewOfToken(after), changed: answer === 'ok' };
}

const noToken = (id: string): AppError =>
  new AppError('not_found', `There is no token ${id}.`, { remedy: 'See tokens list.' });

function scopeOf(text: string) {
  const scope = parseScope(text);
  if (!scope) throw new AppError('internal', `a token has the unknown scope ${text}`);
  return scope;
}
