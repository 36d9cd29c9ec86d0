import { Counter, Gauge, type Registry } from 'prom-client';

/** A sample of one series: label values in the order of the metric's label names. */
export type Sample = readonly [labels: readonly string[], value: number];

/** Totals of the whole fleet as they stand in Redis. Exported by one process only, or sums would multiply. */
export interface FleetSnapshot {
  readonly accepted: readonly Sample[];
  readonly unrouted: readonly Sample[];
  readonly expected: readonly Sample[];
  readonly postings: readonly Sample[];
  readonly resolved: readonly Sample[];
  readonly autoPauses: readonly Sample[];
  readonly deliveries: readonly Sample[];
  readonly created: readonly Sample[];
  readonly expired: readonly Sample[];
  readonly deadLetters: readonly Sample[];
  readonly documents: readonly Sample[];
  readonly ratio: readonly Sample[];
  readonly breaker: readonly Sample[];
  readonly queueJobs: readonly Sample[];
  readonly pastDue: readonly Sample[];
  readonly lastSeen: readonly Sample[];
  readonly silent: readonly Sample[];
  /** What the latest scheduled reconciliation counted; empty where there is none that is fresh. */
  readonly reconcileMissing: readonly Sample[];
  readonly reconcileDuplicate: readonly Sample[];
  readonly reconcileUnknown: readonly Sample[];
  readonly reconcileAge: readonly Sample[];
  readonly oldestOpen: readonly Sample[];
  /** Always 1: carries who is paged for a target. */
  readonly targetInfo: readonly Sample[];
  readonly redisMemoryUsed: readonly Sample[];
  /** Empty where Redis has no limit. */
  readonly redisMemoryMax: readonly Sample[];
}

type Kind = 'counter' | 'gauge';
const METRICS: readonly (readonly [keyof FleetSnapshot, Kind, string, readonly string[], string])[] = [
  ['accepted', 'counter', 'ledger_events_accepted_total', ['source'], 'Events accepted, counted once each.'],
  [
    'unrouted',
    'counter',
    'ledger_events_unrouted_total',
    ['source'],
    'Accepted events that no route or endpoint wanted.',
  ],
  [
    'expected',
    'counter',
    'ledger_erp_expected_total',
    ['target'],
    'ERP postings owed: one per event and target.',
  ],
  [
    'postings',
    'counter',
    'ledger_erp_postings_total',
    ['target'],
    'Creating answers of the ERP; a double shows here.',
  ],
  [
    'resolved',
    'counter',
    'ledger_erp_resolved_total',
    ['target'],
    'Owed postings that a person settled otherwise.',
  ],
  [
    'autoPauses',
    'counter',
    'ledger_endpoints_auto_paused_total',
    [],
    'Endpoints paused because they had failed for too long.',
  ],
  ['deliveries', 'gauge', 'ledger_deliveries', ['destination', 'status'], 'Deliveries by status.'],
  [
    'created',
    'counter',
    'ledger_deliveries_created_total',
    ['destination'],
    'Deliveries ever made: those of every status and the expired ones.',
  ],
  [
    'expired',
    'counter',
    'ledger_deliveries_expired_total',
    ['destination'],
    'Ended deliveries whose retention is over.',
  ],
  ['deadLetters', 'gauge', 'dead_letters', ['destination'], 'Deliveries that are dead letters now.'],
  [
    'documents',
    'gauge',
    'erp_documents',
    ['target'],
    "The ERP's own number of documents with our references.",
  ],
  [
    'ratio',
    'gauge',
    'side_effect_ratio',
    ['target'],
    'Documents (else postings) per posting owed; 1 is right.',
  ],
  ['breaker', 'gauge', 'breaker_state', ['target'], '0 closed, 1 half-open, 2 open.'],
  ['queueJobs', 'gauge', 'queue_jobs', ['queue', 'state'], 'BullMQ jobs by state.'],
  [
    'pastDue',
    'gauge',
    'past_due_seconds',
    ['queue'],
    'How long the oldest alarm is past its time; of events: how long the oldest waits for fan-out.',
  ],
  [
    'lastSeen',
    'gauge',
    'source_last_seen_seconds',
    ['source'],
    'Age of the latest verified request of a source.',
  ],
  ['silent', 'gauge', 'source_silent', ['source'], '1 where a source that usually sends has gone quiet.'],
  [
    'reconcileMissing',
    'gauge',
    'reconcile_missing',
    ['target'],
    'Accepted events without a posting that nothing in flight will make.',
  ],
  [
    'reconcileDuplicate',
    'gauge',
    'reconcile_duplicate',
    ['target'],
    'Documents at the ERP beyond the one of their event.',
  ],
  [
    'reconcileUnknown',
    'gauge',
    'reconcile_unknown',
    ['target'],
    'Events whose last attempt has no clear result.',
  ],
  [
    'reconcileAge',
    'gauge',
    'reconcile_age_seconds',
    ['target', 'depth'],
    "Since the latest scheduled reconciliation began: records (ours) or erp (compared with the ERP's documents).",
  ],
  [
    'oldestOpen',
    'gauge',
    'oldest_open_seconds',
    ['destination'],
    'Age of the oldest delivery that is pending, failed or held; 0 where none is.',
  ],
  ['targetInfo', 'gauge', 'target_info', ['target', 'owner'], 'Always 1; names the owner of an ERP target.'],
  ['redisMemoryUsed', 'gauge', 'redis_memory_used_bytes', [], 'Memory that Redis uses.'],
  [
    'redisMemoryMax',
    'gauge',
    'redis_memory_max_bytes',
    [],
    'Limit of the memory of Redis; absent without one.',
  ],
];

