import { setTimeout as sleep } from 'node:timers/promises';

/** Waits, and ends early without throwing when the signal is aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  await sleep(ms, undefined, signal ? { signal } : {}).catch((error: unknown) => {
    if (signal?.aborted !== true) throw error;
  });
}

/**
 * Runs `step` again and again, `intervalMs` after the previous run ended, until `stop` is called. A failing step is
 * reported and the loop goes on: a loop that dies on one error is how retries get lost.
 * Returns `stop`, which waits for the step in progress.
 */
export function startLoop(
  intervalMs: number,
  step: (signal: AbortSignal) => Promise<void>,
  onError: (error: unknown) => void,
): () => Promise<void> {
  const stopping = new AbortController();
  const running = (async () => {
    while (!stopping.signal.aborted) {
      try {
        await step(stopping.signal);
      } catch (error) {
        onError(error);
      }
      await pause(intervalMs, stopping.signal);
    }
  })();
  return async () => {
    stopping.abort();
    await running;
  };
}
