import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { type ErpTarget, longestAttemptMs } from '@breakwater/contracts/target-config';

/** What the scripts need to know, sent with every call as JSON. Times in ms. */
export interface Policy {
  /** Waits before each scheduled attempt, the first one immediately. */
  readonly scheduleMs: readonly number[];
  /** Upper end of the additive jitter. */
  readonly jitterMs: number;
  /** How long an attempt may take before its process is taken for dead. Longer than its time-out, by checked margin. */
  readonly leaseMs: number;
  /** After an alarm's due time, when the sweeper looks for its job. */
  readonly graceMs: number;
  /** After a lease has lapsed, when the sweeper closes the attempt as interrupted. */
  readonly runGraceMs: number;
  /** An alarm that rings this early is let through: timers and clocks are not exact. */
  readonly earlyMs: number;
  /** So many interruptions in a row cost no scheduled attempt: a deploy must not use up a schedule. */
  readonly freeInterruptions: number;
  /** How often a gate with waiters is looked at. */
  readonly gatePeriodMs: number;
  /** How long a released waiter's slot is kept for its job. */
  readonly reserveMs: number;
  /** How soon the sweeper adds a job again that it has added before. */
  readonly rearmMs: number;
  /** Waits longer than this get no job until half of it is left; 0 arms all at once. */
  readonly armAheadMs: number;
  /** How long after an unknown outcome a look-up proves something. 0 where nothing is looked up. */
  readonly settleMs: number;
  /** How long records stay after they have ended. */
  readonly retentionMs: number;
  readonly canFind: boolean;
  readonly dedupes: boolean;
  /** Attempts at once, in the whole fleet, at endpoints of what was tried before. The other slots are for first attempts. */
  readonly retriesInFlight: number;
  /** An endpoint that failed so long without one success is paused; 0: never. */
  readonly pauseAfterMs: number;
  /** How often a delivery asks whether an endpoint works again that was paused like that. */
  readonly probeEveryMs: number;
  /** What was held so long becomes a dead letter. */
  readonly heldForMs: number;
}

export interface BreakerPolicy {
  readonly consecutive: number;
  readonly window: number;
  readonly percentage: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** What one destination has of its own; kept in its gate, where the sweeper of any service finds it. */
export type DestinationPolicy = Partial<Policy> & { readonly breaker?: BreakerPolicy };

/** Margin between an attempt's longest duration and its lease: stalls of the event loop, a slow write of the result. */
export const LEASE_MARGIN_MS = 10_000;

/** The deployment's policy. The numbers were proposed and tried in the same ratios with kills, stops and Redis deaths. */
export function policyOf(config: BreakwaterConfig): Policy {
  return {
    scheduleMs: config.deliveries.retrySchedule,
    jitterMs: config.deliveries.jitter,
    leaseMs: config.deliveries.timeout + LEASE_MARGIN_MS,
    graceMs: 30_000, // below it a busy queue would be mistaken for a lost job
    runGraceMs: 1_000, // a lapsed lease needs no patience: the fence keeps a late result harmless
    earlyMs: 50,
    freeInterruptions: 3,
    gatePeriodMs: 5_000,
    reserveMs: 15_000,
    rearmMs: 60_000,
    armAheadMs: 0,
    settleMs: 0,
    retentionMs: config.retention,
    canFind: false,
    dedupes: false,
    retriesInFlight: config.deliveries.retriesInFlight,
    pauseAfterMs: config.deliveries.autoPause.after,
    probeEveryMs: config.deliveries.autoPause.probeEvery,
    heldForMs: config.deliveries.autoPause.heldFor,
  };
}

export function policyOfTarget(target: ErpTarget): DestinationPolicy {
  const { breaker } = target;
  return {
    ...(target.retrySchedule && { scheduleMs: target.retrySchedule }),
    leaseMs: longestAttemptMs(target.adapter) + LEASE_MARGIN_MS,
    settleMs: target.settle,
    canFind: target.canFind,
    dedupes: target.dedupes,
    breaker: {
      consecutive: breaker.consecutive,
      window: breaker.window,
      percentage: breaker.percentage,
      fromMs: breaker.backoff.from,
      toMs: breaker.backoff.to,
    },
  };
}
