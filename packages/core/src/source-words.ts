import { formatDuration } from '@breakwater/contracts/duration';
import type { SecretReport } from './secret-use.ts';
import type { SourceReport } from './source-report.ts';

/** What the reports of a source say, for people. */

/** Is the source silent? */
export function silenceInWords({
  silent,
  patienceMs,
  expected,
}: Pick<SourceReport, 'silent' | 'patienceMs' | 'expected'>): string {
  if (patienceMs === null) return 'not known: it takes a week of observed requests to know what is usual';
  if (!silent) return 'no';
  return `yes: about ${expected} requests usually come in such a time, and none for ${formatDuration(patienceMs)} is unusual`;
}

/** When a secret was used. `formatTime`: a moment and how far away it is. */
export function secretUseInWords(
  { lastUsedAt, knownSince }: Pick<SecretReport, 'lastUsedAt' | 'knownSince'>,
  now: number,
  formatTime: FormatTime,
): string {
  if (lastUsedAt !== null) return `last used ${ago(lastUsedAt, now)}`;
  return knownSince === null ? 'never used' : `never used since ${formatTime(knownSince, now)}`;
}

/** Can a rotation end by removing the secret, and why. `unusedFor`: how long it must be unused, in words. */
export function secretAdvice(
  { state, insteadUsed, lastUsedAt, knownSince, notAfter, notBefore }: SecretReport,
  now: number,
  unusedFor: string,
  formatTime: FormatTime,
): string {
  switch (state) {
    case 'removable':
      return `safe to remove: not used for ${spell(now - (lastUsedAt ?? knownSince ?? now))} while ${insteadUsed.join(', ')} was`;
    case 'in_use':
      return `keep: ${unusedFor} without a use are needed to say that it can go`;
    case 'only_one':
      return 'keep: a check has no other secret in force';
    case 'waiting':
      return 'keep: no other secret was used since, so nothing shows that it can go';
    case 'unneeded':
      return 'safe to remove: no check uses it';
    case 'expired':
      return `safe to remove: not in force since ${formatTime(notAfter, now)}`;
    case 'not_yet':
      return `keep: in force from ${formatTime(notBefore, now)}`;
    case 'unknown':
      return 'keep: ingest has not run with this value yet';
  }
}

type FormatTime = (at: number | null, now: number) => string;

const ago = (at: number, now: number): string => (now - at < 1_000 ? 'just now' : `${spell(now - at)} ago`);

/** `3 days`, where that says enough; `1h 5m` below two days. */
const spell = (ms: number): string =>
  ms >= 2 * DAY_MS ? `${Math.floor(ms / DAY_MS)} days` : formatDuration(ms);
const DAY_MS = 86_400_000;
