/** How far back the curve of the overview goes, and how far apart its points are: never more than 360. */
export const HISTORY_RANGES = {
  '1h': { rangeMs: 3_600_000, stepMs: 10_000 },
  '6h': { rangeMs: 6 * 3_600_000, stepMs: 60_000 },
  '24h': { rangeMs: 24 * 3_600_000, stepMs: 240_000 },
} as const;
export type HistoryRange = keyof typeof HISTORY_RANGES;
export const HISTORY_RANGE_NAMES = ['1h', '6h', '24h'] as const satisfies readonly HistoryRange[];
