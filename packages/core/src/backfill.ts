import { eventKey } from '@breakwater/contracts/ids';
import type { Source } from '@breakwater/contracts/source-config';
import { AppError } from '@breakwater/runtime/errors';
import { pause } from '@breakwater/runtime/poll';
import type { AcceptResult, Acceptor, IncomingEvent } from './accept.ts';
import { eventsOf, type MissedDelivery, type Read } from './backfill-request.ts';

/** One entry of what is back-filled: a line of a file, or an event of a provider's list. */
export interface BackfillEntry {
  /** For messages: `line 12`, `evt_1`. */
  readonly where: string;
  readonly delivery: Read<MissedDelivery>;
  /** How far the reader has come, for a progress bar. */
  readonly position: number;
}

export interface BackfillInput {
  readonly name: string;
  readonly source: Source;
  readonly entries: AsyncIterable<BackfillEntry>;
  /** Left out: a rehearsal, that takes nothing. */
  readonly acceptor?: Pick<Acceptor, 'accept'>;
  /** Is the event on record already? For rehearsals. */
  readonly isKnown: (eventKey: string) => Promise<boolean>;
  readonly types: readonly string[];
  /** Events per second; Infinity for as fast as they are taken. */
  readonly perSecond: number;
  /** How long the same events may be refused in a row before it is given up, ms. */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
  readonly now: () => number;
  readonly onProgress?: (figures: BackfillFigures, position: number) => void;
}

export interface BackfillFigures {
  /** Lines or listed events. */
  entries: number;
  /** New: they are queued now. In a rehearsal, those that are on no record yet. */
  accepted: number;
  /** Accepted before, by webhook or by an earlier run. */
  deduped: number;
  /** Of those, with another body than the first one. */
  differs: number;
  /** Challenges, pings, and types that were not asked for. */
  skipped: number;
  failed: number;
}

export interface BackfillResult extends BackfillFigures {
  /** The first of what failed; a file of nothing but errors must not fill the memory. */
  readonly errors: readonly { readonly where: string; readonly message: string }[];
  /** Set where it ended before the end: why, and the entry that it had come to. Running it again is safe. */
  readonly stopped?: { readonly reason: string; readonly at: string };
}

export const ERRORS_LISTED = 100;
/** As many as ingest takes of one delivery: they share Redis' fsyncs, and webhooks get their turn in between. */
const AT_ONCE = 32;
/** Bodies may be 25 MiB. */
const AT_ONCE_BYTES = 16 * 1024 * 1024;
/** Waits between tries while Redis takes no events: as soon as a short hiccup is over, then without pressing. */
const RETRY_FROM_MS = 250;
const RETRY_TO_MS = 5_000;

type Batch = { readonly where: string; readonly event: IncomingEvent }[];

/**
 * Pushes missed events through the accept step that webhooks go through, so an event is taken once however it comes and
 * however often this runs. While Redis takes none (memory, durability, backlog), it waits. Throws AppError request_invalid for
 * a source whose events have no id.
 */
export async function backfill(input: BackfillInput): Promise<BackfillResult> {
  const { name, source, signal } = input;
  if (source.dedupe.policy !== 'event')
    throw new AppError(
      'request_invalid',
      `No id of ${name} is remembered (dedupe: ${source.dedupe.policy}), so nothing tells a missed event from one that came.`,
    );
  const figures: BackfillFigures = { entries: 0, accepted: 0, deduped: 0, differs: 0, skipped: 0, failed: 0 };
  const errors: { where: string; message: string }[] = [];
  const begun = performance.now();
  let taken = 0;
  let batch: Batch = [];
  let batchBytes = 0;
  let last = 'the beginning';
  const size = Math.max(1, Math.min(AT_ONCE, Math.floor(input.perSecond / 4)));

  /** Undefined when all of the batch is taken, else why not. */
  const flush = async (): Promise<string | undefined> => {
    const early = begun + (taken * 1_000) / input.perSecond - performance.now();
    if (early > 0) await pause(early, signal);
    const refused = await takeBatch(input, batch, figures);
    taken += batch.length;
    if (refused === undefined) batch = [];
    return refused;
  };
  for await (const { where, delivery, position } of input.entries) {
    if (signal.aborted)
      return { ...figures, errors, stopped: { reason: 'stopped', at: batch[0]?.where ?? where } };
    figures.entries += 1;
    last = where;
    const events = delivery.ok ? eventsOf(name, source, delivery.value, input.now(), input.types) : delivery;
    if (events.ok) {
      if (events.value.length === 0) figures.skipped += 1;
      batch.push(...events.value.map((event) => ({ where, event })));
    } else {
      figures.failed += 1;
      if (errors.length < ERRORS_LISTED) errors.push({ where, message: events.message });
    }
    batchBytes += delivery.ok ? delivery.value.body.length : 0;
    if (batch.length < size && batchBytes < AT_ONCE_BYTES) continue;
    batchBytes = 0;
    const reason = await flush();
    input.onProgress?.(figures, position);
    if (reason !== undefined)
      return { ...figures, errors, stopped: { reason, at: batch[0]?.where ?? where } };
  }
  const reason = (await flush()) ?? (signal.aborted ? 'stopped' : undefined);
  return reason === undefined
    ? { ...figures, errors }
    : { ...figures, errors, stopped: { reason, at: batch[0]?.where ?? last } };
}

/** Takes a batch, again and again what was refused, until all is taken or patience ends. */
async function takeBatch(
  input: BackfillInput,
  batch: Batch,
  figures: BackfillFigures,
): Promise<string | undefined> {
  if (input.acceptor === undefined) {
    await rehearse(input, batch, figures);
    return undefined;
  }
  const { acceptor } = input;
  const deadline = performance.now() + input.patienceMs;
  let waiting = batch.map(({ event }) => event);
  for (let waitMs = RETRY_FROM_MS; ; waitMs = Math.min(waitMs * 2, RETRY_TO_MS)) {
    const results = await Promise.all(waiting.map(async (event) => acceptor.accept(event)));
    for (const result of results) count(figures, result);
    waiting = waiting.filter((_event, index) => results[index]?.kind === 'unavailable');
    const refusal = results.find((result) => result.kind === 'unavailable');
    if (refusal === undefined) return undefined;
    if (input.signal.aborted) return 'stopped';
    if (performance.now() + waitMs > deadline) return refusal.message;
    await pause(waitMs, input.signal);
  }
}

function count(figures: BackfillFigures, result: AcceptResult): void {
  switch (result.kind) {
    case 'accepted':
      figures.accepted += 1;
      return;
    case 'duplicate':
      figures.deduped += 1;
      if (result.differs) figures.differs += 1;
      return;
    case 'replayed':
      figures.deduped += 1;
      return;
    case 'unavailable':
  }
}

async function rehearse(input: BackfillInput, batch: Batch, figures: BackfillFigures): Promise<void> {
  for (const { event } of batch) {
    const { operator, source, eventId } = event;
    if (await input.isKnown(eventKey(operator, source, eventId))) figures.deduped += 1;
    else figures.accepted += 1;
  }
}
