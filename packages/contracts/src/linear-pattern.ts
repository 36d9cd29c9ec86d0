import { RE2JS } from 're2js';

/** A stretch of a text, from `start` up to and without `end`. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** A regular expression whose time grows with the length of the text and no faster, whoever wrote either. */
export interface LinearPattern {
  /** Every match, from left to right: of the first group where the pattern has one and it matched. Empty ones are left out. */
  readonly find: (text: string) => Span[];
}

/**
 * RE2's syntax: no look-around and no back-references, which are what backtracking is for. Throws Error with the reason
 * for what is no pattern.
 */
export function linearPattern(source: string, { ignoreCase = false } = {}): LinearPattern {
  const pattern = RE2JS.compile(source, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
  const hasGroup = pattern.groupCount() > 0;
  return {
    find: (text) => {
      const spans: Span[] = [];
      const matcher = pattern.matcher(text);
      while (matcher.find()) {
        const group = hasGroup && matcher.start(1) >= 0 ? 1 : 0;
        const span = { start: matcher.start(group), end: matcher.end(group) };
        if (span.end > span.start) spans.push(span);
      }
      return spans;
    },
  };
}

/** What is wrong with a pattern that is to mask texts; undefined when nothing is. */
export function maskPatternMistake(source: string): string | undefined {
  try {
    const pattern = RE2JS.compile(source);
    return pattern.matcher('').find()
      ? 'matches the empty text, so it would mask nothing or everything'
      : undefined;
  } catch (error) {
    return `is no pattern (RE2 syntax, without look-around and back-references): ${error instanceof Error ? error.message : String(error)}`;
  }
}
