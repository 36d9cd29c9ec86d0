import { pause } from '@breakwater/runtime/poll';
import { type Faults, NO_FAULTS, drawLatencyMs } from './faults.ts';
import type { GoodsReceipt, Receipt } from './receipt.ts';
import type { ReceiptBook } from './receipt-book.ts';
import { SerialQueues } from './serial-queues.ts';

/** What came of one posting. */
export type PostingOutcome =
  | { readonly kind: 'created'; readonly receipt: Receipt; readonly duplicate: boolean }
  /** Applied, and the client is not to hear of it. */
  | { readonly kind: 'answer_lost'; readonly receipt: Receipt; readonly duplicate: boolean }
  /** `uniqueReference`: the reference already has this document. Not applied, like all that follow. */
  | { readonly kind: 'refused'; readonly first: Receipt }
  | { readonly kind: 'error' }
  | { readonly kind: 'hung' }
  | { readonly kind: 'down' };

/**
 * The ERP of the story: it takes its time, one posting per warehouse at once, and accepts the same reference as often as
 * it is posted. Nothing here knows whether the client is still there: an ERP that has begun goes on.
 */
export class Erp {
  readonly #book: ReceiptBook;
  readonly #random: () => number;
  readonly #warehouses = new SerialQueues();
  readonly #stopping = new AbortController();
  #faults: Faults = NO_FAULTS;

  /** `random` gives [0, 1) and decides latencies and faults. */
  constructor(book: ReceiptBook, random: () => number) {
    this.#book = book;
    this.#random = random;
  }

  get faults(): Faults {
    return this.#faults;
  }

  /** Postings that wait in a queue meet the new faults; one that is taking its latency finishes it. */
  replaceFaults(faults: Faults): void {
    this.#faults = faults;
  }

  /** Posts when the warehouse is free and the latency is over. */
  async post(document: GoodsReceipt): Promise<PostingOutcome> {
    // Decided on arrival as well as at its turn: a posting that met a hanging ERP must not be applied once it is healed.
    const broken = this.#broken();
    if (broken) return broken;
    return this.#warehouses.run(document.warehouse, async () => {
      const latencyMs = drawLatencyMs(this.#faults, this.#random);
      if (latencyMs > 0) await pause(latencyMs, this.#stopping.signal);
      return this.#apply(document);
    });
  }

  /** True when this request is one of those that `errorRate` makes fail. */
  drawError(): boolean {
    return this.#random() < this.#faults.errorRate;
  }

  /** Ends every wait; what has not been applied by now never is. */
  stop(): void {
    this.#stopping.abort();
  }

  /** One synchronous step, so that parallel warehouses cannot both find a reference free. */
  #apply(document: GoodsReceipt): PostingOutcome {
    const broken = this.#broken();
    if (broken) return broken;
    if (this.drawError()) return { kind: 'error' };
    const [first] = this.#book.find(document.external_reference);
    if (first && this.#faults.uniqueReference) return { kind: 'refused', first };
    const receipt = this.#book.add(document);
    const kind = this.#random() < this.#faults.dropAfterPost ? 'answer_lost' : 'created';
    return { kind, receipt, duplicate: first !== undefined };
  }

  #broken(): PostingOutcome | undefined {
    if (this.#stopping.signal.aborted || this.#faults.down) return { kind: 'down' };
    return this.#faults.hang ? { kind: 'hung' } : undefined;
  }
}
