import { connect } from 'node:net';
import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { formatDuration } from '@breakwater/contracts/duration';
import { erpDestination } from '@breakwater/contracts/ids';
import type { QueueMaintenance } from '@breakwater/queue/maintenance';
import { messageOf } from '@breakwater/runtime/errors';
import type { Redis } from '@breakwater/store/connection';
import { findWeaknesses } from '@breakwater/store/durability';
import { pastDueMs, readBreaker } from '@breakwater/store/gates';
import { readIndexState } from '@breakwater/store/index-backfill';
import type { Keyspace } from '@breakwater/store/keys';
import { readLedger } from '@breakwater/store/ledger';
import { readMemory } from '@breakwater/store/memory';
import { readServerInfo, type ServerInfo } from '@breakwater/store/server-info';

/** What one look has found. `problem`: something does not work, or may lose events; `warning`: a person should know. */
export interface Finding {
  readonly check: string;
  readonly level: 'ok' | 'warning' | 'problem';
  readonly says: string;
  /** What to do; '' where nothing is to be done. */
  readonly remedy: string;
}

export const ok = (check: string, says: string): Finding => ({ check, level: 'ok', says, remedy: '' });
export const warning = (check: string, says: string, remedy: string): Finding => ({
  check,
  level: 'warning',
  says,
  remedy,
});
export const problem = (check: string, says: string, remedy: string): Finding => ({
  check,
  level: 'problem',
  says,
  remedy,
});

/** Redis 7.0: idempotency keys need SET with NX and GET, BullMQ its streams. */
const REDIS_MIN = 7;
/** Times in records are Redis', those of acceptance and of token ends are the processes': seconds do no harm, minutes do. */
const SKEW_WARNING_MS = 2_000;
const SKEW_PROBLEM_MS = 60_000;
/** Every acknowledged event waits for it. */
const SLOW_MS = 20;

/** Looks at the server itself: version, durability, eviction, memory, disk, clock. */
export async function examineRedis(
  redis: Redis,
  config: BreakwaterConfig | undefined,
  relaxed: boolean,
): Promise<Finding[]> {
  const info = await readServerInfo(redis);
  return [
    versionOf(info),
    await durabilityOf(redis, relaxed),
    await memoryOf(redis, config?.ingest.maxMemoryRatio ?? 0.8),
    info.persistenceFaults.length === 0
      ? ok('disk', 'Redis wrote to its disk without a fault')
      : problem('disk', info.persistenceFaults.join(', '), "See Redis' log and its disk: it may be full."),
    info.replica
      ? problem(
          'role',
          'this Redis is a replica',
          'Point REDIS_URL at the primary: a replica takes no writes.',
        )
      : ok('role', 'this Redis takes writes'),
    clockOf(info),
    info.roundTripMs > SLOW_MS
      ? warning(
          'latency',
          `an answer takes ${info.roundTripMs.toFixed(0)} ms from here`,
          'Every acknowledgement waits for it: run the services near Redis, and look at its SLOWLOG.',
        )
      : ok('latency', `an answer takes ${info.roundTripMs.toFixed(1)} ms from here`),
  ];
}

function versionOf({ version }: ServerInfo): Finding {
  return Number.parseInt(version, 10) >= REDIS_MIN
    ? ok('version', `Redis ${version}`)
    : problem('version', `Redis ${version}`, `Use Redis ${REDIS_MIN}.0 or newer.`);
}

async function durabilityOf(redis: Redis, relaxed: boolean): Promise<Finding> {
  let weak: string[];
  try {
    weak = await findWeaknesses(redis);
  } catch (error) {
    weak = [`Redis' settings could not be read: ${messageOf(error)}`];
  }
  if (weak.length === 0)
    return ok('durability', 'every acknowledged event is on disk, and nothing is evicted');
  const remedy = 'Use infra/redis/redis.conf. Until then ingest refuses events, unless DURABILITY=relaxed.';
  return relaxed
    ? warning('durability', `${weak.join('; ')}. DURABILITY=relaxed accepts that`, remedy)
    : problem('durability', weak.join('; '), remedy);
}

const mib = (bytes: number): string => `${Math.round(bytes / 1_048_576)} MiB`;

async function memoryOf(redis: Redis, ratio: number): Promise<Finding> {
  const { used, max } = await readMemory(redis);
  if (max === 0)
    return warning(
      'memory',
      `${mib(used)} used, without a limit`,
      'Set maxmemory: without it the system ends Redis when memory is short, instead of ingest answering 503.',
    );
  const says = `${mib(used)} of ${mib(max)} used`;
  const remedy = 'Give Redis more memory, shorten retention or ingest.dedupe, or deliver what waits.';
  if (used / max >= ratio)
    return problem('memory', `${says}: ingest answers 503 above ${ratio * 100} %`, remedy);
  return used / max >= ratio * 0.8 ? warning('memory', says, remedy) : ok('memory', says);
}

function clockOf({ clockAheadMs }: ServerInfo): Finding {
  const off = Math.abs(clockAheadMs);
  const says = `Redis' clock is ${formatDuration(off)} ${clockAheadMs < 0 ? 'behind' : 'ahead of'} the one here`;
  const remedy = 'Let both machines follow a time server (chrony, systemd-timesyncd).';
  if (off >= SKEW_PROBLEM_MS) return problem('clock', says, remedy);
  return off >= SKEW_WARNING_MS ? warning('clock', says, remedy) : ok('clock', says);
}

export interface WorkDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly maintenance: QueueMaintenance;
  readonly config: BreakwaterConfig;
}

/** Alarms are swept every few seconds; what is late by more has nobody who works on it, or more than they can do. */
const LATE_WARNING_MS = 30_000;
const LATE_PROBLEM_MS = 300_000;

