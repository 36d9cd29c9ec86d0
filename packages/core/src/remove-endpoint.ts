import { TERMINAL_STATUSES } from '@breakwater/contracts/delivery';
import { redisNowMs } from '@breakwater/store/clock';
import type { Redis } from '@breakwater/store/connection';
import { markRemoved, readEndpoint, readRemovedOwner } from '@breakwater/store/endpoints';
import type { Keyspace } from '@breakwater/store/keys';
import type { Transitions } from '@breakwater/store/transitions';
import { noEndpoint } from './destination-gates.ts';
import { conflict, type EndpointChange } from './endpoints.ts';
import { withoutSecrets } from './endpoint-view.ts';

export interface RemovalDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly transitions: Transitions;
}

/** Deliveries per script: some ten commands each, so that Redis is never held for more than a few ms. */
const CHUNK = 100;
/** A removal that has been going on for so long was left by a process that died. */
const ABANDONED_AFTER_MS = 30_000;

export interface RemovalProgress {
  readonly signal?: AbortSignal;
  readonly onProgress?: (lookedAt: number) => void;
}

export interface Removal {
  /** False when it had been removed before. */
  readonly changed: boolean;
  readonly deadLettered: number;
  /** False when it was stopped in the middle: run it again, or leave the rest to the sweeper. */
  readonly finished: boolean;
}

/**
 * Removes an endpoint, audited. New events stop at once and its secrets are gone; then its open deliveries are
 * dead-lettered (`endpoint_removed`) in small steps. May be repeated, also after it was killed half-way; what nobody
 * repeats, the sweeper finishes. Attempts in flight end by themselves. Throws AppError not_found, version_conflict.
 */
export async function removeEndpoint(
  deps: RemovalDeps,
  { operator, id, ifVersion, actor, reason }: EndpointChange,
  progress: RemovalProgress = {},
): Promise<Removal> {
  const before = await readEndpoint(deps.redis, deps.keys, id);
  const details = {
    ...(before && { before: JSON.stringify(withoutSecrets(before)) }),
    ...(reason !== undefined && { reason }),
  };
  const audit = { action: 'endpoint.remove', actor, details };
  const answer = await markRemoved(deps.redis, deps.keys, { id, operator }, ifVersion, audit);
  if (answer.kind === 'not_found') throw noEndpoint(operator, id);
  if (answer.kind === 'conflict') throw conflict(id, ifVersion ?? 0, answer.version);
  return { changed: answer.kind === 'ok', ...(await deadLetterAll(deps, operator, id, progress)) };
}

/** How many deliveries a removal would dead-letter. Throws AppError not_found, version_conflict. */
export async function countOpen(
  { redis, keys }: Pick<RemovalDeps, 'redis' | 'keys'>,
  { operator, id, ifVersion }: EndpointChange,
): Promise<{ readonly open: number; readonly changed: boolean }> {
  const endpoint = await readEndpoint(redis, keys, id);
  const removed = endpoint === undefined && (await readRemovedOwner(redis, keys, id)) === operator;
  if (!removed && endpoint?.operator !== operator) throw noEndpoint(operator, id);
  if (endpoint && ifVersion !== undefined && ifVersion !== endpoint.version)
    throw conflict(id, ifVersion, endpoint.version);
  let open = 0;
  for await (const ids of eachDelivery(redis, keys, operator, id)) {
    const pipeline = redis.pipeline();
    for (const delivery of ids) pipeline.hget(keys.delivery(delivery), 'status');
    for (const [error, status] of (await pipeline.exec()) ?? []) {
      if (error) throw error;
      if (status !== null && !TERMINAL_STATUSES.some((terminal) => terminal === status)) open += 1;
    }
  }
  return { open, changed: !removed };
}

/** Finishes removals whose process died. Resolves to how many deliveries were dead-lettered. */
export async function finishRemovals(deps: RemovalDeps): Promise<number> {
  const { redis, keys } = deps;
  const before = (await redisNowMs(redis)) - ABANDONED_AFTER_MS;
  let deadLettered = 0;
  for (const id of await redis.zrangebyscore(keys.removals, '-inf', before)) {
    const operator = await readRemovedOwner(redis, keys, id);
    if (operator === undefined) await redis.zrem(keys.removals, id);
    else deadLettered += (await deadLetterAll(deps, operator, id, {})).deadLettered;
  }
  return deadLettered;
}

async function deadLetterAll(
  { redis, keys, transitions }: RemovalDeps,
  operator: string,
  id: string,
  { signal, onProgress }: RemovalProgress,
): Promise<Pick<Removal, 'deadLettered' | 'finished'>> {
  let deadLettered = 0;
  let lookedAt = 0;
  for await (const ids of eachDelivery(redis, keys, operator, id)) {
    if (signal?.aborted) return { deadLettered, finished: false };
    deadLettered += await transitions.buryRemoved(id, ids);
    lookedAt += ids.length;
    onProgress?.(lookedAt);
  }
  // A delivery that an event's fan-out makes after this look is dead-lettered when its alarm rings.
  await redis.zrem(keys.removals, id);
  return { deadLettered, finished: true };
}

/** All deliveries to an endpoint, in chunks; what was there at the beginning is told at least once. */
async function* eachDelivery(
  redis: Redis,
  keys: Keyspace,
  operator: string,
  id: string,
): AsyncGenerator<string[]> {
  let cursor = '0';
  do {
    const [next, reply] = await redis.zscan(keys.byDestination(operator, id), cursor, 'COUNT', CHUNK);
    cursor = next;
    const ids = reply.filter((_entry, index) => index % 2 === 0);
    for (let from = 0; from < ids.length; from += CHUNK) yield ids.slice(from, from + CHUNK);
  } while (cursor !== '0');
}
