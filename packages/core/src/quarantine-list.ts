import type { Source } from '@breakwater/contracts/source-config';
import { AppError } from '@breakwater/runtime/errors';
import type { Redis } from '@breakwater/store/connection';
import type { IndexPlace } from '@breakwater/store/indexes';
import type { Keyspace } from '@breakwater/store/keys';
import {
  listQuarantinePlaces,
  type QuarantineEntry,
  type QuarantineFacts,
  readQuarantine,
  readQuarantineFacts,
} from '@breakwater/store/quarantine';
import { cursorFor, readCursor } from './cursor.ts';
import type { NamedSource } from './source-report.ts';

/**
 * One page of what is in quarantine of an operator's sources, the latest first; what comes meanwhile is above the first page.
 * Throws AppError request_invalid for a cursor of another query.
 */
export async function pageOfQuarantine(
  redis: Redis,
  keys: Keyspace,
  query: { readonly operator: string; readonly source?: string },
  sources: readonly NamedSource[],
  page: { readonly limit: number; readonly cursor?: string },
): Promise<{ readonly entries: QuarantineFacts[]; readonly nextCursor: string | null }> {
  const asked = { list: 'quarantine', ...query };
  const after = page.cursor === undefined ? undefined : readCursor(page.cursor, asked).place;
  const names = sources.map(([name]) => name);
  const places = (await listQuarantinePlaces(redis, keys, names)).filter(
    (place) => after === undefined || isBehind(place, after),
  );
  const shown = places.slice(0, page.limit);
  const last = shown.at(-1);
  const entries = await readQuarantineFacts(
    redis,
    keys,
    shown.map(({ id }) => id),
  );
  return {
    // A source may have been another operator's when the request came.
    entries: entries.filter(({ operator }) => operator === query.operator),
    nextCursor: last && places.length > shown.length ? cursorFor(asked, 'quarantine', last) : null,
  };
}

const isBehind = (place: IndexPlace, after: IndexPlace): boolean =>
  place.score < after.score || (place.score === after.score && place.id < after.id);

/** One entry of an operator. Throws AppError not_found, for another operator's too. */
export async function findQuarantined(
  redis: Redis,
  keys: Keyspace,
  operator: string,
  id: string,
): Promise<QuarantineEntry> {
  const entry = await readQuarantine(redis, keys, id);
  if (entry?.operator !== operator)
    throw new AppError('not_found', `Nothing of operator ${operator} is in quarantine as ${id}.`);
  return entry;
}

/** The source that an entry came to, as it is configured today. Throws AppError source_unknown where it is gone. */
export function sourceOfEntry(
  { source: name, operator }: Pick<QuarantineEntry, 'source' | 'operator'>,
  sources: readonly NamedSource[],
): Source {
  const source = sources.find(([own]) => own === name)?.[1];
  if (source === undefined)
    throw new AppError('source_unknown', `Operator ${operator} has no source ${name} any more.`);
  return source;
}

/** An entry as it is shown: of the headers only the names, and no body. */
export const viewOfQuarantined = ({
  id,
  source,
  receivedAt,
  code,
  message,
  headers,
  sizeBytes,
}: QuarantineFacts) => ({
  id,
  source,
  receivedAt,
  code,
  message,
  headers: Object.keys(headers),
  sizeBytes,
});
