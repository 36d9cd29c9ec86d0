import { z } from 'zod';

/** Every pattern of every endpoint of an operator is tried for each of its events, so their number and length are bounded. */
export const TYPE_PATTERN_LIMITS = { patterns: 100, chars: 256, stars: 8 } as const;

/** One pattern over event types: exact (`order.paid`), or with `*` for any text (`order.*`, `*`). */
export const typePattern = z
  .string()
  .min(1, 'a type pattern is empty: use * for every type')
  .max(TYPE_PATTERN_LIMITS.chars, `a type pattern has at most ${TYPE_PATTERN_LIMITS.chars} characters`)
  .refine(
    (pattern) => !/[\s\p{Cc}]/u.test(pattern),
    'a type pattern holds white space or a control character',
  )
  .refine(
    (pattern) => pattern.split('*').length - 1 <= TYPE_PATTERN_LIMITS.stars,
    `a type pattern has at most ${TYPE_PATTERN_LIMITS.stars} stars`,
  );

/**
 * Does an event type match a pattern such as `order.*`? Tenants choose patterns, so it takes one pass and no regular
 * expression that could backtrack.
 */
export function typeMatches(pattern: string, type: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  if (last === undefined) return pattern === type;
  if (!type.startsWith(first)) return false;
  let from = first.length;
  for (const part of rest) {
    const at = type.indexOf(part, from);
    if (at === -1) return false;
    from = at + part.length;
  }
  return type.length - last.length >= from && type.endsWith(last);
}
