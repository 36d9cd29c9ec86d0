import {
  type Attempt,
  DELIVERY_STATUSES,
  type DeadLetterReason,
  type Delivery,
} from '@breakwater/contracts/delivery';
import { destinationKind, destinationName, parseDeliveryId } from '@breakwater/contracts/ids';
import type { ResponseSample } from '@breakwater/contracts/attempt-result';
import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';

/** Reads one delivery of an operator. Undefined when it does not exist, or is another operator's: the two look the same. */
export async function readDelivery(
  redis: Redis,
  keys: Keyspace,
  operator: string,
  id: string,
): Promise<Delivery | undefined> {
  const [delivery] = await readDeliveries(redis, keys, [id]);
  return delivery?.operator === operator ? delivery : undefined;
}

/** Reads many deliveries with what their events say; records that do not exist are left out. */
export async function readDeliveries(
  redis: Redis,
  keys: Keyspace,
  ids: readonly string[],
): Promise<Delivery[]> {
  const pipeline = redis.pipeline();
  for (const id of ids) {
    pipeline.hgetall(keys.delivery(id));
    pipeline.hmget(keys.event(parseDeliveryId(id)?.event ?? ''), 'source', 'eventId', 'type');
  }
  const replies = (await pipeline.exec()) ?? [];
  const deliveries: Delivery[] = [];
  for (const [index, id] of ids.entries()) {
    const [recordError, record] = replies[2 * index] ?? [];
    const [eventError, event] = replies[2 * index + 1] ?? [];
    const error = recordError ?? eventError;
    if (error) throw error;
    const delivery = toDelivery(id, record as Record<string, string>, event as (string | null)[]);
    if (delivery) deliveries.push(delivery);
  }
  return deliveries;
}

function toDelivery(
  id: string,
  record: Record<string, string>,
  event: readonly (string | null)[],
): Delivery | undefined {
  const parts = parseDeliveryId(id);
  const status = DELIVERY_STATUSES.find((each) => each === record['status']);
  if (!parts || !status) return undefined;
  const eventId = event[1] ?? '';
  const dueAt = Number(record['nextAttemptAt'] ?? 0);
  return {
    id,
    operator: record['operator'] ?? '',
    event: { key: parts.event, source: event[0] ?? '', id: eventId, type: event[2] ?? '' },
    destination: {
      kind: destinationKind(parts.destination),
      id: parts.destination,
      name: destinationName(parts.destination),
    },
    reference: record['reference'] ?? eventId,
    status,
    statusAt: Number(record['statusAt']),
    createdAt: Number(record['createdAt']),
    nextAttemptAt:
      dueAt > 0 && (status === 'pending' || status === 'failed' || status === 'held') ? dueAt : null,
    scheduleMade: Number(record['scheduleMade'] ?? 0),
    replaysMade: Number(record['replaysMade'] ?? 0),
    reason: status === 'dead_letter' && record['reason'] ? (record['reason'] as DeadLetterReason) : null,
    failureClass: record['class'] || null,
    inFlight: record['run'] !== undefined,
    lease:
      record['run'] === undefined
        ? null
        : {
            attempt: Number(record['run']),
            trigger: record['runTrigger'] === 'replay' ? 'replay' : 'schedule',
            startedAt: Number(record['runAt']),
            until: Number(record['runUntil']),
          },
    fence: Number(record['attempts'] ?? 0),
    openReplay: record['replayId'] || null,
    doubt: record['doubt'] === '1',
    receipt: record['receipt'] ?? null,
    attempts: readAttempts(record),
  };
}

/** Rows a<n> are `s|begunAt|lateMs|durationMs|class|code` (`r|` for a replay), l<n> `at|class|code`; see prelude.lua. */
function readAttempts(record: Record<string, string>): Attempt[] {
  const attempts: Attempt[] = [];
  for (let number = 1; number <= Number(record['attempts'] ?? 0); number += 1) {
    const row = record[`a${number}`];
    if (row === undefined) continue; // in flight, or begun and deferred before anything was sent
    const [trigger, startedAt, lateMs, durationMs, failureClass = '', code = ''] = row.split('|');
    const late = record[`l${number}`]?.split('|');
    attempts.push({
      number,
      trigger: trigger === 'r' ? 'replay' : 'schedule',
      outcome:
        failureClass === 'sent' || failureClass === 'posted' || failureClass === 'already_posted'
          ? 'sent'
          : failureClass === 'interrupted'
            ? 'interrupted'
            : 'failed',
      class: failureClass,
      code,
      startedAt: Number(startedAt),
      lateMs: Number(lateMs),
      durationMs: Number(durationMs),
      ...(late && { lateResult: { at: Number(late[0]), class: late[1] ?? '', code: late[2] ?? '' } }),
    });
  }
  return attempts;
}

/** The last response sample of a delivery; it outlives a week at most, since it may hold a receiver's data. */
const SAMPLE_TTL_S = 7 * 86_400;

export async function writeSample(
  redis: Redis,
  keys: Keyspace,
  id: string,
  attempt: number,
  sample: ResponseSample,
): Promise<void> {
  const key = keys.sample(id);
  await redis
    .multi()
    .hset(
      key,
      'attempt',
      attempt,
      'contentType',
      sample.contentType,
      'text',
      sample.text,
      'truncated',
      sample.truncated ? '1' : '0',
    )
    .expire(key, SAMPLE_TTL_S)
    .exec();
}

export async function readSample(
  redis: Redis,
  keys: Keyspace,
  id: string,
): Promise<(ResponseSample & { attempt: number }) | undefined> {
  const fields = await redis.hgetall(keys.sample(id));
  if (fields['attempt'] === undefined) return undefined;
  return {
    attempt: Number(fields['attempt']),
    contentType: fields['contentType'] ?? '',
    text: fields['text'] ?? '',
    truncated: fields['truncated'] === '1',
  };
}

/** Fixes the reference of a delivery whose mapping failed at fan-out, once. Resolves to the one that holds. */
export async function fixReference(
  redis: Redis,
  keys: Keyspace,
  id: string,
  reference: string,
): Promise<string> {
  await redis.hsetnx(keys.delivery(id), 'reference', reference);
  const fixed = (await redis.hget(keys.delivery(id), 'reference')) ?? reference;
  const destination = parseDeliveryId(id)?.destination ?? '';
  // A process that dies in between is followed by another attempt, which comes here again.
  await redis.hsetnx(keys.references(destination), fixed, id);
  return fixed;
}
