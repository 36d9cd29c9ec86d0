import type { Redis } from '@breakwater/store/connection';
import { type AuditRecord, readAuditPage } from '@breakwater/store/audit';
import type { Keyspace } from '@breakwater/store/keys';
import { cursorFor, readCursor } from './cursor.ts';

export interface AuditQuery {
  /** Entries of this operator; of all where it is left out. */
  readonly operator?: string;
  /** `*` at the end stands for any text. */
  readonly action?: string;
}

export interface AuditEntry {
  readonly id: string;
  readonly at: number;
  readonly action: string;
  readonly operator: string;
  readonly actor: string;
  readonly reason: string | null;
  readonly before: unknown;
  readonly after: unknown;
  readonly facts: Readonly<Record<string, string>>;
}

const CHUNK = 500;

/**
 * One page of the audit log, newest first. The log holds about 100,000 entries, so a look at all of it is bounded; a page goes on until
 * it is full. Nothing of it says how much others did: its cursor is the place of the page's own last entry.
 * Throws AppError request_invalid for a cursor of another query.
 */
export async function listAudit(
  redis: Redis,
  keys: Keyspace,
  query: AuditQuery,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<{ readonly entries: AuditEntry[]; readonly nextCursor: string | null }> {
  let before = page.cursor === undefined ? undefined : readCursor(page.cursor, query).place.id;
  const entries: AuditEntry[] = [];
  for (;;) {
    const records = await readAuditPage(redis, keys, before, CHUNK);
    for (const record of records) {
      before = record.id;
      if (!fits(record, query)) continue;
      if (entries.length === page.limit)
        return { entries, nextCursor: cursorFor(query, 'audit', { score: 0, id: entries.at(-1)?.id ?? '' }) };
      entries.push(toEntry(record));
    }
    if (records.length < CHUNK) return { entries, nextCursor: null };
  }
}

function fits({ fields }: AuditRecord, { operator, action }: AuditQuery): boolean {
  if (operator !== undefined && fields['operator'] !== operator) return false;
  const name = fields['action'] ?? '';
  if (action === undefined) return true;
  return action.endsWith('*') ? name.startsWith(action.slice(0, -1)) : name === action;
}

function toEntry({ id, fields }: AuditRecord): AuditEntry {
  const { action = '', operator = '', actor = '', reason, before, after, ...facts } = fields;
  return {
    id,
    at: Number(id.split('-')[0]),
    action,
    operator,
    actor,
    reason: reason || null,
    before: parsed(before),
    after: parsed(after),
    facts,
  };
}

const parsed = (json: string | undefined): unknown => (json === undefined ? null : JSON.parse(json));
