import { z } from 'zod';

/** Longest latency that may be asked for: beyond ten minutes every client has given up, and `hang` says it better. */
const MAX_LATENCY_MS = 600_000;

const latency = z.number().min(0).max(MAX_LATENCY_MS);
const LATENCY = `expected milliseconds from 0 to ${MAX_LATENCY_MS}, or [min, max] with min <= max`;
const probability = z.number().min(0).max(1);

/** What is wrong with the ERP at the moment. `PUT /api/faults` replaces all of them, so an empty object heals it. */
export const Faults = z.strictObject({
  /** Time a posting takes inside its warehouse's queue, milliseconds: fixed, or drawn evenly from [min, max]. */
  latencyMs: z
    .union([latency, z.tuple([latency, latency]).refine(([min, max]) => min <= max, LATENCY)], LATENCY)
    .default(0),
  /** Share of requests answered 500 without being applied; look-ups too. */
  errorRate: probability.default(0),
  /** Share of postings that are applied and whose answer is then lost. */
  dropAfterPost: probability.default(0),
  /** Postings are neither answered nor applied. */
  hang: z.boolean().default(false),
  /** A second posting of a reference answers 409, as a well-built ERP would. */
  uniqueReference: z.boolean().default(false),
  /** `/api/receipts` breaks every connection. */
  down: z.boolean().default(false),
});
export type Faults = z.infer<typeof Faults>;

export const NO_FAULTS: Faults = Faults.parse({});

/** How long the next posting takes, in milliseconds. `random` gives [0, 1). */
export function drawLatencyMs(faults: Faults, random: () => number): number {
  if (typeof faults.latencyMs === 'number') return faults.latencyMs;
  const [min, max] = faults.latencyMs;
  return min + random() * (max - min);
}
