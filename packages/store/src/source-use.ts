import { hashId } from '@breakwater/contracts/ids';
import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import { loadScript } from './script.ts';

const script = loadScript('note-source-use', { prelude: false });

export const HOUR_MS = 3_600_000;
/** Two weeks: one to compare with, and as long a silence again before what it is compared with could be overwritten. */
export const HOURS_KEPT = 14 * 24;

/** A secret by its id and its value: who renames `current` to `old` must not be shown the uses of the former `old`. */
export interface SecretName {
  readonly id: string;
  readonly value: string;
}

/** What is known of a source's use, all times ms since the epoch; undefined where it has not been seen. */
export interface SourceUse {
  /** When ingest first ran with the source. */
  readonly observedSince: number | undefined;
  /** The latest verified request, whatever became of it. */
  readonly lastSeenAt: number | undefined;
  /** The latest request that brought a new event. */
  readonly lastAcceptedAt: number | undefined;
  /** Verified requests by hour (hours since the epoch), the last HOURS_KEPT that had any at most. */
  readonly hours: ReadonlyMap<number, number>;
  readonly ofSecret: (secret: SecretName) => SecretUse;
}

export interface SecretUse {
  /** When ingest first ran with this value under this id. */
  readonly knownSince: number | undefined;
  readonly lastUsedAt: number | undefined;
}

/** What a process saw since it last told. Counts are of verified requests. */
export interface UseNote {
  readonly lastSeenAt?: number;
  readonly lastAcceptedAt?: number;
  readonly hours: ReadonlyMap<number, number>;
  readonly secrets: readonly { readonly secret: SecretName; readonly lastUsedAt: number }[];
}

/**
 * Tells a changed value from the former one. Three characters (about 18 bits) are enough for that, and confirm no guess: of
 * all guesses at a secret one in 240,000 looks right by chance.
 */
const tagOf = (source: string, { id, value }: SecretName): string =>
  `${id}:${hashId('source-use', source, id, value).slice(0, 3)}`;

/** Adds a note to what is known. A lost answer makes ioredis send it again: counts may then be doubled, times not. */
export async function noteSourceUse(
  redis: Redis,
  keys: Keyspace,
  source: string,
  note: UseNote,
): Promise<void> {
  await tell(redis, keys, source, [
    ...(note.lastSeenAt === undefined ? [] : [['lastSeenAt', note.lastSeenAt] as const]),
    ...(note.lastAcceptedAt === undefined ? [] : [['lastAcceptedAt', note.lastAcceptedAt] as const]),
    ...note.secrets.map(({ secret, lastUsedAt }) => [`secret:${tagOf(source, secret)}`, lastUsedAt] as const),
    ...[...note.hours].map(([hour, count]) => ['h', `${hour}:${count}`] as const),
  ]);
}

/** Longer than any rotation, and than a deployment runs beside one with another configuration. */
const FORGET_AFTER_MS = 90 * 24 * HOUR_MS;

/**
 * Notes that ingest runs with these secrets, from when on is kept of the first time: "never used" means since then. What is
 * known of others is forgotten once it is 90 days old, or every secret there ever was would stay in the record.
 */
export async function noteSourceKnown(
  redis: Redis,
  keys: Keyspace,
  source: string,
  secrets: readonly SecretName[],
  now: number,
): Promise<void> {
  const known = secrets.map((secret) => [`since:${tagOf(source, secret)}`, now] as const);
  await tell(redis, keys, source, [['since', now], ...known], [now - FORGET_AFTER_MS, FORGET_AFTER_MS]);
}

async function tell(
  redis: Redis,
  keys: Keyspace,
  source: string,
  pairs: readonly (readonly [field: string, value: string | number])[],
  forget: readonly number[] = [],
): Promise<void> {
  await script.run(redis, [keys.sourceUse(source)], [HOURS_KEPT, pairs.length, ...pairs.flat(), ...forget]);
}

const timeOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : Number(text);

export async function readSourceUse(redis: Redis, keys: Keyspace, source: string): Promise<SourceUse> {
  const fields = await redis.hgetall(keys.sourceUse(source));
  const hours = new Map<number, number>();
  for (const [field, text] of Object.entries(fields)) {
    const [, hour, count] = (/^h\d+$/.test(field) && /^(\d+):(\d+)$/.exec(text)) || [];
    if (hour !== undefined && count !== undefined) hours.set(Number(hour), Number(count));
  }
  return {
    observedSince: timeOf(fields['since']),
    lastSeenAt: timeOf(fields['lastSeenAt']),
    lastAcceptedAt: timeOf(fields['lastAcceptedAt']),
    hours,
    ofSecret: (secret) => ({
      knownSince: timeOf(fields[`since:${tagOf(source, secret)}`]),
      lastUsedAt: timeOf(fields[`secret:${tagOf(source, secret)}`]),
    }),
  };
}
