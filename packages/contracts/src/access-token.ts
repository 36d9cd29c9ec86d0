import { z } from 'zod';
import { operatorName } from './operator.ts';

/** Begins every token that is made as data: secret scanners find it in a repository, people in a log. */
export const TOKEN_PREFIX = 'bwt_';

/**
 * What a token may do. One token has one scope, so that a leaked one is worth as little as possible:
 *
 * - `admin`: everything, of every operator, and tokens themselves.
 * - `operator:<id>`: reads and changes what is this operator's. It does not publish.
 * - `read`: reads everything of every operator, and changes nothing. `read:<id>`: of one operator.
 * - `publish:<id>`: publishes events as this operator, and nothing else; `publish` is `publish:default`.
 */
export interface TokenScope {
  readonly role: 'admin' | 'operator' | 'read' | 'publish';
  /** Null: of every operator. */
  readonly operator: string | null;
}

const SCOPE = /^(admin|operator|read|publish)(?::(.*))?$/;

/** Reads a scope as people write it; undefined when it is none. */
export function parseScope(text: string): TokenScope | undefined {
  const [, role, operator] = SCOPE.exec(text) ?? [];
  if (operator !== undefined && !operatorName.safeParse(operator).success) return undefined;
  switch (role) {
    case 'admin':
      return operator === undefined ? { role, operator: null } : undefined;
    case 'operator':
      return operator === undefined ? undefined : { role, operator };
    case 'read':
      return { role, operator: operator ?? null };
    case 'publish':
      return { role, operator: operator ?? 'default' };
    case undefined:
    default:
      return undefined;
  }
}

/** The one way in which a scope is written. */
export const formatScope = ({ role, operator }: TokenScope): string =>
  operator === null ? role : `${role}:${operator}`;

/** In the form of `formatScope`. A text on both sides, so that it can be described as JSON Schema. */
export const scopeText = z
  .string()
  .refine(
    (text) => parseScope(text) !== undefined,
    'expected admin, operator:<id>, read, read:<id>, publish or publish:<id>',
  )
  .describe('admin, operator:<id>, read (of every operator), read:<id>, publish (of default), publish:<id>');

/** By default somebody looks at a token four times a year; one that never ends has to be asked for. */
export const TOKEN_TTL = { defaultMs: 90 * 86_400_000, minMs: 1_000, maxMs: 10 * 365 * 86_400_000 } as const;

export const NewToken = z
  .strictObject({
    name: z.string().trim().min(1).max(100).describe('Who or what uses it; shown in the audit log.'),
    scope: scopeText,
    expiresInMs: z
      .int()
      .min(TOKEN_TTL.minMs)
      .max(TOKEN_TTL.maxMs)
      .nullable()
      .default(TOKEN_TTL.defaultMs)
      .describe('Null: it never expires. 90 days when left out.'),
  })
  .meta({ id: 'NewToken' });
export type NewToken = z.input<typeof NewToken>;

/** A token as it is shown: never its value, nor the hash of it. */
export const AccessToken = z
  .object({
    id: z.string(),
    name: z.string(),
    scope: z.string(),
    state: z.enum(['active', 'expired', 'revoked']),
    createdAt: z.int(),
    createdBy: z.string(),
    expiresAt: z.int().nullable(),
    revokedAt: z.int().nullable(),
    lastUsedAt: z.int().nullable().describe('To the minute.'),
  })
  .meta({ id: 'Token' });
export type AccessToken = z.infer<typeof AccessToken>;
