import { getHeapStatistics } from 'node:v8';
import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { eventKey } from '@breakwater/contracts/ids';
import type { EventJob } from '@breakwater/contracts/jobs';
import { memoryOfJson } from '@breakwater/erp/json';
import type { ReadyErpTarget } from '@breakwater/erp/targets';
import type { AlarmClocks } from '@breakwater/queue/alarms';
import { AppError } from '@breakwater/runtime/errors';
import { limitLines } from '@breakwater/runtime/log-limit';
import type { Logger } from '@breakwater/runtime/logger';
import type { Redis } from '@breakwater/store/connection';
import { type EndpointRecord, listEndpoints } from '@breakwater/store/endpoints';
import { eventFields } from '@breakwater/store/events';
import type { Keyspace } from '@breakwater/store/keys';
import type { PlanEntry, Transitions } from '@breakwater/store/transitions';
import { contentOfJob } from './event-content.ts';
import { createMemoryBudget, type MemoryBudget } from './memory-budget.ts';
import { planEvent, planReadsBody } from './plan.ts';

/** One script makes at most so many deliveries; more would block Redis long enough for acknowledgements to feel it. */
const CHUNK = 100;

export interface FanOutDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly transitions: Transitions;
  readonly clocks: AlarmClocks;
  readonly config: BreakwaterConfig;
  readonly targets: ReadonlyMap<string, ReadyErpTarget>;
  readonly logger: Logger;
  /** What the heap may grow to; this process' own limit by default. */
  readonly heapBytes?: number;
}

/** Of the heap, for bodies that are parsed at once, and for a single one, which goes alone. */
const SHARE_OF_HEAP = 0.25;
const LARGEST_SHARE = 0.6;
/** Below this a body takes at most some 2 MB, which is never too much. */
const ALWAYS_READ_BYTES = 65_536;
/** Planning takes seconds at most. */
const MEMORY_WAIT_MS = 120_000;

/**
 * Makes the deliveries of an accepted event and sets their alarm clocks. May be run again after a crash at any point:
 * record ids derive from event and destination, the stored plan wins, and only deliveries that never began are queued.
 * `replan` lets an event that nobody wanted be fanned out after the configuration was corrected.
 */
export function createFanOut(deps: FanOutDeps): (job: EventJob, replan?: boolean) => Promise<number> {
  const endpointsOf = cacheEndpoints(deps.redis, deps.keys);
  const heapBytes = deps.heapBytes ?? getHeapStatistics().heap_size_limit;
  const memory = createMemoryBudget(heapBytes * SHARE_OF_HEAP);
  const lines = limitLines(deps.logger); // a source without a route makes one for each of its events
  return async (job, replan = false) => {
    // Nobody's handler expects a body that cannot be read; `events fan-out` sends it on where a person decides so.
    const plan =
      job.parked && !replan
        ? []
        : await planWithin(memory, heapBytes, deps, job, await endpointsOf(job.operator));
    const input = {
      eventKey: eventKey(job.operator, job.source, job.eventId),
      source: job.source,
      operator: job.operator,
      plan,
      fields: eventFields(job),
      count: CHUNK,
      replan,
    };
    let total = 1;
    for (let from = 0; from < total; from += CHUNK) {
      const recorded = await deps.transitions.recordEvent({ ...input, from });
      total = recorded.total;
      await deps.clocks.set(recorded.alarms);
    }
    const facts = {
      operator: job.operator,
      source: job.source,
      eventId: job.eventId,
      type: job.type,
      deliveries: total,
    };
    if (total === 0)
      lines.warn(`${job.source}: unrouted`, facts, 'event is unrouted: no route or endpoint wants it');
    else deps.logger.debug(facts, 'event fanned out');
    return total;
  };
}

/** Plans an event as memory allows: parsed, a body takes up to thirty times its bytes, and twenty events are in hand. */
async function planWithin(
  memory: MemoryBudget,
  heapBytes: number,
  { config, targets, logger }: FanOutDeps,
  job: EventJob,
  endpoints: readonly EndpointRecord[],
): Promise<PlanEntry[]> {
  const content = contentOfJob(job);
  if (content.body.length <= ALWAYS_READ_BYTES || !planReadsBody(content, config, targets))
    return planEvent(content, config, targets, endpoints);
  const needed = memoryOfJson(content.body);
  if (needed > heapBytes * LARGEST_SHARE) {
    const { operator, source, eventId } = job;
    logger.error(
      { operator, source, eventId, bytes: content.body.length },
      'the event is too large to be parsed by this process, so it is fanned out without serial key and reference: give it more memory',
    );
    return planEvent(content, config, targets, endpoints, true);
  }
  const release = await memory.take(needed, MEMORY_WAIT_MS, NEVER);
  if (!release) throw new AppError('unavailable', 'No memory became free to plan a large event.'); // it is run again
  try {
    return await planEvent(content, config, targets, endpoints);
  } finally {
    release();
  }
}

const NEVER = new AbortController().signal;

/** Endpoints of an operator, read again only when one has changed: the version is the first thing every change moves. */
function cacheEndpoints(
  redis: Redis,
  keys: Keyspace,
): (operator: string) => Promise<readonly EndpointRecord[]> {
  const cache = new Map<string, { version: string | null; endpoints: readonly EndpointRecord[] }>();
  return async (operator) => {
    const version = await redis.get(keys.endpointsVersion(operator));
    const known = cache.get(operator);
    if (known && known.version === version) return known.endpoints;
    const endpoints = await listEndpoints(redis, keys, operator);
    cache.set(operator, { version, endpoints });
    return endpoints;
  };
}
