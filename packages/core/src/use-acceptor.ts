import { AppError } from '@breakwater/runtime/errors';
import { pause } from '@breakwater/runtime/poll';
import { type Acceptor, type AcceptorOptions, createAcceptor } from './accept.ts';

/** How long Redis' settings take to be known; ingest itself would answer 503 meanwhile. */
const READY_WITHIN_MS = 5_000;

/**
 * Runs `work` with an accept step that is opened for it alone: for the rare event that comes by hand, and not by ingest.
 * Throws AppError unavailable, with the reason, where no events are taken now.
 */
export async function useAcceptor<T>(
  options: AcceptorOptions,
  work: (acceptor: Acceptor) => Promise<T>,
): Promise<T> {
  const acceptor = createAcceptor(options);
  try {
    const deadline = performance.now() + READY_WITHIN_MS;
    const isSettled = (): boolean => acceptor.capacityKnown() && acceptor.notReady().length === 0;
    while (!isSettled() && performance.now() < deadline) await pause(20);
    const [reason] = acceptor.notReady();
    if (reason !== undefined) throw new AppError('unavailable', `No events are accepted now: ${reason}.`);
    return await work(acceptor);
  } finally {
    await acceptor.close();
  }
}
