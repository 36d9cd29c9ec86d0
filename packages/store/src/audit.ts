import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';

/** About so many entries stay; the scripts write the same stream with the same bound. */
const AUDIT_ENTRIES = 100_000;

/** Arguments of the XADD that writes an audit entry, for use inside a MULTI: the entry belongs to the change it tells of. */
export function auditEntry(
  stream: string,
  fields: Readonly<Record<string, string>>,
): [stream: string, ...(string | number)[]] {
  return [stream, 'MAXLEN', '~', AUDIT_ENTRIES, '*', ...Object.entries(fields).flat()];
}

/** Tells of something that changed no record. */
export async function writeAudit(
  redis: Redis,
  keys: Keyspace,
  fields: Readonly<Record<string, string>>,
): Promise<void> {
  await redis.xadd(...auditEntry(keys.audit, fields));
}

export interface AuditRecord {
  /** Its time is in front of the dash, ms. */
  readonly id: string;
  readonly fields: Readonly<Record<string, string>>;
}

/** Entries before `before`, newest first; from the newest one where that is left out. */
export async function readAuditPage(
  redis: Redis,
  keys: Keyspace,
  before: string | undefined,
  limit: number,
): Promise<AuditRecord[]> {
  const from = before === undefined ? '+' : `(${before}`;
  const entries = await redis.xrevrange(keys.audit, from, '-', 'COUNT', limit);
  return entries.map(([id, flat]) => ({
    id,
    fields: Object.fromEntries(
      Array.from({ length: flat.length / 2 }, (_, index) => [
        flat[2 * index] ?? '',
        flat[2 * index + 1] ?? '',
      ]),
    ),
  }));
}
