import { erpDestination } from '@breakwater/contracts/ids';
import type { ReadyErpTarget } from '@breakwater/erp/targets';
import type { QueueMaintenance } from '@breakwater/queue/maintenance';
import type { FleetSnapshot, Sample } from '@breakwater/runtime/metrics-fleet';
import type { Redis } from '@breakwater/store/connection';
import { pastDueMs, readBreaker } from '@breakwater/store/gates';
import type { Keyspace } from '@breakwater/store/keys';
import { type Ledger, readLedger } from '@breakwater/store/ledger';

export interface SnapshotDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly targets: ReadonlyMap<string, ReadyErpTarget>;
  readonly maintenance: QueueMaintenance;
}

const BREAKER_VALUE = { closed: 0, half_open: 1, open: 2 } as const;

/** Reads the fleet's figures once. `documents` are the ERPs' own counts, as far as they are known. */
export async function takeSnapshot(deps: SnapshotDeps, documents: ReadonlyMap<string, number>): Promise<FleetSnapshot> {
  const { redis, keys, targets } = deps;
  const ledger = await readLedger(redis, keys);
  const names = [...targets.keys()];
  const breakers = await Promise.all(names.map((name) => readBreaker(redis, keys, erpDestination(name))));
  const depths = await deps.maintenance.depths();
  const pastDue = await Promise.all((['deliveries', 'erp'] as const).map(async (queue): Promise<Sample> => [[queue], (await pastDueMs(redis, keys, queue)) / 1_000]));
  const deliveries = [...ledger.deliveries].flatMap(([destination, statuses]) => [...statuses].map(([status, count]): Sample => [[destination, status], count]));
  return {
    accepted: samples(ledger.accepted),
    unrouted: samples(ledger.unrouted),
    // Every configured target has its series from the start, or the first event would look like a gap.
    expected: names.map((name) => [[name], ledger.expected.get(name) ?? 0]),
    postings: names.map((name) => [[name], ledger.postings.get(name) ?? 0]),
    resolved: names.map((name) => [[name], ledger.resolved.get(name) ?? 0]),
    deliveries,
    deadLetters: ['endpoint', ...names].map((label) => [[label], ledger.deliveries.get(label)?.get('dead_letter') ?? 0]),
    documents: samples(documents),
    ratio: names.map((name) => [[name], sideEffectRatio(ledger, name, documents.get(name))]),
    breaker: names.map((name, index) => [[name], BREAKER_VALUE[breakers[index]?.state ?? 'closed']]),
    queueJobs: depths.map(({ queue, state, jobs }) => [[queue, state], jobs]),
    pastDue,
  };
}

/** Documents (else postings) per posting owed; 1 when none is owed. */
export function sideEffectRatio(ledger: Ledger, target: string, documents: number | undefined): number {
  const owed = (ledger.expected.get(target) ?? 0) - (ledger.resolved.get(target) ?? 0);
  const done = documents ?? ledger.postings.get(target) ?? 0;
  if (owed <= 0) return done > 0 ? Number.POSITIVE_INFINITY : 1;
  return done / owed;
}

const samples = (map: ReadonlyMap<string, number>): Sample[] => [...map].map(([label, value]) => [[label], value]);
