import { z } from 'zod';
import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import type { DestinationPolicy } from './policy.ts';
import { loadScript } from './script.ts';

const Secret = z.object({
  /** See secret-box.ts. */
  sealed: z.string(),
  createdAt: z.number().int(),
  /** When it stops signing, by Redis' clock; null for the current one. */
  expiresAt: z.number().int().nullable(),
});

/** An outbound subscriber. Its secrets and the values of its headers are sealed, under the identities below. */
const EndpointRecord = z.object({
  id: z.string(),
  operator: z.string(),
  /** Raised by every change, so that a change can say which state it was made for. */
  version: z.number().int().default(1),
  url: z.string(),
  /** Event types that it wants; `*` stands for any text. */
  types: z.array(z.string()),
  /** Sources it is fed by; empty means all of its operator. */
  sources: z.array(z.string()),
  description: z.string(),
  body: z.enum(['envelope', 'raw']),
  timeoutMs: z.number().int(),
  maxInFlight: z.number().int(),
  rateLimit: z.object({ perSecond: z.number(), burst: z.number().int() }).nullable().default(null),
  /** Own schedule in ms, or null for the deployment's. */
  scheduleMs: z.array(z.number().int()).nullable(),
  /** `event` = the event id, `source` = source:event id. */
  reference: z.enum(['event', 'source']),
  /** Sealed values by name, in lower case. */
  headers: z.record(z.string(), z.string()).default({}),
  /** The current one first. Records from before rotation hold the sealed text alone. */
  secrets: z.array(
    z.union([Secret, z.string().transform((sealed) => ({ sealed, createdAt: 0, expiresAt: null }))]),
  ),
  createdAt: z.number().int(),
  updatedAt: z.number().int().optional(),
});
export type EndpointRecord = z.infer<typeof EndpointRecord>;

/** What a sealed text of an endpoint is bound to. */
export const secretIdentity = ({ operator, id }: Pick<EndpointRecord, 'operator' | 'id'>): string =>
  `endpoint ${operator}/${id} secret`;
export const headerIdentity = (
  { operator, id }: Pick<EndpointRecord, 'operator' | 'id'>,
  name: string,
): string => `endpoint ${operator}/${id} header ${name}`;

/** Who does something to an endpoint, and what the log shall say of it; never a secret. */
export interface EndpointAudit {
  readonly action: string;
  readonly actor: string;
  readonly details?: Readonly<Record<string, string>>;
}

export type WriteAnswer =
  | { readonly kind: 'ok' }
  | { readonly kind: 'not_found' }
  /** Somebody else's change came first. */
  | { readonly kind: 'conflict'; readonly version: number };

const scripts = {
  write: loadScript('write-endpoint', { prelude: false }),
  remove: loadScript('remove-endpoint', { prelude: false }),
  swap: loadScript('swap-endpoint-record', { prelude: false }),
};

const auditFields = (endpoint: Pick<EndpointRecord, 'id' | 'operator'>, audit: EndpointAudit): string[] =>
  Object.entries({
    action: audit.action,
    operator: endpoint.operator,
    actor: audit.actor,
    destination: endpoint.id,
    ...audit.details,
  }).flat();

/** Writes record, list, gate and audit entry in one step, unless the stored version is not `readVersion` (0: none). */
export async function writeEndpoint(
  redis: Redis,
  keys: Keyspace,
  input: z.input<typeof EndpointRecord>,
  policy: DestinationPolicy,
  audit: EndpointAudit,
  readVersion = 0,
): Promise<WriteAnswer> {
  const endpoint = EndpointRecord.parse(input);
  const [kind, version] = await scripts.write.run(
    redis,
    [
      keys.endpoint(endpoint.id),
      keys.endpoints(endpoint.operator),
      keys.endpointsVersion(endpoint.operator),
      keys.gate(endpoint.id),
      keys.audit,
    ],
    [
      endpoint.id,
      endpoint.operator,
      readVersion,
      JSON.stringify(endpoint),
      endpoint.maxInFlight,
      JSON.stringify(policy),
      endpoint.rateLimit?.perSecond ?? '',
      endpoint.rateLimit?.burst ?? '',
      ...auditFields(endpoint, audit),
    ],
  );
  return kind === 'conflict' ? { kind, version: Number(version) } : { kind: kind as 'ok' | 'not_found' };
}