export interface FleetSource {
  /** The newest snapshot; undefined while there is none, or it is too old: then no value is better than an old one. */
  readonly latest: () => FleetSnapshot | undefined;
  /** ms since the newest snapshot was taken, however old; undefined before the first. */
  readonly ageMs: () => number | undefined;
}

/**
 * Registers the fleet's metrics. A scrape never waits for Redis: it shows what was read last, and
 * `breakwater_fleet_snapshot_age_seconds` says how long ago that was, also when nothing else is shown any more.
 */
export function exportFleet(registry: Registry, { latest, ageMs }: FleetSource): void {
  for (const [field, kind, name, labelNames, help] of METRICS) {
    const options = { name: `breakwater_${name}`, help, labelNames: [...labelNames], registers: [registry] };
    if (kind === 'counter') {
      const counter = new Counter({
        ...options,
        collect() {
          clear(this, labelNames);
          // A counter takes no negative value but throws, and every figure of the scrape would be gone with it.
          for (const [labels, value] of latest()?.[field] ?? [])
            this.inc(labelled(labelNames, labels), Math.max(0, value));
        },
      });
      void counter;
      continue;
    }
    const gauge = new Gauge({
      ...options,
      collect() {
        clear(this, labelNames);
        for (const [labels, value] of latest()?.[field] ?? []) this.set(labelled(labelNames, labels), value);
      },
    });
    void gauge;
  }
  const snapshotAge = new Gauge({
    name: 'breakwater_fleet_snapshot_age_seconds',
    help: 'Age of the figures that are read from Redis; it grows while Redis does not answer.',
    registers: [registry],
    collect() {
      const age = ageMs();
      if (age === undefined) clear(this, []);
      else this.set(age / 1_000);
    },
  });
  void snapshotAge;
}

/** Takes every value away. `reset` alone gives a metric without labels the value 0, which is a figure, and here a wrong one. */
function clear(metric: Counter | Gauge, labelNames: readonly string[]): void {
  metric.reset();
  if (labelNames.length === 0) metric.remove();
}

const labelled = (names: readonly string[], values: readonly string[]): Record<string, string> =>
  Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
