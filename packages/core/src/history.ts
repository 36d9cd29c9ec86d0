import { HISTORY_RANGES, type HistoryRange } from '@breakwater/contracts/history';
import type { FleetSnapshot, Sample } from '@breakwater/runtime/metrics-fleet';
import type { Redis } from '@breakwater/store/connection';
import { type HistoryPoint, readHistory, type TargetFigures } from '@breakwater/store/history';
import type { Keyspace } from '@breakwater/store/keys';

/** Value of the sample with this first label. */
export const sampleOf = (samples: readonly Sample[], label: string): number | null =>
  samples.find(([labels]) => labels[0] === label)?.[1] ?? null;

/** What a snapshot says of each ERP target, as the history keeps it. */
export const figuresOf = ({
  expected,
  resolved,
  postings,
  documents,
}: FleetSnapshot): Map<string, TargetFigures> =>
  new Map(
    expected.map(([[target = ''], count]) => [
      target,
      {
        expected: count,
        resolved: sampleOf(resolved, target) ?? 0,
        postings: sampleOf(postings, target) ?? 0,
        documents: sampleOf(documents, target),
      },
    ]),
  );

export interface TargetHistory {
  readonly target: string;
  /** The counters began anew then, with another Redis: what was before is left out, or no curve would fit both. */
  readonly resetAt: number | null;
  readonly points: {
    readonly at: number;
    /** Accepted and to be posted: expected less what a person settled otherwise. */
    readonly owed: number;
    readonly postings: number;
    readonly documents: number | null;
  }[];
}

/** Accepted against postings of some targets, oldest point first. Where nothing was written (Redis away, no console) there is no point. */
export async function fleetHistory(
  redis: Redis,
  keys: Keyspace,
  range: HistoryRange,
  targets: readonly string[],
): Promise<{ readonly stepMs: number; readonly targets: TargetHistory[] }> {
  const points = await readHistory(redis, keys, HISTORY_RANGES[range]);
  return {
    stepMs: HISTORY_RANGES[range].stepMs,
    targets: targets.map((target) => historyOf(points, target)),
  };
}

function historyOf(points: readonly HistoryPoint[], target: string): TargetHistory {
  let resetAt: number | null = null;
  let last: TargetFigures | undefined;
  let kept: TargetHistory['points'] = [];
  for (const { at, targets } of points) {
    const figures = targets.get(target);
    if (figures === undefined) continue; // it was not configured yet
    const { expected, resolved, postings, documents } = figures;
    if (last && (expected < last.expected || postings < last.postings)) [resetAt, kept] = [at, []];
    last = figures;
    kept.push({ at, owed: expected - resolved, postings, documents });
  }
  return { target, resetAt, points: kept };
}
