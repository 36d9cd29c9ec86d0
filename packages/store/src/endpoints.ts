import { z } from 'zod';
import type { Redis } from 'ioredis';
import { auditEntry } from './audit.ts';
import type { Keyspace } from './keys.ts';
import type { DestinationPolicy } from './policy.ts';

/** An outbound subscriber. Secrets are sealed (see secret-box.ts). */
const EndpointRecord = z.object({
  id: z.string(),
  operator: z.string(),
  url: z.string(),
  /** Event types that it wants; `*` stands for any text. */
  types: z.array(z.string()),
  /** Sources it is fed by; empty means all of its operator. */
  sources: z.array(z.string()),
  description: z.string(),
  body: z.enum(['envelope', 'raw']),
  timeoutMs: z.number().int(),
  maxInFlight: z.number().int(),
  /** Own schedule in ms, or null for the deployment's. */
  scheduleMs: z.array(z.number().int()).nullable(),
  /** `event` = the event id, `source` = source:event id. */
  reference: z.enum(['event', 'source']),
  secrets: z.array(z.string()),
  createdAt: z.number().int(),
});
export type EndpointRecord = z.infer<typeof EndpointRecord>;

/** Writes record, list, gate and audit entry in one step. */
export async function writeEndpoint(
  redis: Redis,
  keys: Keyspace,
  endpoint: EndpointRecord,
  policy: DestinationPolicy,
  audit: { readonly action: string; readonly actor: string },
): Promise<void> {
  await redis
    .multi()
    .hset(keys.endpoint(endpoint.id), 'operator', endpoint.operator, 'record', JSON.stringify(endpoint))
    .sadd(keys.endpoints(endpoint.operator), endpoint.id)
    .hset(keys.gate(endpoint.id), 'cap', endpoint.maxInFlight, 'policy', JSON.stringify(policy))
    .incr(keys.endpointsVersion(endpoint.operator))
    .xadd(
      ...auditEntry(keys.audit, {
        action: audit.action,
        operator: endpoint.operator,
        actor: audit.actor,
        destination: endpoint.id,
      }),
    )
    .exec();
}

export async function readEndpoint(
  redis: Redis,
  keys: Keyspace,
  id: string,
): Promise<EndpointRecord | undefined> {
  const json = await redis.hget(keys.endpoint(id), 'record');
  return json === null ? undefined : EndpointRecord.parse(JSON.parse(json));
}

/** All endpoints of an operator, oldest first. */
export async function listEndpoints(
  redis: Redis,
  keys: Keyspace,
  operator: string,
): Promise<EndpointRecord[]> {
  const ids = await redis.smembers(keys.endpoints(operator));
  const records = await Promise.all(ids.map((id) => readEndpoint(redis, keys, id)));
  return records
    .filter((record) => record !== undefined)
    .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
}

/** Is the destination paused by a person? */
export async function isPaused(redis: Redis, keys: Keyspace, destination: string): Promise<boolean> {
  return (await redis.hget(keys.gate(destination), 'paused')) === '1';
}
