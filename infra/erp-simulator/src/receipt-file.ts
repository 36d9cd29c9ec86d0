import { closeSync, ftruncateSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { AppError, messageOf } from '@breakwater/runtime/errors';
import type { Logger } from '@breakwater/runtime/logger';
import { Cancellation, Receipt, receiptNo } from './receipt.ts';

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
  static open(path: string, logger: Logger): { readonly file: ReceiptFile } & Kept {
    mkdirSync(dirname(path), { recursive: true });
    const descriptor = openSync(path, 'a+');
    try {
      const bytes = readFileSync(descriptor);
      const sizeBytes = bytes.lastIndexOf(NEWLINE) + 1;
      const kept = parseLines(path, bytes.toString('utf8', 0, sizeBytes));
      if (sizeBytes < bytes.length) {
        logger.warn(
          { path, droppedBytes: bytes.length - sizeBytes },
          'dropped a torn last line of the data file',
        );
        ftruncateSync(descriptor, sizeBytes);
      }
      return { file: new ReceiptFile(descriptor, sizeBytes), ...kept };
    } catch (error) {
      closeSync(descriptor);
      throw error;
    }
  }

  /** Throws what the file system says (a full disk, for example); the entry is then not in the file. */
  append(entry: Receipt | Cancellation): void {
    const line = Buffer.from(`${JSON.stringify(entry)}\n`);
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

interface Kept {
  readonly receipts: Receipt[];
  /** Their numbers. */
  readonly cancelled: Set<string>;
}

function parseLines(path: string, text: string): Kept {
  const lines = text.split('\n');
  lines.pop(); // what follows the last line end is empty
  const receipts: Receipt[] = [];
  const cancelled = new Set<string>();
  for (const [index, line] of lines.entries()) {
    const expected = receiptNo(receipts.length + 1);
    try {
      const entry: unknown = JSON.parse(line);
      const cancellation = Cancellation.safeParse(entry);
      if (cancellation.success) cancelled.add(cancellation.data.cancelled);
      else receipts.push(parseReceipt(entry, expected));
    } catch (error) {
      // Going on without it would give out its number twice.
      const message = `${path} line ${index + 1} is not receipt ${expected} (${messageOf(error)}); move the file away to start empty.`;
      throw new AppError('config_invalid', message, { cause: error });
    }
  }
  return { receipts, cancelled };
}

function parseReceipt(entry: unknown, expected: string): Receipt {
  const receipt = Receipt.parse(entry);
  if (receipt.receipt_no !== expected) throw new Error(`it is ${receipt.receipt_no}`);
  return receipt;
}
