import type { ResponseSample } from '@breakwater/contracts/attempt-result';
import type { FailureClass } from '@breakwater/contracts/failure-class';
import type { MappingInput } from './mapping.ts';

/**
 * What every ERP adapter keeps. An adapter translates between an ERP's protocol and these results and decides nothing
 * else: when to look up, to retry or to give up is the consumer's.
 */
export interface ErpAdapter {
  /**
   * Posts one document under a reference, once: a step that may have been applied is never repeated blindly inside.
   * Rejects only on a bug.
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
  /**
   * The documents that carry our references, made at or after `since` (ms since the epoch, by the ERP's clock), the
   * oldest first. Read page by page as the caller goes on, so that a year of documents needs the memory of one page.
   * What is made meanwhile may be missing. Throws AppError unavailable when the ERP does not answer.
   */
  readonly list?: (since: number, signal?: AbortSignal) => AsyncIterable<ListedDocument>;
  /** Ends what the adapter itself opened. A client it was given stays open. */
  readonly close: () => void;
}

/** One document of the ERP, for comparing with what was accepted. */
export interface ListedDocument {
  readonly reference: string;
  /** The ERP's name for it: what `receipt` is in a result. */
  readonly documentId: string;
  /** When it was made, ms since the epoch, by the ERP's clock. */
  readonly at: number;
  /** False: it is there, but without effect yet (a draft). */
  readonly complete: boolean;
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
  /** The ERP has one for this reference. Whether it is this event's may still have to be looked up. */
  | ({ readonly kind: 'already_posted'; readonly receipt: string } & Told)
  /** The ERP holds a document of another event under this reference. */
  | ({ readonly kind: 'reference_conflict' } & Told)
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
  /**
   * Nothing was sent, because `mayWrite` said no or the process is stopping. An adapter that posts in several steps also
   * says so between two of them, where its next post goes on from there.
   */
  | ({ readonly kind: 'withheld' } & Told);

export type FindResult =
  /**
   * The ERP holds documents under the reference. `belongs`: at least one is this event's, and `receipts` are those; else
   * all are another event's. More than one receipt: the ERP holds duplicates.
   */
  | { readonly kind: 'found'; readonly receipts: readonly string[]; readonly belongs: boolean }
  /**
   * This event's document was begun and has no effect yet: posting goes on with it. `receipt` is the ERP's name for it.
   */
  | { readonly kind: 'incomplete'; readonly receipt: string }
  /** The ERP answered, completely and readably, that it holds none. */
  | { readonly kind: 'absent' }
  /** No answer that proves anything. */
  | ({
      readonly kind: 'failed';
      readonly class: FailureClass;
      readonly message: string;
      readonly retryAfterMs?: number;
    } & Told);
