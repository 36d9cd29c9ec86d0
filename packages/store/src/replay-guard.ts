import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import { loadScript } from './script.ts';

const script = loadScript('claim-replay-guard', { prelude: false });

/** Longer than any accept that is still under way: its commands are given up after 2 s and resent within a few. */
const CLAIM_MS = 30_000;

export type ReplayGuard =
  | { readonly kind: 'ours' | 'busy' }
  /** `eventId`: of the event that these bytes were; undefined where an older version of this code claimed them. */
  | { readonly kind: 'replayed'; readonly eventId: string | undefined };

/**
 * May signed bytes whose event id is not signed go on to accept? `replayed`: they did under another id, whose event
 * exists. `busy`: another id claimed them just now and its event does not exist yet; the sender must come again. A
 * command that was sent twice finds its own claim.
 */
export async function claimReplayGuard(
  redis: Redis,
  keys: Keyspace,
  hash: string,
  event: { readonly key: string; readonly id: string },
  ttlMs: number,
): Promise<ReplayGuard> {
  const [answer, first] = await script.run(
    redis,
    [keys.replayGuard(hash)],
    [event.key, ttlMs, CLAIM_MS, keys.dedupe(''), keys.event(''), event.id],
  );
  if (answer === 'replayed')
    return { kind: answer, eventId: typeof first === 'string' && first !== '' ? first : undefined };
  return { kind: answer === 'busy' ? answer : 'ours' };
}
