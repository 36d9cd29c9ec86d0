import type { DeliveryStatus } from './delivery.ts';

/**
 * The states of a bulk replay run. `failed`: it stopped itself (too many failures in a row, a fault of ours); it and a
 * `cancelled` one may be resumed.
 */
export const REPLAY_RUN_STATES = ['running', 'done', 'cancelled', 'failed'] as const;
export type ReplayRunState = (typeof REPLAY_RUN_STATES)[number];

/** Statuses that a bulk run may be asked for; the others are not at rest, or closed. */
export const REPLAYABLE_STATUSES = [
  'dead_letter',
  'failed',
  'sent',
] as const satisfies readonly DeliveryStatus[];
export type ReplayableStatus = (typeof REPLAYABLE_STATUSES)[number];

/** Why a run did not ask for one of its deliveries. */
export type ReplayRefusal =
  | 'not_found'
  | 'in_flight'
  | 'already'
  | 'paused'
  | 'resolved'
  | 'removed'
  | 'wrong_status'
  | 'needs_acknowledgement'
  | 'expired';

/** One of the first refusals or failures of a run. */
export interface ReplayNote {
  readonly kind: 'refused' | 'failed';
  /** The refusal, or class and code of the attempt. */
  readonly why: string;
  readonly delivery: string;
}

/** A bulk replay as people and APIs see it. Times are Redis' clock, in ms since the epoch. */
export interface ReplayRun {
  readonly id: string;
  readonly operator: string;
  /** Who started it, and why. */
  readonly actor: string;
  readonly reason: string;
  /** What was chosen, in words. */
  readonly filter: string;
  readonly mode: 'single' | 'restart';
  readonly state: ReplayRunState;
  /** Why it stopped itself; '' otherwise. */
  readonly error: string;
  readonly perSecond: number;
  /** To any one destination; null where only the run's own rate counts. */
  readonly destinationPerSecond: number | null;
  /** Chosen when it was started. */
  readonly matched: number;
  /** Not looked at yet. */
  readonly remaining: number;
  readonly requested: number;
  /** Of the requested ones, what came of them. With `restart`: of the first attempt. */
  readonly sent: number;
  readonly failed: number;
  /** Requested and without a result yet. */
  readonly open: number;
  readonly refused: Readonly<Partial<Record<ReplayRefusal, number>>>;
  readonly createdAt: number;
  readonly updatedAt: number;
}
