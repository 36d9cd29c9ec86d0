import { DELIVERY_STATUSES } from '@breakwater/contracts/delivery';
import { erpDestination } from '@breakwater/contracts/ids';
import { RESERVED_SOURCE } from '@breakwater/contracts/reserved';
import type { ReadyErpTarget } from '@breakwater/erp/targets';
import type { QueueMaintenance } from '@breakwater/queue/maintenance';
import type { FleetSnapshot, Sample } from '@breakwater/runtime/metrics-fleet';
import { redisNowMs } from '@breakwater/store/clock';
import type { Redis } from '@breakwater/store/connection';
import { pastDueMs, readBreaker } from '@breakwater/store/gates';
import type { Keyspace } from '@breakwater/store/keys';
import { type Ledger, readLedger } from '@breakwater/store/ledger';
import { readMemory } from '@breakwater/store/memory';
import { readSourceUse } from '@breakwater/store/source-use';
import { type ReconciliationSettings, reconciliationSamples } from './reconciliation-results.ts';
import { judgeSilence, type Silence } from './silence.ts';

export interface SnapshotDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly targets: ReadonlyMap<string, ReadyErpTarget>;
  /** Names of the configured sources. */
  readonly sources: readonly string[];
  readonly maintenance: QueueMaintenance;
  readonly config: { readonly reconciliation: ReconciliationSettings };
}

const BREAKER_VALUE = { closed: 0, half_open: 1, open: 2 } as const;

/** Reads the fleet's figures once. `counts` are the ERPs' own, as far as they are known. */
export async function takeSnapshot(
  deps: SnapshotDeps,
  counts: ReadonlyMap<string, DocumentCount>,
): Promise<FleetSnapshot> {
  const { redis, keys, targets } = deps;
  const ledger = await readLedger(redis, keys);
  const names = [...targets.keys()];
  const breakers = await Promise.all(names.map((name) => readBreaker(redis, keys, erpDestination(name))));
  const depths = await deps.maintenance.depths();
  const memory = await readMemory(redis);
  const reconciled = await reconciliationSamples(deps, [...targets.values()]);
  const silences = await judgeSources(deps, Date.now());
  const deliveries = [...new Set(['endpoint', ...names, ...ledger.deliveries.keys()])].flatMap(
    (destination) =>
      DELIVERY_STATUSES.map((status): Sample => [
        [destination, status],
        ledger.deliveries.get(destination)?.get(status) ?? 0,
      ]),
  );
  const labels = ['endpoint', ...names];
  const sources = [...deps.sources, RESERVED_SOURCE];
  return {
    accepted: samples(withZeros(ledger.accepted, sources)),
    unrouted: samples(withZeros(ledger.unrouted, sources)),
    // Every configured target has its series from the start, or the first event would look like a gap.
    expected: names.map((name) => [[name], ledger.expected.get(name) ?? 0]),
    postings: names.map((name) => [[name], ledger.postings.get(name) ?? 0]),
    resolved: names.map((name) => [[name], ledger.resolved.get(name) ?? 0]),
    autoPauses: [[[], ledger.autoPauses]],
    deliveries,
    created: samples(withZeros(ledger.created, labels)),
    expired: samples(withZeros(ledger.expired, labels)),
    deadLetters: labels.map((label) => [[label], ledger.deliveries.get(label)?.get('dead_letter') ?? 0]),
    documents: [...counts].map(([name, { documents }]) => [[name], documents]),
    ratio: names.map((name) => [[name], sideEffectRatio(ledger, name, counts.get(name))]),
    breaker: names.map((name, index) => [[name], BREAKER_VALUE[breakers[index]?.state ?? 'closed']]),
    queueJobs: depths.map(({ queue, state, jobs }) => [[queue, state], jobs]),
    pastDue: await pastDue(deps),
    // A source from which nothing has come yet has no age; it is not silent, since nothing is usual for it.
    lastSeen: silences.flatMap(([name, { quietMs }]) =>
      quietMs === undefined ? [] : [[[name], quietMs / 1_000]],
    ),
    silent: silences.map(([name, { silent }]) => [[name], silent ? 1 : 0]),
    ...reconciled,
    oldestOpen: await oldestOpen(deps, labels),
    targetInfo: [...targets].map(([name, { config }]) => [[name, config.owner], 1]),
    redisMemoryUsed: [[[], memory.used]],
    redisMemoryMax: memory.max > 0 ? [[[], memory.max]] : [],
  };
}

