import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { codeOf } from '@breakwater/runtime/errors';
import type { BodyBudget } from './raw-body.ts';

export type Inflated =
  | { readonly kind: 'inflated'; readonly bytes: Buffer }
  | { readonly kind: 'too_large' }
  | { readonly kind: 'corrupt' }
  | { readonly kind: 'overloaded' };

const gunzipAsync = promisify(gunzip);

/**
 * What is in a gzip body, as long as that is at most `maxBytes`: a kilobyte can hold a gigabyte of zeros, so inflating
 * stops there. The whole of it is taken from the budget first; give back `maxBytes` when the bytes are done with.
 */
export async function inflate(bytes: Buffer, maxBytes: number, budget: BodyBudget): Promise<Inflated> {
  if (!budget.take(maxBytes)) return { kind: 'overloaded' };
  try {
    return { kind: 'inflated', bytes: await gunzipAsync(bytes, { maxOutputLength: maxBytes }) };
  } catch (error) {
    budget.give(maxBytes);
    return { kind: codeOf(error) === 'ERR_BUFFER_TOO_LARGE' ? 'too_large' : 'corrupt' };
  }
}
