import { z } from 'zod';
import { escapedBytes } from './json-size.ts';

/** The BullMQ queues. `dead-letters` has no worker: it is there for people who look at BullMQ. */
export const QUEUES = {
  events: 'events',
  deliveries: 'deliveries',
  erp: 'erp',
  deadLetters: 'dead-letters',
} as const;
export type QueueName = (typeof QUEUES)[keyof typeof QUEUES];

/** An accepted event on its way to fan-out; the only job that carries a body. `body` is base64 where bytes are not UTF-8. */
const EventJobV1 = z.strictObject({
  v: z.literal(1),
  operator: z.string().min(1),
  source: z.string().min(1),
  eventId: z.string().min(1),
  type: z.string(),
  entity: z.string(),
  contentType: z.string(),
  /** ms since the epoch, the accepting process' clock. */
  receivedAt: z.number().int(),
  encoding: z.enum(['utf8', 'base64']),
  body: z.string(),
  /** The body could not be read, so fan-out leaves the event unrouted until a person fans it out. */
  parked: z.literal(true).optional(),
});
/**
 * The sender says when it happened. Events without that are still written as version 1, so that webhooks pass through a
 * dispatcher that has not been updated yet.
 */
const EventJobV2 = EventJobV1.extend({
  v: z.literal(2),
  /** ms since the epoch. */
  occurredAt: z.number().int(),
});
/**
 * Stands for every notification that was merged into it. Who works it off must end its claim first; a dispatcher that does
 * not know that would swallow the next change, hence a version of its own.
 */
const EventJobV3 = EventJobV1.extend({ v: z.literal(3), coalesced: z.literal(true) });
const EventJob = z.discriminatedUnion('v', [EventJobV1, EventJobV2, EventJobV3]);
export type EventJob = z.infer<typeof EventJob>;

/** An alarm clock for one attempt of a delivery. The alarm's id is the job's id. */
const AlarmJobV1 = z.strictObject({ v: z.literal(1), delivery: z.string().min(1) });
export type AlarmJob = z.infer<typeof AlarmJobV1>;

/** The shadow of a dead letter. */
const DeadLetterJobV1 = z.strictObject({
  v: z.literal(1),
  delivery: z.string().min(1),
  event: z.string().min(1),
  destination: z.string().min(1),
  reason: z.string(),
});
export type DeadLetterJob = z.infer<typeof DeadLetterJobV1>;

/** Readers accept every version that can still be queued and fail loudly on one they do not know; writers write the oldest that can say it. */
export const decodeEventJob = (data: unknown): EventJob => EventJob.parse(data);
export const decodeAlarmJob = (data: unknown): AlarmJob => AlarmJobV1.parse(data);
export const decodeDeadLetterJob = (data: unknown): DeadLetterJob => DeadLetterJobV1.parse(data);

/** No JSON grows so much, since none holds a control character but blanks: what people may want to read stays text. */
const MAY_GROW = 2;
/** Below this nothing is lost by it. */
const MAY_GROW_BELOW_BYTES = 65_536;

/**
 * Bytes as they travel in JSON: exact, whatever they are. Also a text may go as base64: one of control characters would be six
 * times its bytes, 150 MiB of a body of 25.
 */
export function encodeBody(bytes: Buffer, isUtf8: boolean): Pick<EventJob, 'encoding' | 'body'> {
  const isText =
    isUtf8 && (bytes.length < MAY_GROW_BELOW_BYTES || escapedBytes(bytes) <= bytes.length * MAY_GROW);
  return isText
    ? { encoding: 'utf8', body: bytes.toString('utf8') }
    : { encoding: 'base64', body: bytes.toString('base64') };
}

export function decodeBody(stored: Pick<EventJob, 'encoding' | 'body'>): Buffer {
  return Buffer.from(stored.body, stored.encoding);
}
