import { AppError } from '@breakwater/runtime/errors';

export interface Rate {
  readonly perSecond: number;
  /** At once, after a pause. */
  readonly burst: number;
}

/** Buckets that are kept; the ones that were full longest go first. */
const BUCKETS_MAX = 10_000;

/**
 * A token bucket for each name, in this process: with N replicas a caller gets N times as much at most. `whose`: what a name
 * stands for, as the refusal says it.
 * `take` throws AppError rate_limited, with the wait in `details.retryAfterS`.
 */
export function createRateLimit(
  { perSecond, burst }: Rate,
  whose: string,
  now: () => number = () => performance.now(),
): { readonly take: (name: string) => void } {
  const buckets = new Map<string, { left: number; at: number }>();
  return {
    take(name) {
      const at = now();
      const before = buckets.get(name) ?? { left: burst, at };
      const left = Math.min(burst, before.left + ((at - before.at) / 1_000) * perSecond);
      buckets.delete(name);
      buckets.set(name, { left: left >= 1 ? left - 1 : left, at });
      const oldest = buckets.keys().next().value;
      if (buckets.size > BUCKETS_MAX && oldest !== undefined) buckets.delete(oldest);
      if (left >= 1) return;
      throw new AppError('rate_limited', `More than ${perSecond} requests a second ${whose}.`, {
        details: { retryAfterS: Math.max(1, Math.ceil((1 - left) / perSecond)) },
      });
    },
  };
}
