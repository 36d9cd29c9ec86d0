import type { BreakwaterConfig } from '@breakwater/contracts/config';
import type { Source } from '@breakwater/contracts/source-config';
import type { Redis } from '@breakwater/store/connection';
import type { Keyspace } from '@breakwater/store/keys';
import { readSourceUse } from '@breakwater/store/source-use';
import { judgeSecrets } from './secret-use.ts';
import { judgeSilence } from './silence.ts';

/** How long a secret is unused before it counts so: as long as most senders go on repeating, and the rhythm of what comes once a week. */
export const UNUSED_FOR_MS = 7 * 86_400_000;

export type NamedSource = readonly [name: string, source: Source];

/** The configured sources of an operator. */
export const sourcesOfOperator = (
  { sources }: Pick<BreakwaterConfig, 'sources'>,
  operator: string,
): NamedSource[] => Object.entries(sources).filter(([, source]) => source.operator === operator);

/**
 * A source as it is shown: when it was last heard of, whether it has gone quiet, which of its secrets are in use; never a secret's
 * value. `unusedForMs`: how long a secret must be unused to be called safe to remove.
 */
export async function describeSource(
  redis: Redis,
  keys: Keyspace,
  [name, source]: NamedSource,
  now: number,
  unusedForMs: number,
) {
  const use = await readSourceUse(redis, keys, name);
  const { silent, patienceMs, expected } = judgeSilence(use, now);
  return {
    name,
    operator: source.operator,
    preset: source.preset ?? null,
    observedSince: use.observedSince ?? null,
    lastSeenAt: use.lastSeenAt ?? null,
    lastAcceptedAt: use.lastAcceptedAt ?? null,
    silent,
    patienceMs: patienceMs ?? null,
    expected: Math.round(expected),
    secrets: judgeSecrets(source, use, now, unusedForMs),
  };
}
export type SourceReport = Awaited<ReturnType<typeof describeSource>>;
