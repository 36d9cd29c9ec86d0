import type { Delivery } from '@breakwater/contracts/delivery';
import type { ReplayableStatus } from '@breakwater/contracts/replay-run';
import { AppError } from '@breakwater/runtime/errors';
import type { Redis } from '@breakwater/store/connection';
import { readDelivery } from '@breakwater/store/deliveries';
import type { Keyspace } from '@breakwater/store/keys';
import { whyNoDelivery, wrongStatus } from './dead-letters.ts';
import { type DestinationFacts, findReplayObstacle } from './replay-check.ts';
import { type SelectFilter, selectDeliveries } from './select-deliveries.ts';

/** What to replay: named deliveries, or all that a filter chooses. Those of another status are refused. */
export type ReplaySelection =
  | { readonly operator: string; readonly status: ReplayableStatus; readonly ids: readonly string[] }
  | (SelectFilter & { readonly status: ReplayableStatus });

export interface ReplayPace {
  readonly perSecond: number;
  readonly destinationPerSecond: number | undefined;
}

export interface RefusedReplay {
  readonly delivery: string;
  readonly error: AppError;
}

/** What a bulk replay would do now. */
export interface ReplayPlan {
  readonly matched: number;
  /** Oldest first. */
  readonly deliveries: readonly string[];
  readonly refused: readonly RefusedReplay[];
  /** Of `deliveries`: destination name -> how many. */
  readonly byDestination: ReadonlyMap<string, number>;
  /** Of `deliveries`: why they were given up and how the last attempt failed -> how many. */
  readonly byReason: ReadonlyMap<string, number>;
  /** How long asking takes at this pace; the attempts themselves may take longer. */
  readonly estimateMs: number;
}

/** A list of more would be larger than what it repairs is urgent: narrow the filter, and run it in parts. */
const MATCHED_MAX = 500_000;

/** Ids of what the selection chooses, oldest first: whoever has waited longest is served first. */
export async function chooseDeliveries(
  redis: Redis,
  keys: Keyspace,
  selection: ReplaySelection,
): Promise<string[]> {
  if ('ids' in selection) return [...new Set(selection.ids)];
  const found: Chosen[] = [];
  for await (const { id, statusAt } of selectDeliveries(redis, keys, selection)) {
    found.push({ id, statusAt });
    if (found.length > MATCHED_MAX) throw tooMany();
  }
  return oldestFirst(found);
}

type Chosen = Pick<Delivery, 'id' | 'statusAt'>;

/** By the last change, whichever index they were found in; of equal ones the one that was found last. */
const oldestFirst = (found: readonly Chosen[]): string[] =>
  found
    .toReversed()
    .toSorted((one, other) => one.statusAt - other.statusAt)
    .map(({ id }) => id);

/** Says what a bulk replay would do now, and changes nothing. */
export async function planReplay(
  redis: Redis,
  keys: Keyspace,
  selection: ReplaySelection,
  acknowledged: boolean,
  pace: ReplayPace,
): Promise<ReplayPlan> {
  const facts: DestinationFacts = new Map();
  const deliveries: Chosen[] = [];
  const refused: RefusedReplay[] = [];
  const byDestination = new Map<string, number>();
  const byReason = new Map<string, number>();
  for await (const { id, delivery } of eachChosen(redis, keys, selection)) {
    const error =
      delivery instanceof AppError
        ? delivery
        : await findReplayObstacle(redis, keys, delivery, acknowledged, facts);
    if (error || delivery instanceof AppError) {
      if (error) refused.push({ delivery: id, error });
      continue;
    }
    deliveries.push({ id, statusAt: delivery.statusAt });
    increment(byDestination, delivery.destination.name);
    increment(byReason, causeOf(delivery));
    if (deliveries.length > MATCHED_MAX) throw tooMany();
  }
  return {
    matched: deliveries.length + refused.length,
    deliveries: 'ids' in selection ? deliveries.map(({ id }) => id) : oldestFirst(deliveries),
    refused,
    byDestination,
    byReason,
    estimateMs: estimateMs(deliveries.length, byDestination, pace),
  };
}

async function* eachChosen(
  redis: Redis,
  keys: Keyspace,
  selection: ReplaySelection,
): AsyncGenerator<{ id: string; delivery: Delivery | AppError }> {
  if (!('ids' in selection)) {
    for await (const delivery of selectDeliveries(redis, keys, selection))
      yield { id: delivery.id, delivery };
    return;
  }
  const { operator, status } = selection;
  for (const id of new Set(selection.ids)) {
    const delivery = await readDelivery(redis, keys, operator, id);
    if (!delivery) yield { id, delivery: await whyNoDelivery({ redis, keys }, operator, id) };
    // What was resolved has a sentence of its own.
    else if (delivery.status === status || delivery.status === 'resolved') yield { id, delivery };
    else yield { id, delivery: wrongStatus(delivery, status) };
  }
}

const increment = (counts: Map<string, number>, name: string): void =>
  void counts.set(name, (counts.get(name) ?? 0) + 1);

function causeOf({ reason, attempts, status }: Delivery): string {
  const last = attempts.at(-1)?.class ?? 'not tried';
  return `${reason ?? status}, ${last}`;
}

function estimateMs(total: number, byDestination: ReadonlyMap<string, number>, pace: ReplayPace): number {
  const own = total / pace.perSecond;
  const { destinationPerSecond } = pace;
  const slowest =
    destinationPerSecond === undefined ? 0 : Math.max(0, ...byDestination.values()) / destinationPerSecond;
  return Math.ceil(Math.max(own, slowest) * 1_000);
}

const tooMany = (): AppError =>
  new AppError(
    'request_invalid',
    `More than ${MATCHED_MAX} deliveries match: narrow the filter (--since, --until, --endpoint) and replay them in parts.`,
  );
