import type { FindingKind, FindingWhy } from '@breakwater/contracts/reconciliation';

/** What each kind of finding means. */
export const KIND_WORDS: Readonly<Record<FindingKind, readonly [title: string, meaning: string]>> = {
  missing: ['missing', 'accepted, and nothing on its way will post it'],
  dead_lettered: ['dead-lettered', 'given up; somebody must decide'],
  duplicate: ['duplicate', 'the ERP holds, or said that it made, more than one document'],
  unknown: ['unknown', 'nobody knows whether the ERP has it'],
  foreign: ['foreign', 'documents under a reference that was never accepted'],
};

const STEP_WORDS: Readonly<Record<FindingWhy, string>> = {
  record_lost: 'Fan the event out again: that makes the delivery anew.',
  event_lost: 'Get the event from its source again, and post it by hand.',
  not_armed: 'Replay it, or wait for the next scheduled reconciliation, which arms it.',
  past_due: 'See whether an erp-consumer runs, and whether the breaker is closed.',
  no_posting: 'Replay it: the ERP is asked for it before anything is posted.',
  not_at_erp: 'Ask who removed the document. If it must be there, replay.',
  unrouted: 'Fan the event out again: a route wants it now.',
  fan_out_failed: "Mend what the dispatcher's log says. The job is run again by itself.",
  given_up: 'Read the last answer and mend the cause; then replay it, or close it as settled.',
  two_answers: 'See whether the ERP holds both documents, and cancel the younger one there.',
  two_documents: 'Cancel the document that is one too many in the ERP.',
  unclear_outcome:
    'Look the reference up in the ERP. It is there: close the delivery as settled. It is not: replay.',
  never_accepted: 'Ask who posts to the ERP with references like ours.',
};

const isKnown = (why: string): why is FindingWhy => Object.hasOwn(STEP_WORDS, why);

/** What to do next about a finding; empty for one that this version does not know. */
export const stepWords = (why: string): string => (isKnown(why) ? STEP_WORDS[why] : '');
