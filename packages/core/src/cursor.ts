import { hashId } from '@breakwater/contracts/ids';
import { AppError } from '@breakwater/runtime/errors';
import type { IndexPlace } from '@breakwater/store/indexes';
import { z } from 'zod';

const Cursor = z.tuple([z.literal(1), z.string(), z.string(), z.number(), z.string().max(200)]);

/** The same for the same filters, whatever their order. An operator is one of them: a cursor opens no one else's list. */
const queryHash = (query: object): string =>
  hashId(
    ...Object.entries(query)
      .filter(([, value]) => value !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([name, value]) => [name, String(value)]),
  );

/** A place in a list, as text that callers hand back. `way`: which index it is a place of. */
export const cursorFor = (query: object, way: string, { score, id }: IndexPlace): string =>
  Buffer.from(JSON.stringify([1, queryHash(query), way, score, id])).toString('base64url');

/** Throws AppError request_invalid where the text is no cursor, or one of another query. */
export function readCursor(
  text: string,
  query: object,
): { readonly way: string; readonly place: IndexPlace } {
  let json: unknown;
  try {
    json = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    json = undefined;
  }
  const parsed = Cursor.safeParse(json);
  if (!parsed.success)
    throw new AppError('request_invalid', 'The cursor is none of ours: begin again without one.');
  const [, hash, way, score, id] = parsed.data;
  if (hash !== queryHash(query))
    throw new AppError(
      'request_invalid',
      'The cursor belongs to another query: keep the filters, or begin again.',
    );
  return { way, place: { score, id } };
}
