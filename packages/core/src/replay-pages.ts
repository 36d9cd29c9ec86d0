import type { ReplayRun } from '@breakwater/contracts/replay-run';
import type { Redis } from '@breakwater/store/connection';
import { readIndexPage } from '@breakwater/store/indexes';
import type { Keyspace } from '@breakwater/store/keys';
import { readReplayRun } from '@breakwater/store/replay-runs';
import { cursorFor, readCursor } from './cursor.ts';

/**
 * One page of an operator's bulk replays, newest first; those that begin meanwhile move no other.
 * Throws AppError request_invalid for a cursor of another query.
 */
export async function pageOfReplayRuns(
  redis: Redis,
  keys: Keyspace,
  operator: string,
  page: { readonly limit: number; readonly cursor?: string },
): Promise<{ readonly runs: ReplayRun[]; readonly nextCursor: string | null }> {
  const query = { list: 'replays', operator };
  const after =
    page.cursor === undefined
      ? { score: Number.POSITIVE_INFINITY, id: '' }
      : readCursor(page.cursor, query).place;
  const index = keys.replayRuns(operator);
  const entries = await readIndexPage(redis, index, after, Number.NEGATIVE_INFINITY, page.limit);
  const runs = await Promise.all(entries.map(({ id }) => readReplayRun(redis, keys, operator, id)));
  const last = entries.at(-1);
  return {
    runs: runs.filter((run) => run !== undefined), // a run leaves 30 days after its end
    nextCursor: last && entries.length === page.limit ? cursorFor(query, 'replays', last) : null,
  };
}
