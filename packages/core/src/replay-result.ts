import type { Attempt, Delivery } from '@breakwater/contracts/delivery';
import { pause } from '@breakwater/runtime/poll';
import type { Redis } from '@breakwater/store/connection';
import { readDeliveries } from '@breakwater/store/deliveries';
import type { Keyspace } from '@breakwater/store/keys';
import { readOpenReplay } from './replay-check.ts';

/** A replay that was asked for, with what is needed to recognise its result. */
export interface ReplayTicket {
  readonly delivery: string;
  readonly replayId: string;
  readonly mode: 'single' | 'restart';
  /** Number of the delivery's last attempt before the replay was asked for; 0 when there was none. */
  readonly attemptsBefore: number;
}

/** `open`: not attempted yet, or interrupted and about to be repeated. */
export type ReplayResult = 'open' | 'sent' | 'failed';

export const lastAttemptNumber = (delivery: Delivery): number => delivery.attempts.at(-1)?.number ?? 0;

/** What has become of a replay. A delivery that its own schedule sent before the replay began counts as sent. */
export async function readReplayResult(
  redis: Redis,
  keys: Keyspace,
  ticket: ReplayTicket,
): Promise<ReplayResult> {
  // Asked before the record is read: a replay that has ended by now has its attempt in what is read next.
  const stillOpen =
    ticket.mode === 'single' && (await readOpenReplay(redis, keys, ticket.delivery)) === ticket.replayId;
  const [delivery] = stillOpen ? [] : await readDeliveries(redis, keys, [ticket.delivery]);
  if (stillOpen) return 'open';
  if (!delivery) return 'failed'; // its retention ended meanwhile
  const since = delivery.attempts.filter(({ number }) => number > ticket.attemptsBefore);
  return ticket.mode === 'single' ? resultOfSingle(delivery, since) : resultOfRestart(delivery, since);
}

function resultOfSingle(delivery: Delivery, since: readonly Attempt[]): ReplayResult {
  const own = since.filter(({ trigger }) => trigger === 'replay');
  // Interrupted ones are repeated under the same replay, so the first other result is the replay's.
  const last = own.find(({ outcome }) => outcome !== 'interrupted') ?? own.at(-1);
  if (!last) return delivery.status === 'sent' ? 'sent' : 'failed';
  return last.outcome === 'sent' || SUCCESS.has(last.lateResult?.class ?? '') ? 'sent' : 'failed';
}

function resultOfRestart(delivery: Delivery, since: readonly Attempt[]): ReplayResult {
  if (delivery.status === 'sent') return 'sent';
  const tried = since.some(({ outcome }) => outcome !== 'interrupted');
  return tried || delivery.status === 'dead_letter' || delivery.status === 'resolved' ? 'failed' : 'open';
}

const SUCCESS: ReadonlySet<string> = new Set(['sent', 'posted', 'already_posted']);

/** Soon enough for a person who waits; a round of a hundred replays is a hundred small reads. */
const LOOK_EVERY_MS = 300;
const PER_ROUND = 100;

export interface AwaitOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly onProgress?: (ended: number) => void;
}

/** Waits until every replay has its result, the time is over or the signal is aborted. Resolves to the result per delivery. */
export async function awaitReplays(
  { redis, keys }: { readonly redis: Redis; readonly keys: Keyspace },
  tickets: readonly ReplayTicket[],
  { timeoutMs, signal, onProgress }: AwaitOptions,
): Promise<ReadonlyMap<string, ReplayResult>> {
  const deadline = performance.now() + timeoutMs;
  const results = new Map<string, ReplayResult>(tickets.map(({ delivery }) => [delivery, 'open']));
  let open = [...tickets];
  while (open.length > 0 && !signal.aborted) {
    // The oldest first, since they end first; those that stay open go to the back, so that none hides the others.
    const round = open.splice(0, PER_ROUND);
    for (const ticket of round) {
      const result = await readReplayResult(redis, keys, ticket);
      results.set(ticket.delivery, result);
      if (result === 'open') open.push(ticket);
    }
    onProgress?.(tickets.length - open.length);
    if (open.length === 0 || performance.now() > deadline) break;
    await pause(LOOK_EVERY_MS, signal);
  }
  return results;
}
