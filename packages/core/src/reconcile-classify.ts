import type { Finding, FindingKind, FindingWhy } from '@breakwater/contracts/reconciliation';
import type { Suspect, SuspectRecord } from '@breakwater/store/reconcile-page';
import { fanOutStep, postedStep, replayStep, resolveStep, shellWord, showStep } from './reconcile-steps.ts';

export interface Judgement {
  readonly target: string;
  /** Redis' clock, ms. */
  readonly now: number;
  /** How long what is open may be late, or in doubt, before it is told. */
  readonly graceMs: number;
  /** The target looks a reference up before it posts again, so a replay is safe and counts what is there. */
  readonly looksUp: boolean;
  /** Would a route bring this event to the target today? */
  readonly isRouted: (source: string, type: string) => boolean;
  /** When the ERP began to list its documents, where it was asked: nothing that was posted later can be in the list. */
  readonly listedAt: number | undefined;
}

/** Fan-out makes the deliveries of one event within seconds; before that, one that is not there yet is not lost. */
const FAN_OUT_MS = 60_000;
/** The ERP's list may be older than its answer, and clocks of processes differ. */
const LISTED_SLACK_MS = 60_000;

/** What there is to say about an event at a target by the records alone; undefined where all is well after all. */
export function classify(suspect: Suspect, judgement: Judgement): Finding | undefined {
  const { record } = suspect;
  if (record) return classifyRecord(suspect, record, judgement);
  const { now, graceMs, isRouted } = judgement;
  if (suspect.eventLost || suspect.planned) {
    if (suspect.recordedAt > now - Math.min(graceMs, FAN_OUT_MS)) return undefined;
    return suspect.eventLost
      ? found(suspect, judgement, 'missing', 'event_lost', {
          detail: 'The records of the event and of its delivery are gone, and its body with them.',
          next: `Look for ${suspect.delivery} in the logs, get the event from its source again, and post it by hand`,
        })
      : found(suspect, judgement, 'missing', 'record_lost', {
          detail: 'The event was to be posted here and its delivery record is gone.',
          next: fanOutStep(suspect.operator, suspect.source, suspect.eventId),
        });
  }
  if (!isRouted(suspect.source, suspect.type)) return undefined;
  return found(suspect, judgement, 'missing', 'unrouted', {
    detail: 'No route wanted the event when it came; one does now.',
    next: fanOutStep(suspect.operator, suspect.source, suspect.eventId),
  });
}

function classifyRecord(suspect: Suspect, record: SuspectRecord, judgement: Judgement): Finding | undefined {
  if (record.created > 1) return twoAnswers(suspect, record, judgement);
  switch (record.status) {
    case 'sent':
      return classifySent(suspect, record, judgement);
    case 'resolved':
      return undefined;
    case 'dead_letter':
      return classifyDead(suspect, record, judgement);
    case 'pending':
    case 'failed':
    case 'held':
      return classifyOpen(suspect, record, judgement);
  }
}

/** The ERP itself holds two documents for one event. */
export const postedTwice = (
  suspect: Suspect,
  judgement: Pick<Judgement, 'target'>,
  receipts: readonly string[],
): Finding => ({
  ...found(suspect, judgement, 'duplicate', 'two_documents', {
    detail: `The ERP holds ${receipts.join(' and ')} for one reference.`,
    next: `${showStep(suspect)}; then cancel the younger document in the ERP`,
    by: 'erp',
  }),
  receipts,
});

function twoAnswers(suspect: Suspect, record: SuspectRecord, judgement: Judgement): Finding {
  return found(suspect, judgement, 'duplicate', 'two_answers', {
    detail: `The ERP answered ${record.created} times that it created a document. Whether they are all still there is what --deep asks.`,
    next: `${showStep(suspect)}; then cancel the younger document in the ERP`,
  });
}

