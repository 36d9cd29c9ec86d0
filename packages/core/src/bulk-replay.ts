import type { AlarmClocks } from '@breakwater/queue/alarms';
import { AppError } from '@breakwater/runtime/errors';
import { pause } from '@breakwater/runtime/poll';
import type { Redis } from '@breakwater/store/connection';
import { readDelivery } from '@breakwater/store/deliveries';
import type { Keyspace } from '@breakwater/store/keys';
import type { Transitions } from '@breakwater/store/transitions';
import { noDelivery, notADeadLetter } from './dead-letters.ts';
import { lastAttemptNumber, type ReplayTicket } from './replay-result.ts';
import { requestReplay } from './replay.ts';

export interface BulkReplayDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly transitions: Transitions;
  readonly clocks: AlarmClocks;
}

export interface BulkReplayInput {
  readonly operator: string;
  readonly mode: 'single' | 'restart';
  readonly reason: string;
  readonly actor: string;
  /** Replays asked for per second: the receiver was ill a moment ago, and fresh events come first. */
  readonly perSecond: number;
  readonly signal: AbortSignal;
  readonly onProgress?: (done: number) => void;
}

export interface BulkReplayResult {
  readonly tickets: readonly ReplayTicket[];
  /** Those that could not be replayed, each with its reason. */
  readonly refused: readonly { readonly delivery: string; readonly error: AppError }[];
  /** The signal was aborted before all were asked for. */
  readonly stopped: boolean;
}

/**
 * Replays dead letters one after the other, at a steady rate. A refusal is noted and the others go on. Stopping it and
 * running it again is safe: what was delivered meanwhile is no dead letter any more, and an open replay is refused.
 */
export async function replayDeadLetters(
  deps: BulkReplayDeps,
  ids: readonly string[],
  input: BulkReplayInput,
): Promise<BulkReplayResult> {
  const tickets: ReplayTicket[] = [];
  const refused: { delivery: string; error: AppError }[] = [];
  const begun = performance.now();
  let done = 0;
  for (const delivery of ids) {
    // Counted from the beginning, so that the time a request takes is not added to every wait.
    const early = begun + (done * 1_000) / input.perSecond - performance.now();
    if (early > 0) await pause(early, input.signal);
    if (input.signal.aborted) return { tickets, refused, stopped: true };
    try {
      tickets.push(await replayOne(deps, delivery, input));
    } catch (error) {
      if (!(error instanceof AppError) || error.status >= 500) throw error;
      refused.push({ delivery, error });
    }
    done += 1;
    input.onProgress?.(done);
  }
  return { tickets, refused, stopped: false };
}

async function replayOne(deps: BulkReplayDeps, id: string, input: BulkReplayInput): Promise<ReplayTicket> {
  const { operator, mode, reason, actor } = input;
  const delivery = await readDelivery(deps.redis, deps.keys, operator, id);
  if (!delivery) throw noDelivery(operator, id);
  if (delivery.status !== 'dead_letter') throw notADeadLetter(delivery);
  const replayId = await requestReplay(deps.transitions, deps.clocks, {
    delivery: id,
    operator,
    mode,
    acknowledged: false,
    reason,
    actor,
  });
  return { delivery: id, replayId, mode, attemptsBefore: lastAttemptNumber(delivery) };
}
