import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { AppError, messageOf } from '@breakwater/runtime/errors';
import type { Logger } from '@breakwater/runtime/logger';
import { Receipt, receiptNo } from './receipt.ts';

const NEWLINE = 0x0a;

/**
 * Receipts as NDJSON, one line each, so that they survive a restart. Written with blocking calls: a receipt is in the
 * file before anything else can happen in this process, so what was answered survives kill -9. It is not flushed to the
 * disk, so a power cut may take the last receipts.
 */
export class ReceiptFile {
  readonly #descriptor: number;
  #sizeBytes: number;
  #torn = false;

  private constructor(descriptor: number, sizeBytes: number) {
    this.#descriptor = descriptor;
    this.#sizeBytes = sizeBytes;
  }

  /**
   * Opens or creates the file and reads what is in it. A last line without its end was never answered: it is dropped
   * with a warning. Throws AppError config_invalid for any other line that is not the receipt expected there.
   */
  static open(path: string, logger: Logger): { readonly file: ReceiptFile; readonly receipts: Receipt[] } {
    mkdirSync(dirname(path), { recursive: true });
    const descriptor = openSync(path, 'a+');
    try {
      const bytes = readFileSync(descriptor);
      const sizeBytes = bytes.lastIndexOf(NEWLINE) + 1;
      const receipts = parseReceipts(path, bytes.toString('utf8', 0, sizeBytes));
      if (sizeBytes < bytes.length) {
        logger.warn(
          { path, droppedBytes: bytes.length - sizeBytes },
          'dropped a torn last line of the data file',
        );
        ftruncateSync(descriptor, sizeBytes);
      }
      return { file: new ReceiptFile(descriptor, sizeBytes), receipts };
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  /** Throws what the file system says (a full disk, for example); the receipt is then not in the file. */
  append(receipt: Receipt): void {
    const line = Buffer.from(`${JSON.stringify(receipt)}\n`);
    if (this.#torn) this.#truncate();
    // Set before writing: half a line of a failed write must go before the next receipt is appended to it.
    this.#torn = true;
    writeFileSync(this.#descriptor, line);
    this.#torn = false;
    this.#sizeBytes += line.length;
  }

  clear(): void {
    this.#sizeBytes = 0;
    this.#truncate();
  }

  close(): void {
    if (this.#torn) this.#truncate();
    closeSync(this.#descriptor);
  }

  #truncate(): void {
    ftruncateSync(this.#descriptor, this.#sizeBytes);
    this.#torn = false;
  }
}

function parseReceipts(path: string, text: string): Receipt[] {
  const lines = text.split('\n');
  lines.pop(); // what follows the last line end is empty
  return lines.map((line, index) => {
    const expected = receiptNo(index + 1);
    try {
      const receipt = Receipt.parse(JSON.parse(line));
      if (receipt.receipt_no === expected) return receipt;
      throw new Error(`it is ${receipt.receipt_no}`);
    } catch (error) {
      // Going on without it would give out its number twice.
      const message = `${path} line ${index + 1} is not receipt ${expected} (${messageOf(error)}); move the file away to start empty.`;
      throw new AppError('config_invalid', message, { cause: error });
    }
  });
}
