import { inspect } from 'node:util';
import { pause } from '@breakwater/runtime/poll';

export interface WaitOptions {
  /** What is waited for, as the end of "waited 5000 ms for ...". */
  readonly what: string;
  /** Default 10 s: generous, since only a failing test ever waits so long. */
  readonly timeoutMs?: number;
  readonly intervalMs?: number;
}

type Falsy = false | undefined | null | 0 | '';

/**
 * Asks `condition` again and again until it gives something truthy, which is returned. An error of the condition counts
 * as "not yet". At the deadline it throws, with the last value or error, since that is what says why.
 */
export async function waitUntil<T>(
  condition: () => T | Promise<T>,
  { what, timeoutMs = 10_000, intervalMs = 20 }: WaitOptions,
): Promise<Exclude<Awaited<T>, Falsy>> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    let last: { readonly value: Awaited<T> } | { readonly error: unknown };
    try {
      last = { value: await condition() };
      if (last.value) return last.value as Exclude<Awaited<T>, Falsy>;
    } catch (error) {
      last = { error };
    }
    if (performance.now() > deadline) throw failure(what, timeoutMs, last);
    await pause(intervalMs);
  }
}

function failure(
  what: string,
  timeoutMs: number,
  last: { readonly value: unknown } | { readonly error: unknown },
): Error {
  const message = `waited ${timeoutMs} ms for ${what}`;
  if ('error' in last)
    return new Error(`${message}; the last try failed: ${String(last.error)}`, { cause: last.error });
  return new Error(`${message}; the last answer was ${inspect(last.value)}`);
}
