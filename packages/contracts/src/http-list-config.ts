import { z } from 'zod';
import { timeout } from './duration.ts';
import { expression } from './expression-syntax.ts';

/** How an `http` target lists its documents, page by page: for reconciliation. */
export const HttpList = z.strictObject({
  /** Over `since` (ISO 8601) and `after` (what `next` gave for the page before; nothing for the first one). */
  path: expression,
  timeout: timeout.default(10_000),
  /** Array of items in the answer (`answer`). */
  items: expression,
  /** Of each `item`. */
  reference: expression,
  documentId: expression,
  /** When it was made: ISO 8601 or ms since the epoch. Items before `since` are left out, so the ERP need not filter. */
  at: expression,
  /** False for an `item` that has no effect yet. */
  complete: expression.optional(),
  /** What the next page begins after, from the answer; nothing where this is the last one. Without it there is one page. */
  next: expression.optional(),
});
export type HttpList = z.infer<typeof HttpList>;
