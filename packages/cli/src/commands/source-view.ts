import { formatDuration } from '@breakwater/contracts/duration';
import type { SecretReport } from '@breakwater/core/secret-use';
import type { SourceReport } from '@breakwater/core/source-report';
import { renderFields } from '../output/table.ts';
import { formatTime } from '../output/time.ts';

export function renderSource(source: SourceReport, now: number, unusedFor: string): string {
  const { observedSince, lastSeenAt, secrets } = source;
  const head = renderFields([
    ['name', source.name],
    ['operator', source.operator],
    ['preset', source.preset ?? '-'],
    [
      'observed since',
      observedSince === null ? 'never: ingest has not run with it yet' : formatTime(observedSince, now),
    ],
    ['last seen', lastSeenAt === null ? 'never' : formatTime(lastSeenAt, now)],
    ['last new event', source.lastAcceptedAt === null ? 'never' : formatTime(source.lastAcceptedAt, now)],
    ['silent', silence(source)],
  ]);
  if (secrets.length === 0) return head;
  const lines = renderFields(
    secrets.map((secret) => [`  ${secret.id}`, `${use(secret, now)}; ${advice(secret, now, unusedFor)}`]),
  );
  return `${head}\n\nsecrets\n${lines}`;
}

function silence({ silent, patienceMs, expected }: SourceReport): string {
  if (patienceMs === null) return 'not known: it takes a week of observed requests to know what is usual';
  if (!silent) return 'no';
  return `yes: about ${expected} requests usually come in such a time, and none for ${formatDuration(patienceMs)} is unusual`;
}

const ago = (at: number, now: number): string => (now - at < 1_000 ? 'just now' : `${spell(now - at)} ago`);

/** `3 days`, where that says enough; `1h 5m` below two days. */
const spell = (ms: number): string =>
  ms >= 2 * DAY_MS ? `${Math.floor(ms / DAY_MS)} days` : formatDuration(ms);
const DAY_MS = 86_400_000;

function use({ lastUsedAt, knownSince }: SecretReport, now: number): string {
  if (lastUsedAt !== null) return `last used ${ago(lastUsedAt, now)}`;
  return knownSince === null ? 'never used' : `never used since ${formatTime(knownSince, now)}`;
}

function advice(
  { state, insteadUsed, lastUsedAt, knownSince, notAfter, notBefore }: SecretReport,
  now: number,
  unusedFor: string,
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
