import type { Logger } from '@breakwater/runtime/logger';
import { type GoodsReceipt, type Receipt, receiptNo } from './receipt.ts';
import { ReceiptFile } from './receipt-file.ts';

export interface Stats {
  readonly postings: number;
  readonly distinctReferences: number;
  readonly duplicates: number;
}

/**
 * The documents of the ERP. Every method is synchronous, so that looking whether a reference is taken and taking it is
 * one step, whatever number of warehouses post at the same time.
 */
export class ReceiptBook {
  readonly #file: ReceiptFile | undefined;
  /** In the order of their numbers: GR-000001 is at index 0. A cancelled one leaves its place empty. */
  readonly #receipts: (Receipt | undefined)[] = [];
  #postings = 0;
  readonly #byReference = new Map<string, Receipt[]>();

  /** Without `dataFile` the book is lost when the process ends. Throws as ReceiptFile.open does. */
  constructor(dataFile: string | undefined, logger: Logger) {
    if (dataFile === undefined) return;
    const { file, receipts, cancelled } = ReceiptFile.open(dataFile, logger);
    this.#file = file;
    for (const receipt of receipts) this.#remember(receipt);
    for (const number of cancelled) this.#forget(number);
  }

  /** Creates a document, also when its reference already has one. Throws when it cannot be written to the data file. */
  add(document: GoodsReceipt): Receipt {
    const number = receiptNo(this.#receipts.length + 1);
    const receipt: Receipt = { receipt_no: number, ...document, created_at: new Date().toISOString() };
    this.#file?.append(receipt);
    this.#remember(receipt);
    return receipt;
  }

  /** Cancels a document, as a person in the ERP does. False where there is none of this number. */
  cancel(number: string): boolean {
    if (!this.#receipts.some((receipt) => receipt?.receipt_no === number)) return false;
    this.#file?.append({ cancelled: number });
    this.#forget(number);
    return true;
  }

  /** All documents of a reference, the oldest first. */
  find(reference: string): readonly Receipt[] {
    return this.#byReference.get(reference) ?? [];
  }

  /** At most `limit` documents, beginning after number `after` (0 for the first page). */
  page(after: number, limit: number): readonly Receipt[] {
    const page: Receipt[] = [];
    for (let index = after; index < this.#receipts.length && page.length < limit; index += 1) {
      const receipt = this.#receipts[index];
      if (receipt) page.push(receipt);
    }
    return page;
  }

  stats(): Stats {
    const postings = this.#postings;
    const distinctReferences = this.#byReference.size;
    return { postings, distinctReferences, duplicates: postings - distinctReferences };
  }

  /** Forgets everything; numbers begin at 1 again. */
  clear(): void {
    this.#file?.clear();
    this.#receipts.length = 0;
    this.#postings = 0;
    this.#byReference.clear();
  }

  close(): void {
    this.#file?.close();
  }

  #remember(receipt: Receipt): void {
    this.#receipts.push(receipt);
    this.#postings += 1;
    const sameReference = this.#byReference.get(receipt.external_reference);
    if (sameReference) sameReference.push(receipt);
    else this.#byReference.set(receipt.external_reference, [receipt]);
  }

  #forget(number: string): void {
    const index = this.#receipts.findIndex((receipt) => receipt?.receipt_no === number);
    const receipt = this.#receipts[index];
    if (!receipt) return;
    this.#receipts[index] = undefined;
    this.#postings -= 1;
    const left = this.find(receipt.external_reference).filter((each) => each !== receipt);
    if (left.length > 0) this.#byReference.set(receipt.external_reference, left);
    else this.#byReference.delete(receipt.external_reference);
  }
}
