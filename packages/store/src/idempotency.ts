import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { Keyspace } from './keys.ts';

/** A key is remembered so long: longer than any client repeats a call. */
const KEPT_S = 86_400;

const Claim = z.object({
  /** Whose claim it is: a command that was sent twice must know its own. */
  claim: z.string(),
  /** Hash of what was asked for. */
  request: z.string(),
  /** The answer, sealed; missing while the call has not ended. */
  answer: z.string().optional(),
});
export type IdempotencyClaim = z.infer<typeof Claim>;

/** Claims a key. Resolves to undefined when it is ours now, else to the claim that was there. */
export async function claimIdempotency(
  redis: Redis,
  keys: Keyspace,
  hash: string,
  claim: IdempotencyClaim,
): Promise<IdempotencyClaim | undefined> {
  const stored = await redis.set(keys.idempotency(hash), JSON.stringify(claim), 'EX', KEPT_S, 'NX', 'GET');
  if (stored === null) return undefined;
  const before = Claim.parse(JSON.parse(stored));
  return before.claim === claim.claim ? undefined : before;
}

/** Keeps the answer of a call for whoever repeats it. */
export async function answerIdempotency(
  redis: Redis,
  keys: Keyspace,
  hash: string,
  claim: Required<IdempotencyClaim>,
): Promise<void> {
  await redis.set(keys.idempotency(hash), JSON.stringify(claim), 'EX', KEPT_S, 'XX');
}

/** Gives a key back: the call was refused and made nothing. */
export async function releaseIdempotency(redis: Redis, keys: Keyspace, hash: string): Promise<void> {
  await redis.del(keys.idempotency(hash));
}
