import { LATEST_MS } from '@breakwater/contracts/duration';
import { AppError } from '@breakwater/runtime/errors';
import { z } from 'zod';

const instant = z.number().min(-LATEST_MS).max(LATEST_MS);

/**
 * Where a reconciliation stands. It says everything that is needed to go on, so that whoever was cut off, or asked for a
 * page only, goes on without looking at the same events again.
 */
const Cursor = z.strictObject({
  v: z.literal(1),
  target: z.string(),
  since: instant,
  until: instant,
  /** Name of what the ERP listed; none when it is not asked. */
  run: z.string().optional(),
  phase: z.enum(['documents', 'records', 'events']),
  /** documents: made at or after, ms. */
  listedTo: instant.optional(),
  /** records: the last event that was looked at. */
  after: z.strictObject({ at: z.number(), event: z.string() }).optional(),
});
export type ReconcileCursor = z.infer<typeof Cursor>;

export const formatCursor = (cursor: ReconcileCursor): string =>
  Buffer.from(JSON.stringify(cursor)).toString('base64url');

/** Throws AppError request_invalid for what is no cursor of ours. */
export function parseCursor(text: string): ReconcileCursor {
  try {
    return Cursor.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')));
  } catch (cause) {
    throw new AppError('request_invalid', 'The cursor is none that a reconciliation gave.', {
      cause,
      remedy: 'Copy it whole from the end of the page before, or leave it out to begin anew.',
    });
  }
}
