export interface HeldLines {
  readonly take: (line: string) => void;
  /** Passes on what was held, and from then on everything as it comes. */
  readonly release: () => void;
}

/**
 * Holds back what a service prints until it has started. When it cannot start, its lines are in the report of that, and
 * the same mistake as the other services found it is of no use to anybody.
 */
export function holdLines(pass: (line: string) => void): HeldLines {
  let held: string[] | undefined = [];
  return {
    take(line) {
      if (held === undefined) pass(line);
      else held.push(line);
    },
    release() {
      for (const line of held ?? []) pass(line);
      held = undefined;
    },
  };
}
