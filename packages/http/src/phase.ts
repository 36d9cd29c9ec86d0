import type { FailureClass } from '@breakwater/contracts/failure-class';

/**
 * How far a request got: resolving -> connecting -> securing -> written, with what does not apply left out. Before
 * `written`, no byte of the request can have reached the peer.
 */
export type Phase = 'resolving' | 'connecting' | 'securing' | 'written';

interface Timeout {
  readonly class: FailureClass;
  /** What did not happen in time. */
  readonly missing: string;
}

/** What a timeout in a phase is called. A written request is waited for until its last byte left, then for an answer. */
export function timeoutIn(phase: Phase, isWholeRequestOut: boolean): Timeout {
  switch (phase) {
    case 'resolving':
      return { class: 'timeout_dns', missing: 'The name was not resolved' };
    case 'connecting':
      return { class: 'timeout_connect', missing: 'No connection' };
    case 'securing':
      return { class: 'timeout_tls', missing: 'No TLS agreement' };
    case 'written':
      return isWholeRequestOut
        ? { class: 'timeout_response', missing: 'No response' }
        : { class: 'timeout_request', missing: 'The request was not taken' };
  }
}
