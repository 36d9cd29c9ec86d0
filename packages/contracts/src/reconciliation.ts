/** What a reconciliation finds. */
export const FINDING_KINDS = ['missing', 'dead_lettered', 'duplicate', 'unknown', 'foreign'] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

/** How it was seen, for people and scripts. Append only. */
export type FindingWhy =
  /** missing: the event's plan has the target and there is no delivery record. */
  | 'record_lost'
  /** missing: the index names an event whose record is gone. */
  | 'event_lost'
  /** missing: nobody would come back to it: no alarm and no place at a gate. */
  | 'not_armed'
  /** missing: due for longer than the grace, and no attempt has begun. */
  | 'past_due'
  /** missing: `sent` on record, and no answer of the ERP ever said so. */
  | 'no_posting'
  /** missing: it was posted and the ERP does not hold it any more. */
  | 'not_at_erp'
  /** missing: a route wants it now, and none did when it came. */
  | 'unrouted'
  /** missing: accepted, and its fan-out has failed. */
  | 'fan_out_failed'
  | 'given_up'
  /** duplicate: the ERP said twice that it created a document. */
  | 'two_answers'
  /** duplicate: the ERP holds two documents. */
  | 'two_documents'
  | 'unclear_outcome'
  | 'never_accepted';

/** One event, or one document, that does not agree with the other side. */
export interface Finding {
  readonly kind: FindingKind;
  readonly why: FindingWhy;
  readonly target: string;
  /** Whose event it is; undefined for a document that is nobody's. */
  readonly operator?: string;
  readonly source?: string;
  readonly eventId?: string;
  readonly delivery?: string;
  readonly status?: string;
  readonly reference?: string;
  /** Documents at the ERP, by its own names. */
  readonly receipts: readonly string[];
  /** When the event was recorded, or the document made; ms. */
  readonly at: number;
  /** What was seen, in one sentence. */
  readonly detail: string;
  /** What to do next: a command, or a sentence where no command can. */
  readonly next: string;
  /** Which side told it: our records, or the ERP. */
  readonly by: 'records' | 'erp';
}

export type FindingCounts = Readonly<Record<FindingKind, number>>;

export const noFindings = (): Record<FindingKind, number> => ({
  missing: 0,
  dead_lettered: 0,
  duplicate: 0,
  unknown: 0,
  foreign: 0,
});

/** How far the ERP itself was compared. */
export type DeepState =
  /** Only our records were read. */
  | { readonly kind: 'off' }
  | { readonly kind: 'done'; readonly documents: number; readonly asked: number }
  /** It could not be asked, or not to the end; what was seen by then counts. */
  | { readonly kind: 'skipped'; readonly reason: string };

/** Latest scheduled reconciliation of one target. Times in ms, Redis' clock. */
export interface ReconciliationSummary {
  readonly target: string;
  readonly startedAt: number;
  readonly tookMs: number;
  readonly since: number;
  readonly until: number;
  readonly events: number;
  readonly deliveries: number;
  readonly open: number;
  readonly counts: FindingCounts;
  /** Findings that are kept by name, out of all that were counted. */
  readonly kept: number;
  /** When the ERP itself was compared last, and what became of the latest try. */
  readonly deepAt: number | null;
  readonly deep: DeepState;
}
