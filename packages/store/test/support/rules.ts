import type { EndInput } from '../../src/transitions.ts';

export const SCHEDULE_LENGTH = 6;
/** Everything is due at once, and time passes only where an operation says so: a run depends on its seed alone. */
export const POLICY = {
  scheduleMs: Array.from({ length: SCHEDULE_LENGTH }, () => 0),
  graceMs: 0,
  rearmMs: 0,
  earlyMs: 1e12,
  freeInterruptions: 2,
  retriesInFlight: 2, // below what the two endpoints may have in flight together
};

export const DESTINATIONS = {
  ep_narrow: { cap: 1, keys: [] as string[] },
  ep_wide: { cap: 3, keys: [] as string[] },
  ep_leaving: { cap: 2, keys: [] as string[] },
  erp_looks: { cap: 2, keys: ['x', 'y'] },
  erp_blind: { cap: 2, keys: [] as string[] },
} as const;
export type Destination = keyof typeof DESTINATIONS;
export const destinationOf = (id: string): Destination => id.slice(id.indexOf('.') + 1) as Destination;
export const queueOf = (id: string): 'deliveries' | 'erp' =>
  destinationOf(id).startsWith('erp_') ? 'erp' : 'deliveries';

export type Outcome = EndInput['outcome'];
export const ENDPOINT_OUTCOMES = { failed: 6, sent: 2, gone: 0.5, deferred: 1, unknown: 0.3 } as const;
export const ERP_OUTCOMES = {
  failed: 5,
  posted: 2.5,
  already_posted: 1,
  unknown: 2,
  rejected: 1,
  reference_conflict: 0.3,
  deferred: 1,
} as const;
export const LOOK_UP_OUTCOMES = { absent: 3, already_posted: 1, failed: 3, deferred: 1 } as const;

export const OPERATIONS = {
  ring: 40,
  end: 20,
  die: 6,
  lateEnd: 5,
  resendBegin: 3,
  resendEnd: 3,
  replay: 14,
  pause: 1.5,
  resume: 6,
  resolve: 0.3,
  sweepAlarms: 8,
  sweepGates: 5,
  reservationsExpire: 3,
  backoffIsOver: 6,
  breakerByHand: 2,
  repeatFanOut: 1,
  startRun: 1,
  advanceRun: 6,
  changeRun: 1,
  remove: 0.3,
  retention: 3,
} as const;
export type Operation = keyof typeof OPERATIONS;
