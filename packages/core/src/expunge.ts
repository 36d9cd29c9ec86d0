import type { Delivery, DeliveryStatus } from '@breakwater/contracts/delivery';
import type { Redis } from '@breakwater/store/connection';
import { readDeliveries, readDelivery } from '@breakwater/store/deliveries';
import { removeSamples, withSample } from '@breakwater/store/expunge';
import type { Keyspace } from '@breakwater/store/keys';
import { noDelivery } from './dead-letters.ts';
import { walkDeliveries } from './delivery-walk.ts';

export interface ExpungeDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
}

/** Which deliveries: these, or all that pass. */
export type ExpungeChoice =
  | { readonly ids: readonly string[] }
  | {
      readonly statuses?: readonly DeliveryStatus[];
      /** Destination id. */
      readonly destination?: string;
      /** Class of the last attempt. */
      readonly failureClass?: string;
    };

export interface ExpungeInput {
  readonly operator: string;
  readonly choice: ExpungeChoice;
  readonly actor: string;
  readonly reason: string;
  /** Look only. */
  readonly dryRun: boolean;
  readonly signal: AbortSignal;
  readonly onProgress?: (looked: number, of: number) => void;
}

export interface Expunged {
  /** Deliveries whose sample was removed, or would be. */
  readonly deliveries: readonly string[];
  /** Those with an attempt in flight, whose answer may be stored after this. */
  readonly inFlight: readonly string[];
  /** How many had no sample. */
  readonly without: number;
  /** The signal was aborted before all were looked at. */
  readonly stopped: boolean;
}

/** Looked at in one go, and named by one audit entry. */
const CHUNK = 200;

/**
 * Removes stored response samples, audited; attempts, classes and statuses stay. For answers that hold what must not be
 * kept. Running it again after a stop goes on. Throws AppError not_found when a named delivery is not the operator's;
 * nothing is removed then.
 */
export async function expungeSamples(deps: ExpungeDeps, input: ExpungeInput): Promise<Expunged> {
  const { redis, keys } = deps;
  const { operator, choice, actor, reason } = input;
  const ids = await idsOf(deps, input);
  const removed: string[] = [];
  const inFlight: string[] = [];
  let looked = 0;
  for (let from = 0; from < ids.length; from += CHUNK) {
    if (input.signal.aborted) break;
    const chunk = ids.slice(from, from + CHUNK);
    const chosen = (await readDeliveries(redis, keys, chunk)).filter((delivery) =>
      passes(delivery, operator, choice),
    );
    const kept = await withSample(
      redis,
      keys,
      chosen.map(({ id }) => id),
    );
    if (!input.dryRun) await removeSamples(redis, keys, kept, { operator, actor, reason });
    removed.push(...kept);
    inFlight.push(...chosen.filter((delivery) => delivery.inFlight).map(({ id }) => id));
    looked += chosen.length;
    input.onProgress?.(Math.min(from + CHUNK, ids.length), ids.length);
  }
  return {
    deliveries: removed,
    inFlight,
    without: looked - removed.length,
    stopped: input.signal.aborted,
  };
}

async function idsOf({ redis, keys }: ExpungeDeps, { operator, choice }: ExpungeInput): Promise<string[]> {
  if (!('ids' in choice)) {
    const { statuses: status, destination, failureClass } = choice;
    const chosen: string[] = [];
    const query = {
      operator,
      ...(status && { status }),
      ...(destination !== undefined && { destination }),
      ...(failureClass !== undefined && { failureClass }),
    };
    for await (const { delivery } of walkDeliveries(redis, keys, query, undefined))
      if (delivery) chosen.push(delivery.id);
    return chosen;
  }
  const ids = [...new Set(choice.ids)];
  for (const id of ids) if (!(await readDelivery(redis, keys, operator, id))) throw noDelivery(operator, id);
  return ids;
}

function passes(delivery: Delivery, operator: string, choice: ExpungeChoice): boolean {
  if (delivery.operator !== operator) return false;
  if ('ids' in choice || choice.failureClass === undefined) return true;
  return delivery.failureClass === choice.failureClass;
}
