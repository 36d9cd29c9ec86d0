import { z } from 'zod';
import { type Trouble, isTrouble, notSent } from './tryton-answer.ts';
import type { Caller, Rpc } from './tryton-rpc.ts';

/** What is looked up by a code, how, and what of the record a posting needs. Ids are the database's own and never configured. */
const KINDS = {
  product: { model: 'product.product', name: 'product', by: 'code', field: 'default_uom' },
  ean: { model: 'product.product', name: 'product with EAN', by: 'identifiers.code', field: 'default_uom' },
  supplier: { model: 'party.party', name: 'party', by: 'code', field: 'supplier_location' },
  warehouse: { model: 'stock.location', name: 'warehouse', by: 'code', field: 'input_location' },
  uom: { model: 'product.uom', name: 'unit', by: 'symbol', field: 'category' },
  uomById: { model: 'product.uom', name: 'unit', by: 'id', field: 'category' },
  company: { model: 'company.company', name: 'company', by: 'id', field: 'currency' },
} as const;
export type CodeKind = keyof typeof KINDS;

export interface CodeHit {
  readonly id: number;
  /** The member that the posting needs beside the id: a location, a unit, its category, a currency. */
  readonly linked: number;
}

export interface Codes {
  /** The record of a code. An unknown or ambiguous code is `rejected`: no repetition of the document mends it. */
  readonly find: (kind: CodeKind, code: string | number, caller: Caller) => Promise<CodeHit | Trouble>;
  /** Forgets everything; false when there was nothing to forget. */
  readonly forget: () => boolean;
}

/** Far more than one ERP's products in use; the oldest go first. About 200 bytes each. */
const MAX_REMEMBERED = 20_000;

/** Finds records by code and remembers them for `ttlMs`. Codes that are not known are asked for again each time. */
export function createCodes(rpc: Rpc, ttlMs: number): Codes {
  const remembered = new Map<string, CodeHit & { readonly until: number }>();
  return {
    async find(kind, code, caller) {
      const key = `${kind} ${code}`;
      const known = remembered.get(key);
      if (known && performance.now() < known.until) return known;
      const hit = await readCode(rpc, kind, code, caller);
      if (isTrouble(hit)) return hit;
      remembered.delete(key); // so that it goes to the end of the line
      remembered.set(key, { ...hit, until: performance.now() + ttlMs });
      for (const oldest of remembered.keys()) {
        if (remembered.size <= MAX_REMEMBERED) break;
        remembered.delete(oldest);
      }
      return hit;
    },
    forget() {
      const some = remembered.size > 0;
      remembered.clear();
      return some;
    },
  };
}

async function readCode(
  rpc: Rpc,
  kind: CodeKind,
  code: string | number,
  caller: Caller,
): Promise<CodeHit | Trouble> {
  const { model, name, by, field } = KINDS[kind];
  const domain: unknown[] = [[by, '=', code]];
  if (kind === 'warehouse') domain.push(['type', '=', 'warehouse']);
  const Rows = z.array(z.object({ id: z.int(), [field]: z.int().nullable() }));
  // Two are enough to know that a code is not unique, which Tryton does not ask of products.
  const answer = await rpc.read(
    `model.${model}.search_read`,
    () => [domain, 0, 2, [['id', 'ASC']], [field]],
    caller,
  );
  if (answer.kind !== 'result') return answer;
  const rows = Rows.safeParse(answer.value).data;
  if (!rows) return notSent('lookup_failed', `The ERP's answer about ${name} ${code} is not readable.`);
  const [row] = rows;
  if (!row) return refused(`The ERP knows no ${name} ${code}.`);
  if (rows.length > 1) return refused(`The ERP knows more than one ${name} ${code}.`);
  const linked = row[field];
  if (typeof linked !== 'number')
    return refused(`The ${name} ${code} has no ${field.replaceAll('_', ' ')} in the ERP.`);
  return { id: Number(row['id']), linked };
}

const refused = (message: string): Trouble => ({ kind: 'rejected', code: '', message });
