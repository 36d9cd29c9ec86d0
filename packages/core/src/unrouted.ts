import { isUtf8 } from 'node:buffer';
import { encodeBody, type EventJob } from '@breakwater/contracts/jobs';
import type { Redis } from '@breakwater/store/connection';
import { type EventRecord, readEvent } from '@breakwater/store/events';
import type { Keyspace } from '@breakwater/store/keys';

export interface UnroutedFilter {
  readonly operator: string;
  readonly source?: string;
}

/**
 * Accepted events that no route or endpoint wanted, oldest first. The keys are read once, at the beginning, since
 * fanning an event out takes it from the list.
 */
export async function* eachUnrouted(
  redis: Redis,
  keys: Keyspace,
  filter: UnroutedFilter,
): AsyncGenerator<EventRecord> {
  for (const key of await redis.zrange(keys.unrouted, 0, '-1')) {
    const event = await readEvent(redis, keys, key);
    if (!event || event.plan.length > 0 || event.operator !== filter.operator) continue;
    if (filter.source === undefined || event.source === filter.source) yield event;
  }
}

/** The job that brought this event, rebuilt from its record, so that it can be fanned out again. */
export function toEventJob(event: EventRecord): EventJob {
  const { operator, source, eventId, type, entity, contentType, receivedAt, occurredAt, body } = event;
  const facts = { operator, source, eventId, type, entity, contentType, receivedAt };
  const encoded = encodeBody(body, isUtf8(body));
  return occurredAt === undefined
    ? { v: 1, ...facts, ...encoded }
    : { v: 2, ...facts, occurredAt, ...encoded };
}