/** Seconds by queue: the oldest alarm past its time, and the oldest event that nobody has begun to fan out. */
async function pastDue({ redis, keys, maintenance }: SnapshotDeps): Promise<Sample[]> {
  const [deliveries, erp, events] = await Promise.all([
    pastDueMs(redis, keys, 'deliveries'),
    pastDueMs(redis, keys, 'erp'),
    maintenance.oldestWaitingEventMs(),
  ]);
  return [
    [['deliveries'], deliveries / 1_000],
    [['erp'], erp / 1_000],
    [['events'], events / 1_000],
  ];
}

/** Seconds by destination label, by Redis' clock, which made the times. */
async function oldestOpen({ redis, keys }: SnapshotDeps, labels: readonly string[]): Promise<Sample[]> {
  const now = await redisNowMs(redis);
  return Promise.all(
    labels.map(async (label): Promise<Sample> => {
      const [, since] = await redis.zrange(keys.open(label), 0, '0', 'WITHSCORES');
      return [[label], since === undefined ? 0 : Math.max(0, now - Number(since)) / 1_000];
    }),
  );
}

async function judgeSources(
  { redis, keys, sources }: SnapshotDeps,
  now: number,
): Promise<(readonly [name: string, silence: Silence])[]> {
  return Promise.all(
    sources.map(async (name) => [name, judgeSilence(await readSourceUse(redis, keys, name), now)] as const),
  );
}

/** An ERP's own number of documents, and how many were owed at that time. */
export interface DocumentCount {
  readonly documents: number;
  readonly owed: number;
  /** Postings beyond the first of their event that the count has seen. */
  readonly doubles: number;
}

/**
 * Counts an ERP's documents. What is owed is read afterwards: what is posted in between was owed before, so the pair never
 * shows an excess that is none. Doubles are read before: one that is posted in between is told apart from the count.
 */
export async function countDocuments(
  { redis, keys }: Pick<SnapshotDeps, 'redis' | 'keys'>,
  target: ReadyErpTarget,
): Promise<DocumentCount | undefined> {
  if (!target.adapter.count) return undefined;
  const doubles = doublesOf(await readLedger(redis, keys), target.name);
  const documents = await target.adapter.count();
  return { documents, owed: owedBy(await readLedger(redis, keys), target.name), doubles };
}

const doublesOf = (ledger: Ledger, target: string): number => ledger.doubles.get(target) ?? 0;
const owedBy = (ledger: Ledger, target: string): number =>
  (ledger.expected.get(target) ?? 0) - (ledger.resolved.get(target) ?? 0);

/**
 * Documents per posting owed, both of the time of the last count: compared with what is owed now, a busy minute would
 * look like a loss. A double of ours shows at once, whatever else is still open, until the next count says whether both
 * documents are there: one that a person cancelled is none any more. Where the ERP cannot be counted our own postings stand
 * in altogether. 1 when nothing is owed.
 */
export function sideEffectRatio(ledger: Ledger, target: string, count: DocumentCount | undefined): number {
  const owed = owedBy(ledger, target);
  if (count === undefined) return ratio(ledger.postings.get(target) ?? 0, owed);
  const fresh = doublesOf(ledger, target) - count.doubles;
  return Math.max(ratio(count.documents, count.owed), fresh > 0 ? 1 + fresh / Math.max(1, owed) : 0);
}

function ratio(done: number, owed: number): number {
  if (owed > 0) return done / owed;
  return done > 0 ? Number.POSITIVE_INFINITY : 1;
}

/** What is configured has its series from the start: one that appears with its first values shows no increase. */
const withZeros = (map: ReadonlyMap<string, number>, names: readonly string[]): ReadonlyMap<string, number> =>
  new Map([...names.map((name): [string, number] => [name, 0]), ...map]);

const samples = (map: ReadonlyMap<string, number>): Sample[] =>
  [...map].map(([label, value]) => [[label], value]);
