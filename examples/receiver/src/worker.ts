import type { Inbox, Message } from './inbox.ts';

const FIRST_RETRY_MS = 1_000;
const MAX_RETRY_MS = 60_000;

/**
 * Works on committed messages, one at a time, outside of the request: the sender waits seconds, work takes what it takes.
 * A message whose work fails is tried again later without holding up the others. Work that was under way when the process
 * died is begun again at the next start, so it has to be idempotent by the message's id.
 */
export class Worker {
  readonly #inbox: Inbox;
  readonly #onEvent: (message: Message) => Promise<void> | void;
  readonly #log: (line: string) => void;
  #queue: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(
    inbox: Inbox,
    onEvent: (message: Message) => Promise<void> | void,
    log: (line: string) => void,
  ) {
    this.#inbox = inbox;
    this.#onEvent = onEvent;
    this.#log = log;
    for (const message of inbox.unfinished()) this.add(message);
  }

  add(message: Message, retryMs = FIRST_RETRY_MS): void {
    this.#queue = this.#queue.then(() => this.#work(message, retryMs));
  }

  /** Waits for the work in progress; what is still queued is done after the next start. */
  async close(): Promise<void> {
    this.#stopped = true;
    await this.#queue;
  }

  async #work(message: Message, retryMs: number): Promise<void> {
    if (this.#stopped) return;
    try {
      await this.#onEvent(message);
    } catch (error) {
      this.#log(`work on ${message.id} failed, next try in ${retryMs} ms: ${String(error)}`);
      setTimeout(() => this.add(message, Math.min(retryMs * 2, MAX_RETRY_MS)), retryMs).unref();
      return;
    }
    await this.#inbox.finish(message.id).catch((error: unknown) => {
      this.#log(`work on ${message.id} is done but a restart will repeat it: ${String(error)}`);
    });
  }
}
