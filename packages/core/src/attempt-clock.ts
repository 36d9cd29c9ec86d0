export interface AttemptClock {
  /** ms since the attempt was asked for: the larger of both clocks, so a stopped process or a sleeping machine counts. */
  readonly elapsedMs: () => number;
}

/** Start it before the script that takes the lease is sent: then the lease ends later than this clock says. */
export function startClock(): AttemptClock {
  const monotonic = performance.now();
  const wall = Date.now();
  return { elapsedMs: () => Math.max(performance.now() - monotonic, Date.now() - wall) };
}
