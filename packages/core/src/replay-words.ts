import type { ReplayRefusal, ReplayRun } from '@breakwater/contracts/replay-run';

/** A record, so that the compiler misses here a refusal that is new. */
const REFUSALS = {
  not_found: "not found, or another operator's",
  in_flight: 'an attempt is in flight: wait until it has ended, then ask again',
  already: 'a replay of it is open already',
  paused: 'its destination is paused: resume the destination first',
  resolved: 'a person resolved it, so it is closed',
  removed: 'its endpoint was removed: there is nowhere to send it',
  wrong_status: 'it has another status by now',
  needs_acknowledgement: 'the receiver may have it already (--acknowledge-duplicates)',
  expired: 'its retention is over: nothing is left to send',
} satisfies Record<ReplayRefusal, string>;
const words = new Map<string, string>(Object.entries(REFUSALS));

/** Why a bulk replay did not ask for a delivery, for people; the name itself where a newer version wrote it. */
export const refusalInWords = (why: string): string => words.get(why) ?? why;

/** How many deliveries a bulk replay did not ask for. */
export const refusedOf = ({ refused }: { readonly refused: ReplayRun['refused'] }): number =>
  Object.values(refused).reduce((sum, each) => sum + each, 0);
