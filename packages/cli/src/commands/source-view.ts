import type { SourceReport } from '@breakwater/core/source-report';
import { secretAdvice, secretUseInWords, silenceInWords } from '@breakwater/core/source-words';
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
    ['silent', silenceInWords(source)],
  ]);
  if (secrets.length === 0) return head;
  const lines = renderFields(
    secrets.map((secret) => [
      `  ${secret.id}`,
      `${secretUseInWords(secret, now, formatTime)}; ${secretAdvice(secret, now, unusedFor, formatTime)}`,
    ]),
  );
  return `${head}\n\nsecrets\n${lines}`;
}
