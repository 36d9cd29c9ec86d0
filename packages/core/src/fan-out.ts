import type { BreakwaterConfig } from '@breakwater/contracts/config';
import { eventKey } from '@breakwater/contracts/ids';
import type { EventJob } from '@breakwater/contracts/jobs';
import type { ReadyErpTarget } from '@breakwater/erp/targets';
import type { AlarmClocks } from '@breakwater/queue/alarms';
import { limitLines } from '@breakwater/runtime/log-limit';
import type { Logger } from '@breakwater/runtime/logger';
import type { Redis } from '@breakwater/store/connection';
import { type EndpointRecord, listEndpoints } from '@breakwater/store/endpoints';
import { eventFields } from '@breakwater/store/events';
import type { Keyspace } from '@breakwater/store/keys';
import type { Transitions } from '@breakwater/store/transitions';
import { contentOfJob } from './event-content.ts';
import { planEvent } from './plan.ts';

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
}

/**
 * Makes the deliveries of an accepted event and sets their alarm clocks. May be run again after a crash at any point:
 * record ids derive from event and destination, the stored plan wins, and only deliveries that never began are queued.
 * `replan` lets an event that nobody wanted be fanned out after the configuration was corrected.
 */
export function createFanOut(deps: FanOutDeps): (job: EventJob, replan?: boolean) => Promise<number> {
  const endpointsOf = cacheEndpoints(deps.redis, deps.keys);
  const lines = limitLines(deps.logger); // a source without a route makes one for each of its events
  return async (job, replan = false) => {
    const content = contentOfJob(job);
    // Nobody's handler expects a body that cannot be read; `events fan-out` sends it on where a person decides so.
    const plan =
      job.parked && !replan
        ? []
        : await planEvent(content, deps.config, deps.targets, await endpointsOf(job.operator));
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
