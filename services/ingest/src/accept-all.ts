import { RESERVED_SOURCE } from '@breakwater/contracts/reserved';
import type { AcceptResult, Acceptor } from '@breakwater/core/accept';
import type { Draft, EventDraft, Refusal } from './published.ts';

/** What became of one event of a request. `eventId` is null where it has none. */
export interface Settled {
  readonly eventId: string | null;
  readonly result: AcceptResult | Refusal;
}

/** Enough to share Redis' fsyncs; so few that webhooks, which use the same connection, get their turn in between. */
const AT_ONCE = 32;
/** With one accept on top (1.8 s) still within the grace that a stopping ingest gives its requests (5 s). */
const WITHIN_MS = 3_000;

/**
 * Accepts the events of a request, several at once, the first of equal ids first. The moment one is unavailable no further
 * one is begun: they would wait for the same Redis, and the publisher for all of them. The results are in the order of
 * the events. What `accept` throws is a fault of ours: `onFault` gets it, and the event counts as unavailable.
 */
export async function acceptAll(
  drafts: readonly Draft[],
  accept: Acceptor['accept'],
  { operator, receivedAt }: { readonly operator: string; readonly receivedAt: number },
  onFault: (error: unknown) => void,
): Promise<Settled[]> {
  const results = drafts.map<Settled['result']>((draft) => (draft.kind === 'refused' ? draft : NOT_TRIED));
  const deadline = performance.now() + WITHIN_MS;
  const earlier = new Map<string, Promise<unknown>>();
  let halted = false;
  let next = 0;
  const acceptOne = async (
    { eventId, type, data, occurredAt }: EventDraft,
    before: Promise<unknown> | undefined,
  ): Promise<AcceptResult> => {
    await before;
    if (halted || performance.now() > deadline) return NOT_TRIED;
    const result = await accept({
      operator,
      source: RESERVED_SOURCE,
      eventId,
      type,
      entity: '',
      contentType: 'application/json',
      bytes: data,
      receivedAt,
      ...(occurredAt !== undefined && { occurredAt }),
    }).catch((error: unknown) => {
      onFault(error);
      return STORE_FAILED;
    });
    halted ||= result.kind === 'unavailable';
    return result;
  };
  const work = async (): Promise<void> => {
    for (let index = next++; index < drafts.length; index = next++) {
      const draft = drafts[index];
      if (draft?.kind !== 'event') continue;
      const result = acceptOne(draft, earlier.get(draft.eventId));
      earlier.set(draft.eventId, result);
      results[index] = await result;
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, drafts.length) }, work));
  return drafts.map(({ eventId }, index) => ({ eventId, result: results[index] ?? NOT_TRIED }));
}

const NOT_TRIED: AcceptResult = {
  kind: 'unavailable',
  message: 'not tried, since others took too long or failed',
};
const STORE_FAILED: AcceptResult = { kind: 'unavailable', message: 'the event could not be stored' };
