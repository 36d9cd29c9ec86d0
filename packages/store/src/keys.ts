import type { DeliveryStatus } from '@breakwater/contracts/delivery';
import { type QueueName, QUEUES } from '@breakwater/contracts/jobs';

/**
 * Every Redis key of Breakwater. All keys of one deployment carry one hash tag, so that a script may touch them in one
 * step (Redis Cluster needs that; more shards may come). Scripts build the same names from `prefix`; the tidy test
 * compares both with the table in ARCHITECTURE.md.
 */
export interface Keyspace {
  /** `{bw:0}:`, first part of every key and ARGV 1 of every script. */
  readonly prefix: string;
  /** Prefix for BullMQ; its keys are `{bw:0}:<queue>:...`. */
  readonly queues: string;
  /** hash, retention: the event record: source, operator, id, type, entity, body, plan. */
  readonly event: (eventKey: string) => string;
  /** hash, retention: the delivery record; attempts are fields a<n>, late results l<n>. */
  readonly delivery: (deliveryId: string) => string;
  /** hash, 7 days: the last response sample of a delivery. Apart from the record, which must stay small. */
  readonly sample: (deliveryId: string) => string;
  /** zset alarm id -> when to look: every armed alarm until its attempt has ended. */
  readonly alarms: (queue: Extract<QueueName, 'deliveries' | 'erp'>) => string;
  /** hash: cap, ramp, rate, pause, failing since, policy, breaker of a destination. `retries` is the lane of all retries. */
  readonly gate: (destination: string) => string;
  /** hash, 25 h after its last change: what a destination answered, by the hour, of the last 24. */
  readonly recent: (destination: string) => string;
  /** zset alarm id -> since: who waits at a gate. */
  readonly waiting: (destination: string) => string;
  /** zset gate -> when to look: gates with waiters. */
  readonly gates: string;
  /** hash: every counter that must equal a fact. */
  readonly ledger: string;
  /** zset delivery -> since: deliveries of an operator in a status. */
  readonly byStatus: (operator: string, status: DeliveryStatus) => string;
  /** zset delivery -> created: deliveries of an operator to a destination. */
  readonly byDestination: (operator: string, destination: string) => string;
  /** zset delivery -> created: deliveries of an operator whose events came from a source. */
  readonly bySource: (operator: string, source: string) => string;
  /** zset delivery -> created: deliveries of an operator whose latest attempt failed with a class. */
  readonly byClass: (operator: string, failureClass: string) => string;
  /** zset delivery -> dead since: dead letters of an operator in a group, which is `<destination>:<class>`. */
  readonly byDeadGroup: (operator: string, group: string) => string;
  /** zset group -> dead letters in it: the groups of an operator that hold any. */
  readonly deadGroups: (operator: string) => string;
  /** zset delivery -> created: every delivery of an operator. */
  readonly byOperator: (operator: string) => string;
  /** set of deliveries: resolved ones whose posting is counted all the same, so that they are not among what was settled otherwise. */
  readonly settled: string;
  /** zset delivery -> created: deliveries to an ERP target, or to any endpoint (`endpoint`), that have not ended. */
  readonly open: (label: string) => string;
  /** hash: how far older records are in the indexes, and since which version of them all are. */
  readonly indexBackfill: string;
  /** zset event key -> recorded: every event record, by time. What a reconciliation walks. */
  readonly recorded: string;
  /** hash reference -> delivery: of an ERP target's deliveries whose reference is not the event id. */
  readonly references: (destination: string) => string;
  /** hash: the latest scheduled reconciliation of an ERP target: its figures and the first of its findings; since when it is wanted, and how far the ERP was asked. */
  readonly reconciliation: (target: string) => string;
  /** hash delivery -> document, 1 h after its last use: what an ERP listed to one reconciliation. */
  readonly documents: (run: string) => string;
  /** string identity, until it lapses: who does what only one process may do at a time. */
  readonly lease: (name: string) => string;
  /** zset delivery -> change number: dead letters whose shadow job is not in line yet. */
  readonly shadows: string;
  /** zset event key -> when to look: every event record, until its retention is over. */
  readonly retention: string;
  /** hash, 30 days after its end: a bulk replay run. */
  readonly replayRun: (id: string) => string;
  /** list, as long as the run: deliveries that the run has not asked for yet. */
  readonly replayRunIds: (id: string) => string;
  /** list, as long as the run: the first of its refusals and failures. */
  readonly replayRunNotes: (id: string) => string;
  /** zset run -> created: bulk runs of an operator. */
  readonly replayRuns: (operator: string) => string;
  /** zset run -> when to look: bulk runs that are under way. */
  readonly replayActive: string;
  /** zset event key -> since: accepted events that no route or endpoint wanted. */
  readonly unrouted: string;
  /** string, dedupe ttl, BullMQ's own: the job that owns an event's claim. Read only. */
  readonly dedupe: (eventKey: string) => string;
  /** hash, BullMQ's own: an accepted event on its way to fan-out. Read only. */
  readonly eventJob: (jobId: string) => string;
  /** hash, BullMQ's own: the job of an alarm. Read only. */
  readonly alarmJob: (queue: Extract<QueueName, 'deliveries' | 'erp'>, alarmId: string) => string;
  /** string `event key|claimed at`, dedupe ttl: first event that came with these signed bytes (sources with unsigned ids). */
  readonly replayGuard: (hash: string) => string;
  /** zset entry -> kept, 24 h: requests of a source that anybody may have sent, the newest 100. */
  readonly quarantine: (source: string) => string;
  /** zset entry -> kept, 24 h: refused requests of a source whose sender knows a secret, the newest 100. */
  readonly quarantineVerified: (source: string) => string;
  /** zset entry -> kept, 24 h: all that is in `quarantine:<source>`, the newest 500. */
  readonly quarantineUnverified: string;
  /** hash, 24 h: one refused request. */
  readonly quarantineEntry: (id: string) => string;
  /** hash: when a source and its secrets were last used, and a ring of its hourly counts. */
  readonly sourceUse: (source: string) => string;
  /** hash: an endpoint's record; of a removed one only whose it was and when it went. */
  readonly endpoint: (endpointId: string) => string;
  /** string: changes with every change of an operator's endpoints, so that fan-out may keep them in memory. */
  readonly endpointsVersion: (operator: string) => string;
  /** list, BullMQ's own: accepted events that wait for fan-out. Read only. */
  readonly waitingEvents: string;
  /** string, 1 min: the attempt that the end of another one started, for a resent command. Written by end-attempt.lua. */
  readonly handOff: (token: string) => string;
  /** set: endpoint ids of an operator. */
  readonly endpoints: (operator: string) => string;
  /** zset endpoint id -> since: removed endpoints whose deliveries are still being dead-lettered. */
  readonly removals: string;
  /** stream, ~100,000 entries: who did what, why. */
  readonly audit: string;
  /** stream, 24 h: what each ERP target was owed and got, every 10 s. */
  readonly history: string;
  /** hash, 15 min: acknowledgements of a minute (minutes since the epoch), by source and time they took. */
  readonly acks: (minute: number) => string;
  /** hash, 90 days after its end: a token, under the SHA-256 of its value. */
  readonly token: (hash: string) => string;
  /** hash token id -> hash of its value. */
  readonly tokens: string;
  /** string, 24 h: the answer to a creating call with an Idempotency-Key, sealed with the caller's own token. */
  readonly idempotency: (hash: string) => string;
  /** string, 12 h: the token of a session of the console, sealed with the session's own id; under the hash of that. */
  readonly session: (hash: string) => string;
}

