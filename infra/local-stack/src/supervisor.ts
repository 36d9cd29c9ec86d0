import { pause } from '@breakwater/runtime/poll';
import { type Child, type Exit, type Readiness, describeExit } from './processes.ts';

export interface SuperviseOptions {
  readonly name: string;
  readonly spawn: () => Child;
  /** Waits until the child can be used. */
  readonly ready: (child: Child, signal: AbortSignal) => Promise<Readiness>;
  readonly say: (line: string) => void;
}

export interface Supervised {
  readonly name: string;
  readonly child: () => Child;
  /** Waits for the first child; from then on one that dies is replaced. */
  readonly start: () => Promise<Readiness>;
  /**
   * Ends the supervision and the child: SIGTERM, then SIGKILL after `timeoutMs` or when `now` is aborted. Resolves to how
   * the child ended, undefined when it was dead already.
   */
  readonly stop: (timeoutMs: number, now: AbortSignal) => Promise<Exit | undefined>;
}

const FIRST_DELAY_MS = 250; // a single crash is repaired well within a second
const MAX_DELAY_MS = 10_000; // one that cannot run must not fill the log
const DEATH_LINES = 5; // what it printed is above already, but other processes print in between
const STABLE_MS = 30_000; // who ran so long is not in a crash loop

/**
 * Keeps one process running. Before its first readiness a death is final and reported by `start`, since it then means a
 * wrong configuration; afterwards it is repaired, after 0.25 s at first and twice as long after every further death.
 */
export function supervise(options: SuperviseOptions): Supervised {
  const { name, say } = options;
  const stopping = new AbortController();
  let child = options.spawn();
  let startedAt = Date.now();

  const announce = async (restarted: Child): Promise<void> => {
    const readiness = await options.ready(restarted, stopping.signal);
    if (readiness.kind === 'ready') say(`${name} is back (pid ${restarted.pid})`);
    if (readiness.kind === 'late')
      say(`${name} runs again (pid ${restarted.pid}) but is not ready: ${readiness.last}`);
  };
  const keepAlive = async (): Promise<void> => {
    let delayMs = FIRST_DELAY_MS;
    for (;;) {
      const exit = await child.exited;
      if (stopping.signal.aborted) return;
      if (Date.now() - startedAt > STABLE_MS) delayMs = FIRST_DELAY_MS;
      say(
        [
          `${name} died (${describeExit(exit)}); starting it again in ${delayMs / 1_000} s`,
          ...indented(child).slice(-DEATH_LINES),
        ].join('\n'),
      );
      await pause(delayMs, stopping.signal);
      if (stopping.signal.aborted) return;
      delayMs = Math.min(delayMs * 2, MAX_DELAY_MS);
      startedAt = Date.now();
      child = options.spawn();
      void announce(child);
    }
  };
  return {
    name,
    child: () => child,
    async start() {
      const readiness = await options.ready(child, stopping.signal);
      if (readiness.kind === 'ready') void keepAlive();
      return readiness;
    },
    async stop(timeoutMs, now) {
      stopping.abort();
      return child.isRunning() ? child.stop(timeoutMs, now) : undefined;
    },
  };
}

/** The child's last lines, set off from those of the stack. */
export const indented = (child: Child): readonly string[] => child.tail().map((line) => `    ${line}`);
