import { z } from 'zod';
import { type Trouble, isTrouble } from './tryton-answer.ts';
import type { CodeHit, CodeKind, Codes } from './tryton-codes.ts';
import type { Caller } from './tryton-rpc.ts';
import { date, decimal, isStorable } from './tryton-wire.ts';

const code = z.string().min(1).max(255).refine(isStorable, 'holds a character that no database stores');

/** Digits as they are meant: as text they stay exact, and a number is read as JSON writes it. */
const exact = z
  .union([z.string(), z.number()])
  .transform((value) => String(value))
  .refine((text) => /^-?\d{1,15}(?:\.\d{1,15})?$/.test(text), 'expected a decimal such as "0.95"');

const Line = z
  .strictObject({
    product: code.optional(),
    ean: code.optional(),
    /** Tryton keeps quantities as floats. */
    quantity: exact.transform(Number).refine((value) => value > 0, 'expected a number over 0'),
    /** Symbol of a unit, such as `kg`; the product's own by default. */
    uom: code.optional(),
    unitPrice: exact,
  })
  .refine(({ product, ean }) => (product === undefined) !== (ean === undefined), 'expected product or ean');

/** What the mapping of a `tryton` target has to give. The reference is added. */
export const TrytonReceipt = z.strictObject({
  /** Codes of a party and a warehouse. */
  supplier: code,
  warehouse: code,
  plannedDate: z.iso.date().optional(),
  effectiveDate: z.iso.date().optional(),
  lines: z.array(Line).min(1).max(1_000),
});
export type TrytonReceipt = z.infer<typeof TrytonReceipt>;

/** The document as a receipt, or one sentence on what the mapping has to correct. */
export function readReceipt(document: unknown): TrytonReceipt | { readonly mistakes: string } {
  const result = TrytonReceipt.safeParse(document);
  if (result.success) return result.data;
  const mistakes = result.error.issues.map(
    ({ path, message }) => `${path.join('.') || 'the document'}: ${message}`,
  );
  return { mistakes: `The document is no Tryton receipt: ${mistakes.slice(0, 5).join('; ')}.` };
}

/** Why this text cannot be a reference in Tryton; undefined when it can. */
export function referenceMistake(reference: string): string | undefined {
  if (!isStorable(reference)) return 'The reference holds a character that no database stores.';
  // Newer versions strip texts as they are stored: the look-up for what we sent would miss what was posted.
  return reference.trim() === reference ? undefined : 'The reference begins or ends with a blank.';
}

/** The values of `model.stock.shipment.in.create`, every code resolved to the id that the ERP has for it now. */
export async function shipmentValues(
  receipt: TrytonReceipt,
  { codes, caller, company, reference }: Resolving,
): Promise<Record<string, unknown> | Trouble> {
  const find: Find = (kind, text) => codes.find(kind, text, caller);
  const supplier = await find('supplier', receipt.supplier);
  if (isTrouble(supplier)) return supplier;
  const warehouse = await find('warehouse', receipt.warehouse);
  if (isTrouble(warehouse)) return warehouse;
  const own = await find('company', company);
  if (isTrouble(own)) return own;
  const effective =
    receipt.effectiveDate === undefined ? {} : { effective_date: date(receipt.effectiveDate) };
  const moves: object[] = [];
  for (const line of receipt.lines) {
    const product = await find(
      line.product === undefined ? 'ean' : 'product',
      line.product ?? line.ean ?? '',
    );
    if (isTrouble(product)) return product;
    const uom = await unitOf(line, product, find);
    if (typeof uom !== 'number') return uom;
    moves.push({
      product: product.id,
      uom,
      quantity: line.quantity,
      unit_price: decimal(line.unitPrice),
      from_location: supplier.linked,
      to_location: warehouse.linked,
      company,
      currency: own.linked,
      ...effective, // of the move too: a locked period then refuses the document before there is a draft
    });
  }
  return {
    company,
    supplier: supplier.id,
    warehouse: warehouse.id,
    reference,
    incoming_moves: [['create', moves]],
    ...(receipt.plannedDate !== undefined && { planned_date: date(receipt.plannedDate) }),
    ...effective,
  };
}

type Find = (kind: CodeKind, code: string | number) => Promise<CodeHit | Trouble>;

/** Grams of a product that is counted in pieces would be an error of Tryton that proves nothing, so it is told here. */
async function unitOf(line: z.infer<typeof Line>, product: CodeHit, find: Find): Promise<number | Trouble> {
  if (line.uom === undefined) return product.linked;
  const asked = await find('uom', line.uom);
  if (isTrouble(asked)) return asked;
  const own = await find('uomById', product.linked);
  if (isTrouble(own)) return own;
  if (asked.linked === own.linked) return asked.id;
  const message = `The ERP does not measure ${line.product ?? line.ean ?? ''} in ${line.uom}.`;
  return { kind: 'rejected', code: '', message };
}

interface Resolving {
  readonly codes: Codes;
  readonly caller: Caller;
  readonly company: number;
  readonly reference: string;
}
