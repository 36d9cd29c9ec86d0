import { AppError } from '@breakwater/runtime/errors';
import { z } from 'zod';
import type { ListedDocument } from './adapter.ts';
import type { Rpc } from './tryton-rpc.ts';
import { datetime, readDatetime } from './tryton-wire.ts';

const PAGE = 500;

const Row = z.object({
  id: z.int(),
  number: z.string().nullable(),
  reference: z.string(),
  state: z.string(),
  create_date: z.unknown().transform((value, context) => {
    const ms = readDatetime(value);
    if (ms !== undefined) return ms;
    context.addIssue({ code: 'custom', message: 'no datetime' });
    return z.NEVER;
  }),
});

const silent = (why: string): AppError =>
  new AppError('unavailable', `The ERP did not list its documents: ${why}`);

/** Receipts with a reference that our login made. What people enter under references of their own is not ours. */
const ours = ({ company, uid }: { readonly company: number; readonly uid: number }): unknown[] => [
  ['company', '=', company],
  ['create_uid', '=', uid],
  ['reference', '!=', null],
];

/** Pages through the receipts by id, which grows: what is made meanwhile comes at the end, and nothing is skipped. */
export async function* listReceipts(
  rpc: Rpc,
  timeoutMs: number,
  since: number,
  signal?: AbortSignal,
): AsyncGenerator<ListedDocument> {
  let last = 0;
  for (;;) {
    const after = last;
    const answer = await rpc.read(
      'model.stock.shipment.in.search_read',
      (session) => [
        [
          ...ours(session),
          ['state', '!=', 'cancelled'],
          ['id', '>', after],
          ['create_date', '>=', datetime(since)],
        ],
        0,
        PAGE,
        [['id', 'ASC']],
        ['number', 'reference', 'state', 'create_date'],
      ],
      { deadline: performance.now() + timeoutMs, signal },
    );
    if (answer.kind !== 'result') throw silent(answer.message);
    const rows = z.array(Row).safeParse(answer.value);
    if (!rows.success) throw silent('a page is not readable.');
    for (const { id, number, reference, state, create_date: at } of rows.data) {
      yield { reference, documentId: number ?? String(id), at, complete: state === 'done' };
      last = id;
    }
    if (rows.data.length < PAGE) return;
  }
}

/** Receipts in effect. A draft is not counted: it may be a posting on its way. */
export async function countReceipts(rpc: Rpc, timeoutMs: number): Promise<number> {
  const answer = await rpc.read(
    'model.stock.shipment.in.search_count',
    (session) => [[...ours(session), ['state', '=', 'done']]],
    { deadline: performance.now() + timeoutMs },
  );
  const total = answer.kind === 'result' ? answer.value : undefined;
  if (typeof total === 'number' && Number.isSafeInteger(total) && total >= 0) return total;
  throw new AppError(
    'unavailable',
    `The ERP did not say how many documents it holds: ${answer.kind === 'result' ? 'the answer is no number.' : answer.message}`,
  );
}
