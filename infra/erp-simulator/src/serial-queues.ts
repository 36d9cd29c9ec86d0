/** One queue per key: work of one key runs one at a time in the order of arrival, work of different keys in parallel. */
export class SerialQueues {
  readonly #tails = new Map<string, Promise<void>>();

  /** Runs `work` when everything queued before it under `key` has ended. Rejects as `work` does; the queue goes on. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#tails.get(key) ?? Promise.resolve()).then(work);
    const tail = result.then(
      () => undefined,
      () => undefined,
    );
    this.#tails.set(key, tail);
    try {
      return await result;
    } finally {
      // The last one out removes the queue, else every key ever seen would stay in memory.
      await tail;
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }
}
