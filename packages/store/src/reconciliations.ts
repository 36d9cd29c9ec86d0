import type { Redis } from 'ioredis';
import type { Keyspace } from './keys.ts';
import { loadScript } from './script.ts';

const storeScript = loadScript('store-reconciliation', { prelude: false });

/** A run that nobody goes on with within an hour is over: what the ERP listed to it leaves by itself. */
const DOCUMENTS_TTL_S = 3_600;

/** Document of a delivery, as the ERP listed it. */
export interface SeenDocument {
  readonly delivery: string;
  readonly document: string;
}

/**
 * Notes documents that the ERP listed, the first of each delivery. Resolves to the first of each, in the same order: one
 * that differs from what was given is another document under the same reference.
 */
export async function noteDocuments(
  redis: Redis,
  keys: Keyspace,
  run: string,
  seen: readonly SeenDocument[],
): Promise<string[]> {
  if (seen.length === 0) return [];
  const key = keys.documents(run);
  const pipeline = redis.pipeline();
  for (const { delivery, document } of seen) {
    pipeline.hsetnx(key, delivery, document);
    pipeline.hget(key, delivery);
  }
  pipeline.expire(key, DOCUMENTS_TTL_S);
  const replies = (await pipeline.exec()) ?? [];
  return seen.map((_, index) => {
    const [error, first] = replies[2 * index + 1] ?? [];
    if (error) throw error;
    return String(first);
  });
}

/** Begins what the ERP lists to a run at `startedAt` (ms, Redis' clock). Beginning it again changes nothing. */
export async function beginDocuments(
  redis: Redis,
  keys: Keyspace,
  run: string,
  startedAt: number,
): Promise<void> {
  await redis.hsetnx(keys.documents(run), BEGUN, startedAt);
  await redis.expire(keys.documents(run), DOCUMENTS_TTL_S);
}
const BEGUN = ''; // no delivery is called so

/** When the ERP began to list to this run; undefined when that is not known any more. Keeps it for another hour. */
export async function documentsBegun(redis: Redis, keys: Keyspace, run: string): Promise<number | undefined> {
  const startedAt = await redis.hget(keys.documents(run), BEGUN);
  await redis.expire(keys.documents(run), DOCUMENTS_TTL_S);
  return startedAt === null ? undefined : Number(startedAt);
}

export async function forgetDocuments(redis: Redis, keys: Keyspace, run: string): Promise<void> {
  await redis.unlink(keys.documents(run));
}

/** What is known here of a document's reference: the record of the delivery that has it. */
export interface OwnDocument {
  readonly delivery: string;
  readonly operator: string;
  readonly createdAt: number;
  readonly receipt: string;
}

/** Deliveries to look for, the first that there is of each list. Undefined where there is none. */
export async function firstDeliveries(
  redis: Redis,
  keys: Keyspace,
  candidates: readonly (readonly string[])[],
): Promise<(OwnDocument | undefined)[]> {
  const pipeline = redis.pipeline();
  for (const id of candidates.flat()) pipeline.hmget(keys.delivery(id), 'operator', 'createdAt', 'receipt');
  const replies = (await pipeline.exec()) ?? [];
  let index = 0;
  return candidates.map((ids) => {
    const found: OwnDocument[] = [];
    for (const delivery of ids) {
      const [error, fields] = replies[index] ?? [];
      index += 1;
      if (error) throw error;
      const [operator, createdAt, receipt] = fields as (string | null)[];
      if (operator !== null && operator !== undefined)
        found.push({ delivery, operator, createdAt: Number(createdAt), receipt: receipt ?? '' });
    }
    return found[0];
  });
}

/** Deliveries of references that are not event ids. */
export async function deliveriesOfReferences(
  redis: Redis,
  keys: Keyspace,
  destination: string,
  references: readonly string[],
): Promise<(string | undefined)[]> {
  if (references.length === 0) return [];
  const found = await redis.hmget(keys.references(destination), ...references);
  return found.map((delivery) => delivery ?? undefined);
}

/** Was any of these events accepted? By its record, or by its dedupe record, which outlives it. */
export async function wasAnyAccepted(
  redis: Redis,
  keys: Keyspace,
  eventKeys: readonly string[],
): Promise<boolean> {
  if (eventKeys.length === 0) return false;
  return (await redis.exists(...eventKeys.flatMap((key) => [keys.event(key), keys.dedupe(key)]))) > 0;
}

/** Keeps the parts of a scheduled reconciliation (JSON each). Resolves to false where the lease is another's by now. */
export async function storeReconciliation(
  redis: Redis,
  keys: Keyspace,
  target: string,
  lease: { readonly name: string; readonly identity: string },
  parts: Readonly<Record<string, string>>,
): Promise<boolean> {
  const [kept] = await storeScript.run(
    redis,
    [keys.reconciliation(target), keys.lease(lease.name)],
    [lease.identity, ...Object.entries(parts).flat()],
  );
  return kept === 1;
}

/** Notes, once, that a target is to be reconciled from `now` (ms, Redis' clock) on. */
export async function expectReconciliation(
  redis: Redis,
  keys: Keyspace,
  target: string,
  now: number,
): Promise<void> {
  await redis.hsetnx(keys.reconciliation(target), 'expected', now);
}

/** One part of the latest scheduled reconciliation of a target, as JSON; undefined before the first. */
export async function readReconciliationPart(
  redis: Redis,
  keys: Keyspace,
  target: string,
  part: string,
): Promise<string | undefined> {
  return (await redis.hget(keys.reconciliation(target), part)) ?? undefined;
}
