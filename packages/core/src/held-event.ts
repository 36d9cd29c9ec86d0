import { destinationLabel, parseDeliveryId } from '@breakwater/contracts/ids';
import type { Redis } from '@breakwater/store/connection';
import { type EventRecord, readEvent } from '@breakwater/store/events';
import type { Go } from '@breakwater/store/go';
import type { Keyspace } from '@breakwater/store/keys';
import type { BodyMemory } from './body-memory.ts';
import { bytesToSend } from './envelope.ts';
import type { Release } from './memory-budget.ts';

interface HeldDeps {
  readonly memory: BodyMemory;
  readonly redis: Redis;
  readonly keys: Keyspace;
}

/** The event of an attempt, and the memory for it. */
export interface Held {
  /** Undefined where its record is gone. */
  readonly event: EventRecord | undefined;
  readonly release: Release;
}

/** Reads the event of an attempt as soon as there is memory for what is made of it; undefined when there was none in time. */
export async function readWithinMemory(
  { memory, redis, keys }: HeldDeps,
  go: Go,
  signal: AbortSignal,
): Promise<Held | undefined> {
  const { event: key = '', destination = '' } = parseDeliveryId(go.delivery) ?? {};
  let bytes = go.bodyBytes;
  for (;;) {
    const release = await memory.take(bytes, signal);
    if (!release) return undefined;
    let needed = bytes;
    try {
      const event = await readEvent(redis, keys, key);
      // Only now is it known. An ERP's document has a budget of its own.
      if (event && destinationLabel(destination) === 'endpoint') needed = bytesToSend(event.body);
      if (needed <= bytes) return { event, release };
    } catch (error) {
      release();
      throw error;
    }
    // What was read is let go and read again later, or many would wait for each other's memory with a body in hand each.
    release();
    bytes = needed;
  }
}
