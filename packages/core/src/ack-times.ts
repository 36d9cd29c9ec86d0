import { ACK_BUCKETS_S, type AckTotal } from '@breakwater/runtime/metrics-ingest';
import { type AckCount, readAcks } from '@breakwater/store/acks';
import type { Redis } from '@breakwater/store/connection';
import type { Keyspace } from '@breakwater/store/keys';

/**
 * Resolves to the acknowledgements since it was last asked. They are read from the metric that counts them anyway, so a
 * request pays nothing for them, and the console's figures are of the metric's own buckets.
 */
export function createAckReader(totals: () => Promise<readonly AckTotal[]>): () => Promise<AckCount[]> {
  const told = new Map<string, number>();
  return async () => {
    const bySource = Map.groupBy(await totals(), ({ source }) => source);
    return [...bySource].flatMap(([source, buckets]) => {
      let below = 0;
      return buckets
        .toSorted((a, b) => boundOf(a.le) - boundOf(b.le))
        .flatMap(({ le, total }): AckCount[] => {
          const own = total - below;
          below = total;
          const name = `${le}:${source}`;
          const count = own - (told.get(name) ?? 0);
          told.set(name, own);
          return count > 0 ? [{ source, le, count }] : [];
        });
    });
  };
}

const boundOf = (le: string): number => (le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le));

const MINUTES = 5;

/** How long acknowledgements took of late, all of ingest together. */
export interface AckTimes {
  readonly overMs: number;
  readonly count: number;
  /** Null where there was none. The largest bound of the metric (2 s) stands for everything above it. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
}

/** Of the last five minutes: of some sources, or of all. */
export async function readAckTimes(
  redis: Redis,
  keys: Keyspace,
): Promise<(sources?: readonly string[]) => AckTimes> {
  const counts = await readAcks(redis, keys, MINUTES);
  return (sources) => {
    const own = sources === undefined ? counts : counts.filter(({ source }) => sources.includes(source));
    return {
      overMs: MINUTES * 60_000,
      count: own.reduce((sum, { count }) => sum + count, 0),
      p50Ms: ackQuantileMs(own, 0.5),
      p99Ms: ackQuantileMs(own, 0.99),
    };
  };
}

/** As Prometheus' histogram_quantile: interpolated within the bucket that holds it. Null where nothing was counted. */
export function ackQuantileMs(counts: readonly AckCount[], quantile: number): number | null {
  // What was counted with other bounds, by another version that still runs, has its place among ours.
  const bounds = [...new Set([...ACK_BUCKETS_S, ...counts.map(({ le }) => boundOf(le))])]
    .filter(Number.isFinite)
    .toSorted((a, b) => a - b);
  const within = Map.groupBy(counts, ({ le }) => boundOf(le));
  const countOf = (bound: number): number =>
    (within.get(bound) ?? []).reduce((sum, { count }) => sum + count, 0);
  const all = counts.reduce((sum, { count }) => sum + count, 0);
  if (all === 0) return null;
  let [lower, below] = [0, 0];
  for (const bound of bounds) {
    const count = countOf(bound);
    if (count > 0 && below + count >= quantile * all)
      return 1_000 * (lower + (bound - lower) * ((quantile * all - below) / count));
    below += count;
    lower = bound;
  }
  return 1_000 * lower;
}
