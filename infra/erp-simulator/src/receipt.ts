import { z } from 'zod';

const shortText = z.string().min(1).max(255);

/** What a client posts. Fields that the ERP does not know are ignored, as most ERPs do. */
export const GoodsReceipt = z.object({
  external_reference: shortText,
  order_id: shortText,
  warehouse: shortText,
  lines: z.array(z.record(z.string(), z.unknown())),
});
export type GoodsReceipt = z.infer<typeof GoodsReceipt>;

/** A document as the ERP keeps and lists it. */
export const Receipt = z.object({
  receipt_no: z.string(),
  ...GoodsReceipt.shape,
  created_at: z.iso.datetime(),
});
export type Receipt = z.infer<typeof Receipt>;

/** A receipt that a person cancelled, as the data file says it: its number stays taken. */
export const Cancellation = z.strictObject({ cancelled: z.string() });
export type Cancellation = z.infer<typeof Cancellation>;

/** Receipts are numbered from 1 without gaps: GR-000001. */
export const receiptNo = (number: number): string => `GR-${String(number).padStart(6, '0')}`;

/** 1 for GR-000001; undefined when the text is no receipt number. */
export function receiptNumber(text: string): number | undefined {
  const match = /^GR-(\d{6,15})$/.exec(text);
  return match ? Number(match[1]) : undefined;
}
