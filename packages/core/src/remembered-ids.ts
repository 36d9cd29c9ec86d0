/**
 * Ids that this process itself saw accepted, so that a retry storm is answered without Redis. Bounded: the oldest leave
 * first. It must be emptied on every reconnect.
 */
export class RememberedIds {
  readonly #capacity: number;
  readonly #ids = new Map<string, string>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#ids.size;
  }

  /** Hash of the body that was accepted, or undefined when the id is not remembered. */
  get(key: string): string | undefined {
    return this.#ids.get(key);
  }

  add(key: string, bodyHash: string): void {
    if (this.#capacity === 0) return;
    this.#ids.set(key, bodyHash);
    if (this.#ids.size <= this.#capacity) return;
    const oldest = this.#ids.keys().next(); // a Map keeps insertion order
    if (!oldest.done) this.#ids.delete(oldest.value);
  }

  clear(): void {
    this.#ids.clear();
  }
}
