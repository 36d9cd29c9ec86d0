import { z } from 'zod';
import { operatorName } from './operator.ts';

const PublishToken = z.strictObject({
  /** Names the token where people look; never the token itself. */
  id: z.string().regex(/^[A-Za-z0-9_-]{1,32}$/, 'expected letters, digits, _ or -'),
  value: z.string().regex(/^\S+$/, 'expected a token without blanks that is not empty'),
  /** Whose events are published with it. */
  operator: operatorName.default('default'),
});
export type PublishToken = z.infer<typeof PublishToken>;

/** Tokens that are compared per request, all of them. */
const MAX_TOKENS = 100;

/** Any may be used, so that an application's token can be changed while both the old and the new one count. */
export const PublishTokens = z
  .array(PublishToken)
  .max(MAX_TOKENS)
  .default([])
  .superRefine((tokens, context) => {
    const seen = { id: new Map<string, number>(), value: new Map<string, number>() };
    for (const [index, token] of tokens.entries()) {
      for (const key of ['id', 'value'] as const) {
        const first = seen[key].get(token[key]);
        if (first === undefined) seen[key].set(token[key], index);
        else
          context.addIssue({
            code: 'custom',
            path: [index, key],
            message: `it is the ${key} of publishTokens[${first}] too: whose events would they be?`, // never the value
          });
      }
    }
  });

/** Every token that may publish: `publishToken` is one of the operator `default`. */
export function publishTokensOf(config: {
  readonly publishToken?: string | undefined;
  readonly publishTokens: readonly PublishToken[];
}): readonly PublishToken[] {
  const { publishToken: value, publishTokens } = config;
  if (value === undefined || value === '') return publishTokens;
  return [{ id: 'publishToken', value, operator: 'default' }, ...publishTokens];
}
