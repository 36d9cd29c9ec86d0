import type { IncomingMessage } from 'node:http';
import { hashId, newId } from '@breakwater/contracts/ids';
import { AppError } from '@breakwater/runtime/errors';
import type { Redis } from '@breakwater/store/connection';
import { answerIdempotency, claimIdempotency, releaseIdempotency } from '@breakwater/store/idempotency';
import type { Keyspace } from '@breakwater/store/keys';
import { z } from 'zod';
import { boxOf } from './box-of.ts';
import type { ApiReply } from './reply.ts';

/** One call as it counts for its key: the same key with anything else is a mistake of the caller. */
export interface IdempotentCall {
  readonly key: string;
  /** Whose key it is: keys of two tokens, operators or routes never meet. */
  readonly of: readonly string[];
  readonly request: unknown;
  /** The caller's token. */
  readonly token: string;
}

const Kept = z.object({ status: z.int(), answer: z.unknown(), version: z.int().optional() });
const KEY = /^[\u0021-\u007e]{1,255}$/;

/** The key of a request. Throws AppError request_invalid. */
export function idempotencyKeyOf(request: IncomingMessage): string | undefined {
  const lines = request.headersDistinct['idempotency-key'];
  if (lines === undefined) return undefined;
  const [key = ''] = lines;
  if (lines.length === 1 && KEY.test(key)) return key;
  throw new AppError('request_invalid', 'Idempotency-Key is 1 to 255 visible ASCII characters, once.');
}

/**
 * Runs a creating call once for its key: whoever repeats it gets the first answer again. A call that was refused gives its
 * key back. One that did not end (its process died, Redis went away in the middle) keeps it: whether the thing was made
 * is not known, and it must not be made twice.
 *
 * Answers hold secrets that are shown once, so they are sealed with a key that only the caller's token gives.
 * Throws AppError idempotency_key_reused, idempotency_open, and what `run` throws.
 */
export async function once(
  { redis, keys }: { readonly redis: Redis; readonly keys: Keyspace },
  call: IdempotentCall,
  run: () => Promise<ApiReply>,
): Promise<ApiReply> {
  const hash = hashId('idempotency', ...call.of, call.key);
  const request = hashId(JSON.stringify(call.request));
  const claim = { claim: newId(), request };
  const box = boxOf(call.token, 'idempotency');
  const before = await claimIdempotency(redis, keys, hash, claim);
  if (before) {
    if (before.request !== request)
      throw new AppError('idempotency_key_reused', 'This Idempotency-Key was used for another request.');
    if (before.answer === undefined)
      throw new AppError('idempotency_open', 'The first request with this Idempotency-Key has not ended.');
    return { ...Kept.parse(JSON.parse(box.open(before.answer, hash))), replayed: true };
  }
  let reply: ApiReply;
  try {
    reply = await run();
  } catch (error) {
    if (error instanceof AppError && error.status < 500) await releaseIdempotency(redis, keys, hash);
    throw error;
  }
  const answer = box.seal(JSON.stringify(reply), hash);
  await answerIdempotency(redis, keys, hash, { ...claim, answer });
  return reply;
}
