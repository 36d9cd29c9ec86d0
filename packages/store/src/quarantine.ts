import type { Redis } from 'ioredis';
import { z } from 'zod';
import type { IndexPlace } from './indexes.ts';
import type { Keyspace } from './keys.ts';
import { loadScript } from './script.ts';

/** A refused request, without its bytes. */
export interface QuarantineFacts {
  readonly id: string;
  readonly operator: string;
  readonly source: string;
  /** ms, the clock of the ingest that received it. */
  readonly receivedAt: number;
  readonly code: string;
  readonly message: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly sizeBytes: number;
}

/** A request that was refused and may be admitted once a secret or a setting is right. */
export interface QuarantineEntry extends Omit<QuarantineFacts, 'sizeBytes'> {
  readonly method: string;
  readonly query: string;
  readonly body: Buffer;
}

/** Of each source, and apart those whose sender knows a secret: 100 bodies of at most 64 KiB are 9 MB in base64. */
const MAX_ENTRIES = 100;
/** What anybody who reaches the port can fill, however many sources there are: 45 MB. */
const MAX_UNVERIFIED = 500;
const KEEP_MS = 24 * 60 * 60_000; // long enough for the person who is paged in the morning
const script = loadScript('quarantine', { prelude: false });
const release = loadScript('release-quarantine', { prelude: false });

/** Keeps an entry; one of the same id stays as it is. `verified`: its sender knows a secret of the source. */
export async function writeQuarantine(
  redis: Redis,
  keys: Keyspace,
  entry: QuarantineEntry,
  verified: boolean,
): Promise<void> {
  const { headers, body, ...facts } = entry;
  const fields = Object.entries({
    ...facts,
    headers: JSON.stringify(headers),
    sizeBytes: body.length,
    body: body.toString('base64'),
  }).flat();
  const [list, all] = verified
    ? [keys.quarantineVerified, []]
    : [keys.quarantine, [keys.quarantineUnverified]];
  await script.run(
    redis,
    [keys.quarantineEntry(entry.id), list(entry.source), ...all],
    [entry.id, MAX_ENTRIES, MAX_UNVERIFIED, KEEP_MS, keys.quarantineEntry(''), list(''), ...fields],
  );
}

const Headers = z.record(z.string(), z.array(z.string()));

/** Undefined where there is none, or no more. */
export async function readQuarantine(
  redis: Redis,
  keys: Keyspace,
  id: string,
): Promise<QuarantineEntry | undefined> {
  const fields = await redis.hgetall(keys.quarantineEntry(id));
  if (fields['source'] === undefined) return undefined;
  return {
    id,
    operator: fields['operator'] ?? '',
    source: fields['source'],
    receivedAt: Number(fields['receivedAt']),
    code: fields['code'] ?? '',
    message: fields['message'] ?? '',
    method: fields['method'] ?? 'POST',
    query: fields['query'] ?? '',
    headers: Headers.parse(JSON.parse(fields['headers'] ?? '{}')),
    body: Buffer.from(fields['body'] ?? '', 'base64'),
  };
}

const FACTS = ['operator', 'source', 'receivedAt', 'code', 'message', 'headers', 'sizeBytes'] as const;

/** A source's entries, newest first. Without bodies, of which a source may hold 18 MB. */
export async function listQuarantine(redis: Redis, keys: Keyspace, name: string): Promise<QuarantineFacts[]> {
  const places = await listQuarantinePlaces(redis, keys, [name]);
  const found = await readQuarantineFacts(
    redis,
    keys,
    places.map(({ id }) => id),
  );
  return found.toSorted((one, other) => other.receivedAt - one.receivedAt);
}

/** Where the entries of these sources are: when each was kept, the latest first. At most 200 of a source, as numbers alone. */
export async function listQuarantinePlaces(
  redis: Redis,
  keys: Keyspace,
  names: readonly string[],
): Promise<IndexPlace[]> {
  const lists = names.flatMap((name) => [keys.quarantine(name), keys.quarantineVerified(name)]);
  const replies = await Promise.all(lists.map((list) => redis.zrange(list, 0, '-1', 'WITHSCORES')));
  return replies
    .flatMap((reply) =>
      Array.from({ length: reply.length / 2 }, (_, index) => ({
        id: reply[2 * index] ?? '',
        score: Number(reply[2 * index + 1]),
      })),
    )
    .toSorted((one, other) => other.score - one.score || (one.id < other.id ? 1 : -1));
}

/** What is known of these entries, without their bodies; those that have left are left out. */
export async function readQuarantineFacts(
  redis: Redis,
  keys: Keyspace,
  ids: readonly string[],
): Promise<QuarantineFacts[]> {
  const found = await Promise.all(
    ids.map(async (id): Promise<QuarantineFacts | undefined> => {
      const [operator, source, receivedAt, code, message, headers, sizeBytes] = await redis.hmget(
        keys.quarantineEntry(id),
        ...FACTS,
      );
      if (source === null || source === undefined) return undefined;
      return {
        id,
        operator: operator ?? '',
        source,
        receivedAt: Number(receivedAt),
        code: code ?? '',
        message: message ?? '',
        headers: Headers.parse(JSON.parse(headers ?? '{}')),
        sizeBytes: Number(sizeBytes),
      };
    }),
  );
  return found.filter((entry) => entry !== undefined);
}

/** Removes an entry whose events were accepted, audited in the same step. */
export async function releaseQuarantine(
  redis: Redis,
  keys: Keyspace,
  { id, source, operator }: Pick<QuarantineEntry, 'id' | 'source' | 'operator'>,
  by: { readonly actor: string; readonly reason: string },
): Promise<void> {
  await release.run(
    redis,
    [
      keys.quarantineEntry(id),
      keys.audit,
      keys.quarantine(source),
      keys.quarantineVerified(source),
      keys.quarantineUnverified,
    ],
    [id, operator, source, by.actor, by.reason],
  );
}
