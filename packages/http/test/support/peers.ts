import type { FailureClass } from '@breakwater/contracts/failure-class';
import type { HttpClient, HttpRequest } from '../../src/client.ts';

/** Makes the request that a peer is made for, with a plain client or the one that is given, and judges the outcome. */
export type Ask = (request: HttpRequest, client?: HttpClient) => Promise<void>;

/** A destination that misbehaves (or does not), and what an attempt at it is called. A row of docs/outcomes.md. */
export interface Peer {
  readonly what: string;
  readonly outcome: FailureClass | 'sent';
  /** Whether the request may have reached the peer; left out where it answered, or where chance decides. */
  readonly sent?: 'no' | 'maybe';
  readonly meet: (ask: Ask) => Promise<void>;
}

/** For peers that never do what is waited for: long enough for a slow machine to get into the phase that hangs. */
export const HANG_MS = 700;
