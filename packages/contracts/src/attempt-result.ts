import type { FailureClass } from './failure-class.ts';

/** What is kept of a destination's answer: at most 1 KiB, as text with control characters left to the viewer to escape. */
export interface ResponseSample {
  readonly contentType: string;
  readonly text: string;
  readonly truncated: boolean;
}

interface Told {
  /** HTTP status or error code for the attempt's row; '' when there is none. */
  readonly code: string;
  readonly sample?: ResponseSample;
}

/** What came of one attempt. Expected results are values; only surprises are thrown. */
export type AttemptResult =
  /** The endpoint answered 2xx. */
  | ({ readonly kind: 'sent' } & Told)
  /** The endpoint answered 410. */
  | ({ readonly kind: 'gone' } & Told)
  /** Not delivered, and surely not applied where the destination is an ERP. Retried on schedule. */
  | ({
      readonly kind: 'failed';
      readonly class: FailureClass;
      readonly message: string;
      readonly retryAfterMs?: number;
    } & Told)
  /** The ERP created a document in this attempt. */
  | ({ readonly kind: 'posted'; readonly receipt: string } & Told)
  /** The ERP already holds the document of this event. */
  | ({ readonly kind: 'already_posted'; readonly receipt: string } & Told)
  /** The ERP gave an answer that is configured to mean: it refuses this document. */
  | ({ readonly kind: 'rejected'; readonly class: FailureClass; readonly message: string } & Told)
  /** The request may have been applied. */
  | ({ readonly kind: 'unknown'; readonly message: string } & Told)
  /** The ERP holds a document of another event under our reference. */
  | ({ readonly kind: 'reference_conflict'; readonly message: string } & Told)
  /** A look-up-only attempt found nothing: conclusive. */
  | ({ readonly kind: 'absent' } & Told)
  /** Nothing was sent and no attempt is consumed (breaker open, process stopping, lease nearly over). */
  | {
      readonly kind: 'deferred';
      readonly message: string;
      /** Set where a person has to do something first: told in the log as an error, and asked again only then. */
      readonly waitMs?: number;
    };