/** The first step of a removal. `already`: it was removed before, by whatever process. */
export async function markRemoved(
  redis: Redis,
  keys: Keyspace,
  endpoint: Pick<EndpointRecord, 'id' | 'operator'>,
  readVersion: number | undefined,
  audit: EndpointAudit,
): Promise<WriteAnswer | { readonly kind: 'already' }> {
  const [kind, version] = await scripts.remove.run(
    redis,
    [
      keys.endpoint(endpoint.id),
      keys.endpoints(endpoint.operator),
      keys.endpointsVersion(endpoint.operator),
      keys.gate(endpoint.id),
      keys.removals,
      keys.audit,
    ],
    [endpoint.id, endpoint.operator, readVersion ?? '', ...auditFields(endpoint, audit)],
  );
  return kind === 'conflict'
    ? { kind, version: Number(version) }
    : { kind: kind as 'ok' | 'already' | 'not_found' };
}

export async function readEndpoint(
  redis: Redis,
  keys: Keyspace,
  id: string,
): Promise<EndpointRecord | undefined> {
  const json = await redis.hget(keys.endpoint(id), 'record');
  return json === null ? undefined : EndpointRecord.parse(JSON.parse(json));
}

/** Whose endpoint it was, where it was removed; undefined where it exists or never did. */
export async function readRemovedOwner(
  redis: Redis,
  keys: Keyspace,
  id: string,
): Promise<string | undefined> {
  const [operator, removedAt] = await redis.hmget(keys.endpoint(id), 'operator', 'removedAt');
  return removedAt ? (operator ?? undefined) : undefined;
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

const SCAN_COUNT = 1_000; // about a millisecond of Redis

/**
 * Every endpoint of every operator, with the text that it is stored as. Walks the whole key space, which is slow and
 * complete: there is no list of all operators that could disagree with the records.
 */
export async function* scanEndpoints(
  redis: Redis,
  keys: Keyspace,
): AsyncGenerator<{ readonly stored: string; readonly endpoint: EndpointRecord }> {
  const seen = new Set<string>(); // SCAN may tell a key twice
  let cursor = '0';
  do {
    const [next, found] = await redis.scan(cursor, 'MATCH', keys.endpoint('*'), 'COUNT', SCAN_COUNT);
    cursor = next;
    for (const key of found.filter((each) => !seen.has(each))) {
      seen.add(key);
      const stored = await redis.hget(key, 'record');
      if (stored !== null) yield { stored, endpoint: EndpointRecord.parse(JSON.parse(stored)) };
    }
  } while (cursor !== '0');
}

/** Stores an endpoint's record sealed anew. False when it was changed since it was read as `stored`. */
export async function swapEndpointRecord(
  redis: Redis,
  keys: Keyspace,
  stored: string,
  endpoint: EndpointRecord,
  audit: EndpointAudit,
): Promise<boolean> {
  const [swapped] = await scripts.swap.run(
    redis,
    [keys.endpoint(endpoint.id), keys.audit],
    [stored, JSON.stringify(endpoint), ...auditFields(endpoint, audit)],
  );
  return swapped === 1;
}

/** Is the destination paused by a person? */
export async function isPaused(redis: Redis, keys: Keyspace, destination: string): Promise<boolean> {
  return (await redis.hget(keys.gate(destination), 'paused')) === '1';
}

/** Was the destination an endpoint that was removed? */
export async function isRemoved(redis: Redis, keys: Keyspace, destination: string): Promise<boolean> {
  return (await redis.hget(keys.gate(destination), 'removed')) === '1';
}
