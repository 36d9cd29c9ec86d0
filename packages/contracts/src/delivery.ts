import type { DestinationKind } from './ids.ts';

/** The states of a delivery; ARCHITECTURE.md says what each means. */
export const DELIVERY_STATUSES = ['pending', 'failed', 'sent', 'dead_letter', 'held', 'resolved'] as const;
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** No scheduled attempt follows one of these. A replay may still move a dead letter to `sent`. */
export const TERMINAL_STATUSES: readonly DeliveryStatus[] = ['sent', 'dead_letter', 'resolved'];

export type DeadLetterReason =
  | 'exhausted'
  | 'gone'
  | 'rejected'
  | 'mapping_failed'
  | 'reference_conflict'
  | 'unknown_outcome'
  | 'endpoint_removed'
  | 'held_expired';

export type AttemptTrigger = 'schedule' | 'replay';
export type AttemptOutcome = 'sent' | 'failed' | 'interrupted';

/** One try of a delivery. Appended, never rewritten. Times are Redis' clock, in ms since the epoch. */
export interface Attempt {
  readonly number: number;
  readonly trigger: AttemptTrigger;
  readonly outcome: AttemptOutcome;
  /** `sent`, `interrupted`, or why it failed (see failure-class.ts). */
  readonly class: string;
  /** HTTP status or error code, '' when there is none. */
  readonly code: string;
  readonly startedAt: number;
  readonly durationMs: number;
  /** How long after its due time it began. */
  readonly lateMs: number;
  /** Set when this attempt's own result arrived after it had been declared interrupted. */
  readonly lateResult?: { readonly at: number; readonly class: string; readonly code: string };
}

/** A delivery as people and APIs see it. */
export interface Delivery {
  readonly id: string;
  readonly operator: string;
  readonly event: {
    readonly key: string;
    readonly source: string;
    readonly id: string;
    readonly type: string;
  };
  readonly destination: { readonly kind: DestinationKind; readonly id: string; readonly name: string };
  readonly reference: string;
  readonly status: DeliveryStatus;
  readonly statusAt: number;
  readonly createdAt: number;
  /** When the next scheduled attempt is due; null when none is. */
  readonly nextAttemptAt: number | null;
  /** How many scheduled attempts were used, and how many replays were made. Counted apart. */
  readonly scheduleMade: number;
  readonly replaysMade: number;
  readonly reason: DeadLetterReason | null;
  /** Class of the latest attempt, where that failed and no success was learnt since. */
  readonly failureClass: string | null;
  readonly inFlight: boolean;
  /** The attempt in flight: its number, which is the fence, and until when its process may be silent. */
  readonly lease: {
    readonly attempt: number;
    readonly trigger: AttemptTrigger;
    readonly startedAt: number;
    readonly until: number;
  } | null;
  /** Number of the latest attempt that began, also where it sent nothing. Results of older ones change no status but to `sent`. */
  readonly fence: number;
  /** Id of the replay that was asked for and has not ended. */
  readonly openReplay: string | null;
  /** An earlier attempt may have been applied at the ERP. */
  readonly doubt: boolean;
  /** What the ERP called the document, where it told us. */
  readonly receipt: string | null;
  readonly attempts: readonly Attempt[];
}
