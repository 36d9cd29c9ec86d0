import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import { loadScript } from './script.ts';

const script = loadScript('claim-replay-guard', { prelude: false });

/** Longer than any accept that is still under way: its commands are given up after 2 s and resent within a few. */
const CLAIM_MS = 30_000;

/**
 * May signed bytes whose event id is not signed go on to accept? `replayed`: they did under another id, whose event
 * exists. `busy`: another id claimed them just now and its event does not exist yet; the sender must come again. A
 * command that was sent twice finds its own claim.
 */
export async function claimReplayGuard(
  redis: Redis,
  keys: Keyspace,
  hash: string,
  eventKey: string,
  ttlMs: number,
): Promise<'ours' | 'replayed' | 'busy'> {
  const [answer] = await script.run(
    redis,
    [keys.replayGuard(hash)],
    [eventKey, ttlMs, CLAIM_MS, keys.dedupe(''), keys.event('')],
  );
  return answer === 'replayed' || answer === 'busy' ? answer : 'ours';
}