/** Looks at what should move and does not: late work, failed events, dead letters, breakers. */
export async function examineWork(deps: WorkDeps): Promise<Finding[]> {
  const { redis, keys, maintenance, config } = deps;
  const depths = await maintenance.depths();
  const failed = depths.find(({ queue, state }) => queue === 'events' && state === 'failed')?.jobs ?? 0;
  const parked = (await maintenance.parkedEvents()).length;
  const unrouted = await redis.zcard(keys.unrouted);
  const ledger = await readLedger(redis, keys);
  const dead = [...ledger.deliveries.values()].reduce((sum, each) => sum + (each.get('dead_letter') ?? 0), 0);
  return [
    late('events', await maintenance.oldestWaitingEventMs(), 'dispatcher'),
    late('deliveries', await pastDueMs(redis, keys, 'deliveries'), 'dispatcher'),
    late('erp', await pastDueMs(redis, keys, 'erp'), 'erp-consumer'),
    failed === 0
      ? ok('failed events', 'no event failed in its fan-out')
      : problem(
          'failed events',
          `${failed} failed in their fan-out`,
          "See the dispatcher's log; they are run again by themselves.",
        ),
    parked === 0
      ? ok('parked events', 'no event is parked')
      : problem(
          'parked events',
          `${parked} cannot be read by this version`,
          'See events parked; run the version that wrote them.',
        ),
    unrouted === 0
      ? ok('unrouted events', 'every accepted event was wanted')
      : warning(
          'unrouted events',
          `${unrouted} were wanted by no route or endpoint`,
          'Correct the configuration, then run events fan-out.',
        ),
    dead === 0
      ? ok('dead letters', 'none')
      : warning(
          'dead letters',
          `${dead} of all operators`,
          'See dead-letters list; mend the receivers, then dead-letters replay.',
        ),
    await indexesOf(deps),
    ...(await Promise.all(Object.keys(config.erpTargets).map((target) => breakerOf(deps, target)))),
  ];
}

async function indexesOf({ redis, keys }: WorkDeps): Promise<Finding> {
  const state = await readIndexState(redis, keys);
  if (state !== 'under_way' || (await redis.zcard(keys.recorded)) === 0)
    return ok('indexes', 'lists are read from indexes that have every record');
  return warning(
    'indexes',
    'records of a former version are not in the indexes yet: lists may lack some',
    'A dispatcher brings them in by itself; its log says when that is complete.',
  );
}

function late(queue: string, ms: number, service: string): Finding {
  const check = `${queue} past due`;
  const says = ms === 0 ? 'nothing waits' : `the oldest waits for ${formatDuration(Math.round(ms))}`;
  const remedy = `Is a ${service} running? If one is, it has more to do than it can: add replicas, and see its log.`;
  if (ms >= LATE_PROBLEM_MS) return problem(check, says, remedy);
  return ms >= LATE_WARNING_MS ? warning(check, says, remedy) : ok(check, says);
}

async function breakerOf({ redis, keys }: WorkDeps, target: string): Promise<Finding> {
  const check = `breaker ${target}`;
  const { state, forced } = await readBreaker(redis, keys, erpDestination(target));
  if (forced) return warning(check, 'open, by hand', `Nothing is posted until: breaker close ${target}.`);
  return state === 'closed'
    ? ok(check, 'closed')
    : warning(
        check,
        state.replace('_', '-'),
        'The ERP failed again and again: mend it; the breaker closes by itself.',
      );
}

const REACH_WITHIN_MS = 3_000;

/** Can a connection be opened to an ERP from here? Nothing is sent. */
export async function examineTarget(name: string, baseUrl: string): Promise<Finding> {
  const url = new URL(baseUrl);
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const check = `ERP ${name}`;
  const failure = await reach(url.hostname.replaceAll(/^\[|\]$/g, ''), port);
  return failure === undefined
    ? ok(check, `${url.hostname}:${port} takes connections`)
    : problem(
        check,
        `${url.hostname}:${port}: ${failure}`,
        'Start the ERP, correct baseUrl, or open the way there. Events are accepted meanwhile, and posted later.',
      );
}

async function reach(host: string, port: number): Promise<string | undefined> {
  const done = Promise.withResolvers<string | undefined>();
  const socket = connect({ host, port });
  socket.setTimeout(REACH_WITHIN_MS, () => done.resolve(`no answer within ${REACH_WITHIN_MS / 1_000} s`));
  socket.once('connect', () => done.resolve(undefined));
  socket.once('error', (error) => done.resolve(messageOf(error)));
  const failure = await done.promise;
  socket.destroy();
  return failure;
}

/** Services by their ops port, as they are started by default. */
export const OPS_PORTS = { ingest: 9_100, dispatcher: 9_101, 'erp-consumer': 9_102, console: 9_103 } as const;

/** Asks a service whether it is ready. None here is no fault by itself: it may run on another machine. */
export async function examineService(name: string, host: string, port: number): Promise<Finding> {
  const check = `service ${name}`;
  const at = `${host}:${port}`;
  try {
    const response = await fetch(`http://${at}/readyz`, { signal: AbortSignal.timeout(REACH_WITHIN_MS) });
    const said = await response.text();
    if (response.ok && said.includes('"ok":true')) return ok(check, `ready at ${at}`);
    return said.includes('"reasons"')
      ? problem(check, `not ready at ${at}: ${said.slice(0, 300)}`, 'Its log says why.')
      : problem(check, `something else answers at ${at}`, `Free the port, or set OPS_PORT of ${name}.`);
  } catch {
    return warning(check, `nothing answers at ${at}`, `Start ${name}, if it should run on this machine.`);
  }
}
