import { decodeBody, type EventJob } from '@breakwater/contracts/jobs';
import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import type { PlanEntry } from './transitions.ts';

/** The event record: one business fact, immutable. */
export interface EventRecord {
  readonly key: string;
  readonly operator: string;
  readonly source: string;
  readonly eventId: string;
  readonly type: string;
  readonly entity: string;
  readonly contentType: string;
  /** ms, the accepting process' clock. */
  readonly receivedAt: number;
  /** ms; where the sender said when it happened. */
  readonly occurredAt?: number;
  readonly body: Buffer;
  readonly plan: readonly PlanEntry[];
}

/** Fields of a new event record beside source, operator and plan. */
export function eventFields(job: EventJob): Record<string, string | number> {
  const { eventId, type, entity, contentType, receivedAt, encoding, body } = job;
  const occurred = job.v === 2 ? { occurredAt: job.occurredAt } : {};
  return { eventId, type, entity, contentType, receivedAt, ...occurred, encoding, body };
}

export async function readEvent(
  redis: Redis,
  keys: Keyspace,
  eventKey: string,
): Promise<EventRecord | undefined> {
  const fields = await redis.hgetall(keys.event(eventKey));
  if (fields['plan'] === undefined) return undefined;
  return {
    key: eventKey,
    operator: fields['operator'] ?? '',
    source: fields['source'] ?? '',
    eventId: fields['eventId'] ?? '',
    type: fields['type'] ?? '',
    entity: fields['entity'] ?? '',
    contentType: fields['contentType'] ?? '',
    receivedAt: Number(fields['receivedAt']),
    ...(fields['occurredAt'] !== undefined && { occurredAt: Number(fields['occurredAt']) }),
    body: decodeBody({
      encoding: fields['encoding'] === 'base64' ? 'base64' : 'utf8',
      body: fields['body'] ?? '',
    }),
    plan: parsePlan(fields['plan']),
  };
}

/** The plan of an event alone; undefined where there is no such event. */
export async function readPlan(
  redis: Redis,
  keys: Keyspace,
  eventKey: string,
): Promise<PlanEntry[] | undefined> {
  const plan = await redis.hget(keys.event(eventKey), 'plan');
  return plan === null ? undefined : parsePlan(plan);
}

/** The stored plan of an event; only record-event.lua writes it. */
export function parsePlan(json: string): PlanEntry[] {
  return JSON.parse(json) as PlanEntry[];
}