const SHARD = 0; // one shard carries a deployment to thousands of events a second

export function createKeyspace(deployment: string): Keyspace {
  const tag = `{${deployment}:${SHARD}}`;
  const prefix = `${tag}:`;
  return Object.freeze<Keyspace>({
    prefix,
    queues: tag,
    event: (eventKey) => `${prefix}event:${eventKey}`,
    delivery: (deliveryId) => `${prefix}delivery:${deliveryId}`,
    sample: (deliveryId) => `${prefix}sample:${deliveryId}`,
    alarms: (queue) => `${prefix}alarms:${queue}`,
    gate: (destination) => `${prefix}gate:${destination}`,
    recent: (destination) => `${prefix}recent:${destination}`,
    waiting: (destination) => `${prefix}gate:${destination}:waiting`,
    gates: `${prefix}gates`,
    ledger: `${prefix}ledger`,
    byStatus: (operator, status) => `${prefix}index:${operator}:${status}`,
    byDestination: (operator, destination) => `${prefix}index:${operator}:to:${destination}`,
    bySource: (operator, source) => `${prefix}index:${operator}:from:${source}`,
    byClass: (operator, failureClass) => `${prefix}index:${operator}:why:${failureClass}`,
    byDeadGroup: (operator, group) => `${prefix}index:${operator}:dead:${group}`,
    deadGroups: (operator) => `${prefix}dead-groups:${operator}`,
    byOperator: (operator) => `${prefix}index:${operator}:all`,
    open: (label) => `${prefix}open:${label}`,
    indexBackfill: `${prefix}index-backfill`,
    settled: `${prefix}settled`,
    recorded: `${prefix}recorded`,
    references: (destination) => `${prefix}references:${destination}`,
    reconciliation: (target) => `${prefix}reconciliation:${target}`,
    documents: (run) => `${prefix}documents:${run}`,
    lease: (name) => `${prefix}lease:${name}`,
    shadows: `${prefix}shadows`,
    retention: `${prefix}retention`,
    replayRun: (id) => `${prefix}replay-run:${id}`,
    replayRunIds: (id) => `${prefix}replay-run:${id}:ids`,
    replayRunNotes: (id) => `${prefix}replay-run:${id}:notes`,
    replayRuns: (operator) => `${prefix}replay-runs:${operator}`,
    replayActive: `${prefix}replay-active`,
    unrouted: `${prefix}unrouted`,
    dedupe: (eventKey) => `${tag}:${QUEUES.events}:de:${eventKey}`,
    eventJob: (jobId) => `${tag}:${QUEUES.events}:${jobId}`,
    alarmJob: (queue, alarmId) => `${tag}:${QUEUES[queue]}:${alarmId}`,
    replayGuard: (hash) => `${prefix}replay-guard:${hash}`,
    quarantine: (source) => `${prefix}quarantine:${source}`,
    quarantineVerified: (source) => `${prefix}quarantine-verified:${source}`,
    quarantineUnverified: `${prefix}quarantine-unverified`,
    quarantineEntry: (id) => `${prefix}quarantine-entry:${id}`,
    sourceUse: (source) => `${prefix}source-use:${source}`,
    endpoint: (endpointId) => `${prefix}endpoint:${endpointId}`,
    endpointsVersion: (operator) => `${prefix}endpoints:${operator}:version`,
    waitingEvents: `${tag}:${QUEUES.events}:wait`,
    handOff: (token) => `${prefix}handoff:${token}`,
    endpoints: (operator) => `${prefix}endpoints:${operator}`,
    removals: `${prefix}removals`,
    audit: `${prefix}audit`,
    history: `${prefix}history`,
    acks: (minute) => `${prefix}acks:${minute}`,
    token: (hash) => `${prefix}token:${hash}`,
    tokens: `${prefix}tokens`,
    idempotency: (hash) => `${prefix}idempotency:${hash}`,
    session: (hash) => `${prefix}session:${hash}`,
  });
}
