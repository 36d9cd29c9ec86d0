export interface Turn {
  /** The work has begun, and may wait for others for long: it makes room a moment later, when it has not ended by then. */
  readonly begun: () => void;
  /** Called again it does nothing. */
  readonly end: () => void;
}

export interface Turns {
  /** Resolves when it is this caller's turn. `inHand`: before all that only wait to begin. */
  readonly take: (inHand?: boolean) => Promise<Turn>;
}

/**
 * Retries that keep this process busy at the same time, each for a millisecond or two of work in some five steps. Everything
 * else that the process does waits behind that many in each of its own steps, so the number is what a flood of retries
 * costs a first attempt. It is enough to use up a core.
 */
const AT_ONCE = 8;
/** What takes longer waits for its endpoint, which is no work. So long bounds begins per second, so it is short. */
const MAKES_ROOM_AFTER_MS = 25;

/** Lets so many work at once, in the order in which they came. */
export function createTurns(atOnce = AT_ONCE, makesRoomAfterMs = MAKES_ROOM_AFTER_MS): Turns {
  let free = atOnce;
  const waiting: (() => void)[] = [];
  const inHandWaiting: (() => void)[] = [];
  const giveBack = (): void => {
    const next = inHandWaiting.shift() ?? waiting.shift();
    if (next) next();
    else free += 1;
  };
  return {
    async take(inHand = false) {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => void (inHand ? inHandWaiting : waiting).push(resolve));
      let ended = false;
      let timer: NodeJS.Timeout | undefined;
      const end = (): void => {
        if (ended) return;
        ended = true;
        clearTimeout(timer);
        giveBack();
      };
      return { begun: () => (timer ??= setTimeout(end, makesRoomAfterMs)), end };
    },
  };
}
