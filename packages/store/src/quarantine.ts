import type { Redis } from 'ioredis';
import { z } from 'zod';
import { auditEntry } from './audit.ts';
import type { Keyspace } from './keys.ts';
import { loadScript } from './script.ts';

/** A request that was refused and may be admitted once a secret or a setting is right. */
export interface QuarantineEntry {
  readonly id: string;
  readonly operator: string;
  readonly source: string;
  /** ms, the clock of the ingest that received it. */
  readonly receivedAt: number;
  readonly code: string;
  readonly message: string;
  readonly method: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly body: Buffer;
}

/** Strangers fill it, so it is bounded: 100 bodies of at most 64 KiB are 9 MB in base64, for a source under attack. */
const MAX_ENTRIES = 100;
const KEEP_MS = 24 * 60 * 60_000; // long enough for the person who is paged in the morning
const script = loadScript('quarantine', { prelude: false });

export async function writeQuarantine(redis: Redis, keys: Keyspace, entry: QuarantineEntry): Promise<void> {
  const { headers, body, ...facts } = entry;
  const fields = Object.entries({
    ...facts,
    headers: JSON.stringify(headers),
    body: body.toString('base64'),
  }).flat();
  await script.run(
    redis,
    [keys.quarantine(entry.source), keys.quarantineEntry(entry.id)],
    [entry.id, entry.receivedAt, MAX_ENTRIES, KEEP_MS, keys.quarantineEntry(''), ...fields],
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

/** A source's entries, newest first. At most 100. */
export async function listQuarantine(
  redis: Redis,
  keys: Keyspace,
  source: string,
): Promise<QuarantineEntry[]> {
  const ids = await redis.zrange(keys.quarantine(source), 0, '-1');
  const entries = await Promise.all(ids.toReversed().map((id) => readQuarantine(redis, keys, id)));
  return entries.filter((entry) => entry !== undefined);
}

/** Removes an entry whose events were accepted, audited in the same step. */
export async function releaseQuarantine(
  redis: Redis,
  keys: Keyspace,
  { id, source, operator }: QuarantineEntry,
  by: { readonly actor: string; readonly reason: string },
): Promise<void> {
  await redis
    .multi()
    .del(keys.quarantineEntry(id))
    .zrem(keys.quarantine(source), id)
    .xadd(
      ...auditEntry(keys.audit, {
        action: 'quarantine.retry',
        operator,
        actor: by.actor,
        source,
        entry: id,
        reason: by.reason,
      }),
    )
    .exec();
}
