import type { FailureClass } from '@breakwater/contracts/failure-class';
import type { Redaction } from './redaction.ts';

/** The peer sent a status. That decides, whatever became of the body. */
export interface HttpResponse {
  readonly kind: 'response';
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Undecoded bytes, at most `maxBodyBytes`. */
  readonly body: Buffer;
  /** The body is not whole: longer than asked for, too slow, cut off or shorter than announced. */
  readonly truncated: boolean;
  /** What samples of it must not show: the client's patterns, and the request's own credentials. */
  readonly redaction?: Redaction;
  readonly durationMs: number;
}

/** No status arrived. */
export interface HttpFailure {
  readonly kind: 'failure';
  readonly class: FailureClass;
  /** The innermost error's code, e.g. ECONNREFUSED. */
  readonly code: string;
  readonly message: string;
  /** Whether bytes of the request may have reached the peer. `no` is a promise, `maybe` is not a yes. */
  readonly sent: 'no' | 'maybe';
  readonly durationMs: number;
}

/** `mayWrite` said no; no byte of the request left. */
export interface HttpWithheld {
  readonly kind: 'withheld';
  readonly durationMs: number;
}

export type HttpOutcome = HttpResponse | HttpFailure | HttpWithheld;
