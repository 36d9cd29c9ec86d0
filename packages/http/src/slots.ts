/** Gives the slot back. Must be called exactly once. */
export type Release = () => void;

export interface Slots {
  /** Waits, first come first served, for one of the key's slots; undefined when `timeoutMs` passed or `signal` fired first. */
  readonly take: (key: string, timeoutMs: number, signal: AbortSignal) => Promise<Release | undefined>;
}

interface Line {
  taken: number;
  readonly waiting: Set<() => void>;
}

/** Caps how many requests per key run at once. A key that nobody uses costs nothing. */
export function createSlots(perKey: number): Slots {
  const lines = new Map<string, Line>();

  const release = (key: string, line: Line): void => {
    const [next] = line.waiting;
    if (next) {
      next(); // the slot changes hands, so `taken` stays
      return;
    }
    line.taken -= 1;
    if (line.taken === 0) lines.delete(key);
  };

  const take = async (key: string, timeoutMs: number, signal: AbortSignal): Promise<Release | undefined> => {
    const line = lines.get(key) ?? { taken: 0, waiting: new Set() };
    lines.set(key, line);
    if (line.taken < perKey) {
      line.taken += 1;
      return () => release(key, line);
    }
    return waitInLine(line, timeoutMs, signal, () => release(key, line));
  };

  return { take };
}

async function waitInLine(
  line: Line,
  timeoutMs: number,
  signal: AbortSignal,
  release: Release,
): Promise<Release | undefined> {
  const turn = Promise.withResolvers<Release | undefined>();
  const leave = (result: Release | undefined): void => {
    line.waiting.delete(onTurn);
    clearTimeout(timer);
    signal.removeEventListener('abort', onAbort);
    turn.resolve(result);
  };
  const onTurn = (): void => leave(release);
  const onAbort = (): void => leave(undefined);
  const timer = setTimeout(onAbort, timeoutMs);
  line.waiting.add(onTurn);
  signal.addEventListener('abort', onAbort, { once: true });
  return turn.promise;
}
