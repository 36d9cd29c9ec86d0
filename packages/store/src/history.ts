import type { Redis } from 'ioredis';
import { redisNowMs } from './clock.ts';
import type { Keyspace } from './keys.ts';
import { loadScript } from './script.ts';

const script = loadScript('note-history', { prelude: false });

/** Finer than a person sees on a curve of an hour. */
export const HISTORY_EVERY_MS = 10_000;
/** A day of them: half a megabyte for each ERP target. */
const POINTS_KEPT = 8_640;
/** By so much Redis' clock may step back before points count as ones of a time to come: no more than a short gap. */
const AHEAD_MS = 60_000;

/** Totals of an ERP target at one moment. */
export interface TargetFigures {
  readonly expected: number;
  readonly resolved: number;
  readonly postings: number;
  /** The ERP's own number; null where it was not known. */
  readonly documents: number | null;
}

export interface HistoryPoint {
  /** ms by Redis' clock. */
  readonly at: number;
  readonly targets: ReadonlyMap<string, TargetFigures>;
}

/**
 * Writes a point of the present interval of `everyMs`. Resolves to false where the interval has one already: each replica
 * may write, and the first one does.
 */
export async function noteHistory(
  redis: Redis,
  keys: Keyspace,
  targets: ReadonlyMap<string, TargetFigures>,
  everyMs = HISTORY_EVERY_MS,
): Promise<boolean> {
  if (targets.size === 0) return false;
  const fields = [...targets].flatMap(([target, { expected, resolved, postings, documents }]) => [
    target,
    [expected, resolved, postings, documents ?? ''].join(' '),
  ]);
  const [wrote] = await script.run(redis, [keys.history], [everyMs, POINTS_KEPT, AHEAD_MS, ...fields]);
  return wrote === 1;
}

/**
 * The last point of each step of the latest `rangeMs`, oldest first; steps without one are left out. The work is that of the
 * steps, however many points there are.
 */
export async function readHistory(
  redis: Redis,
  keys: Keyspace,
  { rangeMs, stepMs }: { readonly rangeMs: number; readonly stepMs: number },
): Promise<HistoryPoint[]> {
  const newest = Math.floor((await redisNowMs(redis)) / stepMs) * stepMs;
  const pipeline = redis.pipeline();
  for (let from = newest - rangeMs + stepMs; from <= newest; from += stepMs)
    pipeline.xrevrange(keys.history, from + stepMs - 1, from, 'COUNT', 1);
  return ((await pipeline.exec()) ?? []).flatMap(([error, reply]) => {
    if (error) throw error;
    return (reply as [id: string, fields: string[]][]).map(pointOf);
  });
}

function pointOf([id, flat]: [id: string, fields: string[]]): HistoryPoint {
  const targets = new Map<string, TargetFigures>();
  for (let index = 0; index + 1 < flat.length; index += 2) {
    const [expected, resolved, postings, documents] = (flat[index + 1] ?? '').split(' ');
    targets.set(flat[index] ?? '', {
      expected: Number(expected),
      resolved: Number(resolved),
      postings: Number(postings),
      documents: documents ? Number(documents) : null,
    });
  }
  return { at: Number.parseInt(id, 10), targets };
}
