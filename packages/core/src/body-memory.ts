import { getHeapStatistics } from 'node:v8';
import { createMemoryBudget, type MemoryBudget, type Release } from './memory-budget.ts';

export interface BodyMemory {
  /** Waits until an event's body of so many bytes may be read; undefined when that took too long, or `signal` fired. */
  readonly take: (bodyBytes: number, signal: AbortSignal) => Promise<Release | undefined>;
}

/** Redis' answer, its bytes, what is made of them, and what the connection has not written yet. */
const COPIES = 4;
/** The default of what a source takes. Larger ones have a budget of their own, so that no others wait for them. */
const ORDINARY_BYTES = 1_048_576;
const SHARE_FOR_ORDINARY = 0.2;
const SHARE_FOR_LARGE = 0.3;
/** A process makes 500 attempts at once: bodies below this part of a budget are never too much, and wait for nothing. */
const UNCOUNTED = 1_000;
/** Taken from the margin of the lease (10 s), twice at most (held-event.ts); posting to an ERP has another use for the rest. */
const WAIT_MS = 3_000;

/**
 * Bounds the bodies that attempts hold at once. Without it the memory of a process would be for its endpoints to choose:
 * five hundred attempts may be in hand, a body may have 25 MiB, and an endpoint that hangs holds on to it for half a minute.
 * `heapBytes`: what the heap may grow to; this process' own limit by default, which follows that of its container.
 */
export function createBodyMemory(heapBytes: number = getHeapStatistics().heap_size_limit): BodyMemory {
  const ordinary = lane(heapBytes * SHARE_FOR_ORDINARY);
  const large = lane(heapBytes * SHARE_FOR_LARGE);
  return {
    async take(bodyBytes, signal) {
      const bytes = bodyBytes * COPIES;
      if (bytes < ordinary.uncountedBytes) return () => undefined;
      const { budget } = bodyBytes > ORDINARY_BYTES ? large : ordinary;
      return budget.take(bytes, WAIT_MS, signal);
    },
  };
}

const lane = (bytes: number): { readonly budget: MemoryBudget; readonly uncountedBytes: number } => ({
  budget: createMemoryBudget(bytes),
  uncountedBytes: bytes / UNCOUNTED,
});
