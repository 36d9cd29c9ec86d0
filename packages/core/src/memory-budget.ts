/** Gives the bytes back. Must be called exactly once. */
export type Release = () => void;

export interface MemoryBudget {
  /**
   * Waits, first come first served, until so many bytes are free; undefined when `waitMs` passed or `signal` fired first.
   * What needs more than there is gets all of it, and so goes alone.
   */
  readonly take: (bytes: number, waitMs: number, signal: AbortSignal) => Promise<Release | undefined>;
}

interface Waiter {
  readonly bytes: number;
  readonly start: () => void;
}

/** Bounds what is held in memory at once, by estimates. */
export function createMemoryBudget(totalBytes: number): MemoryBudget {
  let free = totalBytes;
  const line = new Set<Waiter>();

  const startWaiters = (): void => {
    for (const waiter of line) {
      if (waiter.bytes > free) return; // nobody overtakes: a large one would wait for ever
      line.delete(waiter);
      free -= waiter.bytes;
      waiter.start();
    }
  };
  const releaseOf = (bytes: number) => (): void => {
    free += bytes;
    startWaiters();
  };

  return {
    async take(wanted, waitMs, signal) {
      const bytes = Math.min(wanted, totalBytes);
      if (signal.aborted) return undefined;
      if (line.size === 0 && bytes <= free) {
        free -= bytes;
        return releaseOf(bytes);
      }
      const turn = Promise.withResolvers<Release | undefined>();
      const waiter: Waiter = { bytes, start: () => turn.resolve(releaseOf(bytes)) };
      const giveUp = (): void => {
        if (!line.delete(waiter)) return; // its turn had come
        turn.resolve(undefined);
        startWaiters(); // those behind may be smaller
      };
      line.add(waiter);
      const timer = setTimeout(giveUp, waitMs);
      signal.addEventListener('abort', giveUp, { once: true });
      try {
        return await turn.promise;
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', giveUp);
      }
    },
  };
}
