import { createHash, timingSafeEqual } from 'node:crypto';
import type { Access } from '@breakwater/contracts/admin-route';
import { TOKEN_PREFIX, type TokenScope } from '@breakwater/contracts/access-token';
import type { TokenReader } from '@breakwater/core/token-reader';
import { AppError } from '@breakwater/runtime/errors';

/** Who calls: a token, and what it may do. */
export interface Caller {
  readonly id: string;
  readonly scope: TokenScope;
  /** Names the caller in the audit log. */
  readonly actor: string;
  /** The token itself, to seal what only its bearer may read again. Never logged. */
  readonly token: string;
}

/**
 * Finds the caller that a token stands for: `adminToken` of the configuration, or one made as data.
 * Throws AppError token_invalid, unavailable.
 */
export function createAuthentication(
  adminToken: string | undefined,
  reader: TokenReader,
): (token: string) => Promise<Caller> {
  const admin = adminToken ? sha256(adminToken) : undefined;
  return async (token) => {
    if (admin && timingSafeEqual(sha256(token), admin))
      return {
        id: 'adminToken',
        scope: { role: 'admin', operator: null },
        actor: 'token:adminToken',
        token,
      };
    const verdict = token.startsWith(TOKEN_PREFIX) ? await reader.judge(token) : { kind: 'unknown' as const };
    if (verdict.kind === 'known') {
      const { id, name, scope } = verdict;
      return { id, scope, actor: `token:${id} ${name}`, token };
    }
    throw new AppError(
      'token_invalid',
      verdict.kind === 'unknown'
        ? 'This is not a token of this deployment.'
        : `This token is ${verdict.kind}. Use another one.`,
    );
  };
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

const MAY: Readonly<Record<TokenScope['role'], readonly Access[]>> = {
  admin: ['read', 'change', 'admin'],
  operator: ['read', 'change'],
  read: ['read'],
  publish: [],
};

/** Throws AppError token_scope. Asked before anything is looked up: a refusal says nothing about what exists. */
export function checkAccess({ scope }: Caller, access: Access): void {
  if (!MAY[scope.role].includes(access))
    throw new AppError('token_scope', `A token of scope ${scope.role} may not do this.`);
}

/** On whose behalf a call is. Throws AppError token_scope, in the same words for every operator but the caller's own. */
export function operatorOf({ scope }: Caller, asked: string | undefined): string {
  if (scope.operator === null) return asked ?? 'default';
  if (asked !== undefined && asked !== scope.operator)
    throw new AppError('token_scope', 'This token is of another operator than the one asked for.');
  return scope.operator;
}
