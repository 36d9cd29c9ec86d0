import type { DeepState } from '@breakwater/contracts/reconciliation';
import type { ReadyErpTarget } from '@breakwater/erp/targets';
import { documentsBegun, readReconciliationPart } from '@breakwater/store/reconciliations';
import type { Redis } from '@breakwater/store/connection';
import type { Keyspace } from '@breakwater/store/keys';
import { formatCursor, parseCursor, type ReconcileCursor } from './reconcile-cursor.ts';
import type { DeepPart } from './reconciliation-results.ts';

/**
 * How far a comparison with an ERP has come. One that can only be looked up at a few references a second takes hours; were
 * each restart of a console its beginning, it would never see its end.
 */
export interface ErpProgress {
  /** When it began: the time of its range, ms. */
  readonly at: number;
  readonly cursor: ReconcileCursor;
  readonly state: DeepState;
  /** What was told up to the cursor. */
  readonly told: Omit<DeepPart, 'at' | 'tookMs'>;
}

interface Store {
  readonly redis: Redis;
  readonly keys: Keyspace;
}
type Written = Omit<ErpProgress, 'cursor'> & { readonly cursor: string };

export const writeProgress = (progress: ErpProgress): string =>
  JSON.stringify({ ...progress, cursor: formatCursor(progress.cursor) } satisfies Written);

/** In place of a progress that is over. */
export const NO_PROGRESS = '';

/**
 * Where to go on. Undefined where nothing was begun; where the range is older than `windowMs`, so that nothing in it would be
 * asked for today; and where what the ERP listed is forgotten, without which its postings would look lost.
 */
export async function readProgress(
  { redis, keys }: Store,
  { name, adapter }: ReadyErpTarget,
  now: number,
  windowMs: number,
): Promise<ErpProgress | undefined> {
  const json = await readReconciliationPart(redis, keys, name, 'progress');
  if (json === undefined || json === NO_PROGRESS) return undefined;
  const written: Written = JSON.parse(json);
  const cursor = parseCursor(written.cursor);
  if (now - written.at > windowMs) return undefined;
  if (adapter.list && (await documentsBegun(redis, keys, cursor.run ?? '')) === undefined) return undefined;
  return { ...written, cursor };
}
