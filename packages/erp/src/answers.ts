import type { HttpAdapter } from '@breakwater/contracts/target-config';

/** What an answer to a post means. */
export const MEANINGS = ['posted', 'duplicate', 'rejected', 'failed', 'unknown'] as const;
export type Meaning = (typeof MEANINGS)[number];
export type Answers = HttpAdapter['post']['answers'];

const LISTED = ['posted', 'duplicate', 'rejected', 'failed'] as const satisfies readonly (Meaning &
  keyof Answers)[];

/**
 * Answers that no ERP gives after applying a document: wrong credentials, wrong address, no complete request, "slow
 * down" (RFC 9110, RFC 6585, RFC 8470). They stand above a configured class such as `rejected: [4xx]`, or an expired
 * password would dead-letter a night of documents; a configured number stands above them.
 */
const SURELY_NOT_APPLIED: ReadonlySet<number> = new Set([401, 403, 404, 408, 425, 429]);
export const isSurelyNotApplied = (status: number): boolean => SURELY_NOT_APPLIED.has(status);

/** Lists that contradict each other, as one sentence each. Which of two lists wins must not be a guess. */
export function contradictions(answers: Answers): string[] {
  const lists = new Map<number | string, string[]>();
  for (const meaning of LISTED) {
    for (const status of new Set(answers[meaning]))
      lists.set(status, [...(lists.get(status) ?? []), meaning]);
  }
  return [...lists]
    .filter(([, names]) => names.length > 1)
    .map(([status, names]) => `${status} is in ${names.join(' and ')}: keep one`);
}

/** Is a status in a list of numbers and classes? */
export const isListed = (status: number, list: readonly (number | string)[]): boolean =>
  list.some((entry) => entry === status || entry === `${Math.trunc(status / 100)}xx`);

/**
 * The meaning of a status: a configured number, then the statuses that are surely not applied, then a configured class.
 * Everything else is `unknown`, 5xx and also an unexpected 2xx, 3xx, 400, 409 or 422: an answer nobody described proves
 * neither that the document is there nor that it is not (a 409 may well mean "I have it", a 302 may come after the
 * insert), and reading it as "not applied" is how documents get posted twice. An unknown costs one look-up.
 */
export function meaningOf(status: number, answers: Answers): Meaning {
  const listed = (entry: number | string): Meaning | undefined =>
    LISTED.find((meaning) => answers[meaning].some((candidate) => candidate === entry));
  const byNumber = listed(status);
  if (byNumber !== undefined) return byNumber;
  if (isSurelyNotApplied(status)) return 'failed';
  return listed(`${Math.trunc(status / 100)}xx`) ?? 'unknown';
}
