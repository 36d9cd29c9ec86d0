import type { AlarmClocks } from '@breakwater/queue/alarms';
import { messageOf } from '@breakwater/runtime/errors';
import type { Logger } from '@breakwater/runtime/logger';
import type { Transitions } from '@breakwater/store/transitions';

export interface GateWatch {
  /** Looks at the gates that are due then, if that is earlier than planned. */
  readonly wakeIn: (ms: number) => void;
  readonly stop: () => Promise<void>;
}

/** Bounds how late a waiter is whose rate let it through, when the process that parked it died. An idle look is one script. */
const EVERY_MS = 1_000;
/** A fast rate is served in handfuls: fifty looks a second at most. */
const AT_LEAST_MS = 20;
/** Gates per script, so that many at once do not block Redis. */
const LIMIT = 100;

/**
 * Looks at gates with waiters when they are due: rates that let one through again, breakers whose time has come, pauses,
 * waiters whose releasers died. Runs in every replica; two at once do no harm.
 */
export function startGateWatch(
  deps: {
    readonly transitions: Transitions;
    readonly clocks: AlarmClocks;
    readonly logger: Logger;
  },
  everyMs = EVERY_MS,
): GateWatch {
  let timer: NodeJS.Timeout | undefined;
  let dueAt = Number.POSITIVE_INFINITY;
  let stopped = false;
  let looking = Promise.resolve();

  const look = async (): Promise<void> => {
    let nextMs = everyMs;
    try {
      const { alarms, nextInMs = everyMs } = await deps.transitions.sweepGates(LIMIT);
      nextMs = Math.min(nextInMs, everyMs);
      await deps.clocks.set(alarms);
    } catch (error) {
      deps.logger.warn({ reason: messageOf(error) }, 'the gates could not be looked at');
    }
    wakeIn(nextMs);
  };
  const wakeIn = (ms: number): void => {
    const now = performance.now();
    const at = now + Math.max(ms, AT_LEAST_MS);
    if (stopped || at >= dueAt) return;
    clearTimeout(timer);
    dueAt = at;
    timer = setTimeout(() => {
      dueAt = Number.POSITIVE_INFINITY;
      looking = looking.then(look);
    }, at - now);
  };

  wakeIn(0);
  return {
    wakeIn,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await looking;
    },
  };
}