function classifySent(suspect: Suspect, record: SuspectRecord, judgement: Judgement): Finding | undefined {
  if (record.created === 0 && !record.found)
    return found(suspect, judgement, 'missing', 'no_posting', {
      detail: 'It counts as sent, and no answer of the ERP is on record.',
      next: replayStep(suspect, true),
    });
  const { listedAt } = judgement;
  if (listedAt === undefined || suspect.document !== undefined || record.sentAt > listedAt - LISTED_SLACK_MS)
    return undefined;
  return found(suspect, judgement, 'missing', 'not_at_erp', {
    detail: `It was posted${record.receipt === '' ? '' : ` as ${record.receipt}`}, and the ERP does not hold the document any more.`,
    next: `Ask who removed it; to post it again: ${replayStep(suspect, true)}`,
    by: 'erp',
  });
}

function classifyDead(suspect: Suspect, record: SuspectRecord, judgement: Judgement): Finding {
  const there = suspect.document;
  if (suspect.eventLost)
    return found(suspect, judgement, 'dead_lettered', 'given_up', {
      detail: `Given up (${record.reason}), and the record of the event is gone: a replay has nothing to send.`,
      next: `Get the event from its source again, look for its document in the ERP, and settle it by hand; then ${resolveStep(suspect)}`,
    });
  if (there !== undefined)
    return found(suspect, judgement, 'dead_lettered', 'given_up', {
      detail: `Given up (${record.reason}), and the ERP holds ${there} for it: a replay looks it up and counts it.`,
      next: replayStep(suspect),
    });
  if (record.doubt || record.reason === 'unknown_outcome')
    return found(suspect, judgement, 'unknown', 'unclear_outcome', {
      detail: `Given up (${record.reason}) without a clear result; last attempt: ${lastWords(record)}.`,
      next: judgement.looksUp
        ? `${replayStep(suspect)}: it looks the reference up first, counts a document that is there, and posts only where there is none`
        : `Look ${shellWord(referenceOf(suspect))} up in the ERP. It is there: ${postedStep(suspect)}. It is not: ${replayStep(suspect, true)}`,
    });
  return found(suspect, judgement, 'dead_lettered', 'given_up', {
    detail: `Given up (${record.reason}); last attempt: ${lastWords(record)}.`,
    next: `${showStep(suspect)}; once the cause is gone: ${replayStep(suspect)}`,
  });
}

function classifyOpen(suspect: Suspect, record: SuspectRecord, judgement: Judgement): Finding | undefined {
  const { now, graceMs } = judgement;
  if (record.inFlight) return undefined;
  if (record.armed === 'no')
    return found(suspect, judgement, 'missing', 'not_armed', {
      detail: 'Not armed: no alarm stands for its next attempt. The next scheduled reconciliation arms it.',
      next: replayStep(suspect),
    });
  const inDoubtSince = record.doubtAt || (record.last?.endedAt ?? record.createdAt);
  if (record.doubt && inDoubtSince + graceMs <= now)
    return found(suspect, judgement, 'unknown', 'unclear_outcome', {
      detail: `No clear result since ${new Date(inDoubtSince).toISOString()}; last attempt: ${lastWords(record)}. The next one looks it up first.`,
      next: replayStep(suspect),
    });
  if (record.armed === 'waiting' || record.nextAttemptAt + graceMs > now) return undefined;
  return found(suspect, judgement, 'missing', 'past_due', {
    detail: `Due since ${new Date(record.nextAttemptAt).toISOString()}, and no attempt has begun. Does an erp-consumer run?`,
    next: showStep(suspect),
  });
}

export const referenceOf = ({ record, eventId }: Suspect): string => record?.reference ?? eventId;

const lastWords = ({ last }: SuspectRecord): string =>
  last ? [last.class, last.code].filter(Boolean).join(' ') : 'none on record';

/** Makes a finding of a suspect. */
export function found(
  suspect: Suspect,
  { target }: Pick<Judgement, 'target'>,
  kind: FindingKind,
  why: FindingWhy,
  words: { readonly detail: string; readonly next: string; readonly by?: Finding['by'] },
): Finding {
  const { record, document } = suspect;
  const receipts = [...new Set([record?.receipt ?? '', document ?? ''])].filter(Boolean);
  return {
    kind,
    why,
    target,
    operator: suspect.operator,
    source: suspect.source,
    eventId: suspect.eventId,
    delivery: suspect.delivery,
    ...(record && { status: record.status }),
    reference: referenceOf(suspect),
    receipts,
    at: suspect.recordedAt,
    by: words.by ?? 'records',
    detail: words.detail,
    next: words.next,
  };
}
