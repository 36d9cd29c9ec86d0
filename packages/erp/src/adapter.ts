import type { ResponseSample } from '@breakwater/contracts/attempt-result';
import type { FailureClass } from '@breakwater/contracts/failure-class';
import type { MappingInput } from './mapping.ts';

/**
 * What every ERP adapter keeps. An adapter translates between an ERP's protocol and these results and decides nothing
 * else: when to look up, to retry or to give up is the consumer's.
 */
export interface ErpAdapter {
  /**
   * Posts one document under a reference, once: no retry inside. Rejects only on a bug.
   * `event` is for configurations whose paths name it; the document is already mapped.
   */
  readonly post: (
    document: unknown,
    reference: string,
    guard: PostGuard,
    event?: MappingInput,
  ) => Promise<PostResult>;
  /** Looks a reference up. Missing where the ERP cannot. */
  readonly find?: (
    reference: string,
    event: MappingInput,
    document: unknown,
    signal?: AbortSignal,
  ) => Promise<FindResult>;
  /** The ERP's own number of documents that carry our references. Throws AppError unavailable when it does not say. */
  readonly count?: () => Promise<number>;
  /** Ends what the adapter itself opened. A client it was given stays open. */
  readonly close: () => void;
}

export interface PostGuard {
  /**
   * Asked in the same tick as the write: does the caller's lease still hold? Nothing is sent when it does not, since
   * another process may be posting the same document by then.
   */
  readonly mayWrite: () => boolean;
  /** Aborted when the process stops. */
  readonly signal?: AbortSignal;
}

interface Told {
  /** HTTP status or error code; '' when there is none. */
  readonly code: string;
  readonly sample?: ResponseSample;
}

export type PostResult =
  /** The ERP created a document. `receipt` is its name for it, '' where it did not say (readably). */
  | ({ readonly kind: 'posted'; readonly receipt: string } & Told)
  /** The ERP says that it has one for this reference. */
  | ({ readonly kind: 'duplicate'; readonly receipt: string } & Told)
  /** The ERP refuses this document. */
  | ({ readonly kind: 'rejected'; readonly message: string } & Told)
  /** Surely not applied. */
  | ({
      readonly kind: 'failed';
      readonly class: FailureClass;
      readonly message: string;
      /** How long the ERP asks to wait, ms. */
      readonly retryAfterMs?: number;
    } & Told)
  /** It may have been applied: look up before anything is posted again. */
  | ({ readonly kind: 'unknown'; readonly message: string } & Told)
  /** Nothing was sent, because `mayWrite` said no or the process is stopping. */
  | ({ readonly kind: 'withheld' } & Told);

export type FindResult =
  /**
   * The ERP holds documents under the reference. `belongs`: at least one is this event's, and `receipts` are those; else
   * all are another event's. More than one receipt: the ERP holds duplicates.
   */
  | { readonly kind: 'found'; readonly receipts: readonly string[]; readonly belongs: boolean }
  /** The ERP answered, completely and readably, that it holds none. */
  | { readonly kind: 'absent' }
  /** No answer that proves anything. */
  | ({
      readonly kind: 'failed';
      readonly class: FailureClass;
      readonly message: string;
      readonly retryAfterMs?: number;
    } & Told);
