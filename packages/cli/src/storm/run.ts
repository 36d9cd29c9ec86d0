import { eventKey } from '@breakwater/contracts/ids';
import { type EventStatus, isTerminal, readEventStatuses } from '@breakwater/core/run-status';
import type { ReadyErpTarget } from '@breakwater/erp/targets';
import { pause } from '@breakwater/runtime/poll';
import type { Redis } from '@breakwater/store/connection';
import type { Keyspace } from '@breakwater/store/keys';
import { readLedger } from '@breakwater/store/ledger';
import { countAtErp, type Figures, judge } from './figures.ts';
import { makeOrder, type OrderShape, shuffledDeliveries } from './orders.ts';
import { sendStorm, STOPPED, StormError } from './provider.ts';

export interface StormPlan {
  readonly run: string;
  readonly sourceName: string;
  readonly shape: OrderShape;
  readonly url: string;
  readonly orders: number;
  readonly deliveries: number;
  readonly concurrency: number;
}

export interface StormProgress {
  readonly acknowledged: number;
  readonly deliveries: number;
  /** Events whose deliveries are all terminal. */
  readonly done: number;
  readonly orders: number;
  readonly deadLetters: number;
  /** Deliveries whose last attempt failed: they wait for their retry. */
  readonly retrying: number;
}

export interface StormDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly targets: ReadonlyMap<string, ReadyErpTarget>;
  readonly signal: AbortSignal;
  readonly onProgress: (progress: StormProgress) => void;
  /** Says something that the person who watches should know. */
  readonly note: (text: string) => void;
}

const LOOK_EVERY_MS = 250;

/** Runs a storm to its end: every delivery acknowledged, everything that follows terminal. Throws when it is stopped. */
export async function runStorm(plan: StormPlan, deps: StormDeps): Promise<Figures> {
  const { redis, keys, signal } = deps;
  const started = performance.now();
  const orders = Array.from({ length: plan.orders }, (_, index) =>
    makeOrder(plan.shape, plan.run, index + 1),
  );
  const eventKeys = orders.map((order) =>
    eventKey(plan.shape.source.operator, plan.sourceName, order.eventId),
  );
  const known = (await readEventStatuses(redis, keys, eventKeys)).filter((status) => status.recorded).length;
  const acceptedBefore = (await readLedger(redis, keys)).accepted.get(plan.sourceName) ?? 0;
  const progress = {
    acknowledged: 0,
    deliveries: plan.deliveries,
    done: 0,
    orders: plan.orders,
    deadLetters: 0,
    retrying: 0,
  };
  const show = (change: Partial<StormProgress>): void => deps.onProgress(Object.assign(progress, change));

  const sending = sendStorm({
    url: plan.url,
    source: plan.shape.source,
    orders,
    deliveries: shuffledDeliveries(plan.orders, plan.deliveries),
    concurrency: plan.concurrency,
    signal,
    onProgress: (acknowledged) => show({ acknowledged }),
    onTrouble: deps.note,
  });
  const [sent, statuses] = await Promise.all([sending, waitForEnd(eventKeys, deps, sending, show)]);
  const ledgerGrowth = ((await readLedger(redis, keys)).accepted.get(plan.sourceName) ?? 0) - acceptedBefore;
  const erp = await countAtErp(statuses, deps.targets, { redis, keys });
  return judge({
    run: plan.run,
    source: plan.sourceName,
    orders: plan.orders,
    deliveries: plan.deliveries,
    ...sent,
    known,
    statuses,
    ledgerGrowth,
    erp,
    seconds: (performance.now() - started) / 1_000,
  });
}

const countIn = (statuses: readonly EventStatus[], wanted: string): number =>
  statuses.flatMap(({ deliveries }) => deliveries).filter(({ status }) => status === wanted).length;

/** Looks until every event is terminal; only those that were not are looked at again. */
async function waitForEnd(
  eventKeys: readonly string[],
  deps: StormDeps,
  sending: Promise<unknown>,
  show: (change: Partial<StormProgress>) => void,
): Promise<EventStatus[]> {
  const { redis, keys, signal } = deps;
  const ended = new Map<string, EventStatus>();
  const failed = new AbortController();
  sending.catch(() => failed.abort()); // the caller sees why
  while (!failed.signal.aborted) {
    if (signal.aborted) throw new StormError(STOPPED);
    const open = eventKeys.filter((key) => !ended.has(key));
    const looked = await readEventStatuses(redis, keys, open);
    for (const status of looked) if (isTerminal(status)) ended.set(status.key, status);
    show({
      done: ended.size,
      deadLetters: countIn([...ended.values()], 'dead_letter'),
      retrying: countIn(looked, 'failed'),
    });
    if (ended.size === eventKeys.length) {
      await sending; // duplicates may still be under way
      return readEventStatuses(redis, keys, eventKeys);
    }
    await pause(LOOK_EVERY_MS, signal);
  }
  return [];
}
