import { z } from 'zod';
import { type Trouble, isTrouble, notSent } from './tryton-answer.ts';
import type { TrytonReceipt } from './tryton-receipt.ts';
import type { Caller, Rpc } from './tryton-rpc.ts';

const Row = z.object({
  id: z.int(),
  number: z.string().nullable(),
  state: z.enum(['draft', 'received', 'done', 'cancelled']),
  create_uid: z.int().nullable(),
  'supplier.': z.object({ code: z.string().nullable() }),
  'warehouse.': z.object({ code: z.string().nullable() }),
});
type Row = z.infer<typeof Row>;

export interface Shipment {
  readonly id: number;
  readonly receipt: string;
  readonly state: 'draft' | 'received' | 'done' | 'cancelled';
}

/** What the ERP holds under one reference, cancelled documents left out. */
export interface Held {
  /** This event's, in effect. More than one: the ERP holds duplicates. */
  readonly done: readonly Shipment[];
  /** This event's, begun by us and without their full effect yet. The first is the one to go on with. */
  readonly begun: readonly Shipment[];
  /** Another event's, or begun by somebody else. */
  readonly others: readonly Shipment[];
}

/** More documents under one reference than this are no longer an accident of ours. */
const LIMIT = 100;
const FIELDS = ['number', 'state', 'create_uid', 'supplier.code', 'warehouse.code'];

/**
 * Reads what is under a reference. A document belongs to this event when supplier and warehouse are the event's; without
 * a `receipt` (the mapping fails by now) all do. What somebody else began is never ours to complete: its lines may be
 * other ones. Done it counts, as a person may have typed in what we could not post.
 */
export async function readHeld(
  rpc: Rpc,
  reference: string,
  receipt: Pick<TrytonReceipt, 'supplier' | 'warehouse'> | undefined,
  caller: Caller,
): Promise<Held | Trouble> {
  const session = await rpc.session(caller);
  if (isTrouble(session)) return session;
  const answer = await rpc.read(
    'model.stock.shipment.in.search_read',
    ({ company }) => [
      [
        ['reference', '=', reference],
        ['company', '=', company],
        ['state', '!=', 'cancelled'],
      ],
      0,
      LIMIT,
      [['id', 'ASC']],
      FIELDS,
    ],
    caller,
  );
  if (answer.kind !== 'result') return answer;
  const rows = z.array(Row).safeParse(answer.value).data;
  if (!rows) return notSent('lookup_failed', 'The list of receipts in the answer is not readable.');
  const belongs = (row: Row): boolean =>
    receipt === undefined ||
    (row['supplier.'].code === receipt.supplier && row['warehouse.'].code === receipt.warehouse);
  const kindOf = (row: Row): keyof Held => {
    if (!belongs(row)) return 'others';
    if (row.state === 'done') return 'done';
    return row.create_uid === session.uid ? 'begun' : 'others';
  };
  const of = (kind: keyof Held): Shipment[] =>
    rows
      .filter((row) => kindOf(row) === kind)
      .map(({ id, number, state }) => ({ id, receipt: number ?? String(id), state }));
  // Whoever looks picks the same one: what has moved stock already, then the oldest.
  const begun = of('begun').toSorted((a, b) => rank(a) - rank(b) || a.id - b.id);
  return { done: of('done'), begun, others: of('others') };
}

const rank = ({ state }: Shipment): number => (state === 'received' ? 0 : 1);
