import type { DeadLetterJob } from '@breakwater/contracts/jobs';
import { newId, parseDeliveryId } from '@breakwater/contracts/ids';
import type { AlarmClocks } from '@breakwater/queue/alarms';
import type { QueueMaintenance } from '@breakwater/queue/maintenance';
import { messageOf } from '@breakwater/runtime/errors';
import type { Logger } from '@breakwater/runtime/logger';
import { startLoop } from '@breakwater/runtime/poll';
import type { Redis } from '@breakwater/store/connection';
import type { Keyspace } from '@breakwater/store/keys';
import type { Policy } from '@breakwater/store/policy';
import { backfillIndexes } from '@breakwater/store/index-backfill';
import { sweepRetention } from '@breakwater/store/retention';
import { readShadows, shadowDone } from '@breakwater/store/shadows';
import type { Transitions } from '@breakwater/store/transitions';
import { finishRemovals } from './remove-endpoint.ts';

export interface SweepDeps {
  readonly redis: Redis;
  readonly keys: Keyspace;
  readonly transitions: Transitions;
  readonly clocks: AlarmClocks;
  readonly maintenance: QueueMaintenance;
  readonly policy: Pick<Policy, 'retentionMs'>;
  readonly logger: Logger;
}

/** An idle sweep is three range reads; a second bounds how late a crash's repair can be. */
const EVERY_MS = 1_000;
/** Per script and look, so that a mass of due alarms does not block Redis. */
const LIMIT = 500;
/** Failed events are retried rarely: what failed twenty times a second ago will fail again. */
const FAILED_EVENTS_EVERY_MS = 30_000;

/**
 * Repairs whatever the record and the jobs disagree on: alarms without a job, attempts whose process died, removals left
 * half-way, shadows of dead letters, failed `events` jobs. Runs in every replica; two at once do no harm.
 * Returns a function that stops it.
 */
export function startSweeper(deps: SweepDeps): () => Promise<void> {
  let eventsAt = 0;
  let indexed = false;
  const identity = newId();
  return startLoop(
    EVERY_MS,
    async () => {
      await sweep(deps);
      if (!indexed) indexed = await backfill(deps, identity);
      if (performance.now() - eventsAt < FAILED_EVENTS_EVERY_MS) return;
      eventsAt = performance.now();
      const retried = await deps.maintenance.retryFailedEvents(LIMIT);
      if (retried > 0) deps.logger.error({ retried }, 'events whose fan-out had failed are run again');
      const parked = await deps.maintenance.parkedEvents();
      if (parked.length > 0)
        deps.logger.error(
          { parked: parked.length, first: parked[0] },
          'events are parked that this version cannot read: run the version that wrote them, or a newer one',
        );
    },
    (error) => deps.logger.warn({ reason: messageOf(error) }, 'sweep failed'),
  );
}

/** Of each second, so that a deployment with millions of records works on meanwhile. */
const BACKFILL_MS = 200;

/** Resolves to whether every record is in every index. */
async function backfill({ redis, keys, logger }: SweepDeps, identity: string): Promise<boolean> {
  const { complete, events } = await backfillIndexes(redis, keys, identity, BACKFILL_MS);
  if (events > 0)
    logger.info({ events, complete }, 'older records are brought into the indexes that lists are read from');
  return complete;
}

/** One look at everything but the gates (see gate-watch.ts). */
export async function sweep(deps: SweepDeps): Promise<void> {
  const { transitions, clocks, logger } = deps;
  for (const queue of ['deliveries', 'erp'] as const) {
    const alarms = await transitions.sweepAlarms(queue, LIMIT);
    if (alarms.length > 0)
      logger.info({ queue, alarms: alarms.length }, 'alarms past their time are set again');
    await clocks.set(alarms);
  }
  await takeExpired(deps);
  const deadLettered = await finishRemovals(deps);
  if (deadLettered > 0)
    logger.info({ deadLettered }, 'the removal of an endpoint that was left half-way was finished');
  await sweepShadows(deps);
}

/** Batches of one sweep: with a sweep a second, 10,000 deliveries a second may leave, more than one Redis takes in. */
const RETENTION_BATCHES = 50;

async function takeExpired({ redis, keys, policy, logger }: SweepDeps): Promise<void> {
  const taken = { events: 0, deliveries: 0, unrouted: 0 };
  for (let batch = 0; batch < RETENTION_BATCHES; batch += 1) {
    const expired = await sweepRetention(redis, keys, policy.retentionMs);
    taken.events += expired.events;
    taken.deliveries += expired.deliveries;
    taken.unrouted += expired.unrouted;
    if (!expired.more) break;
  }
  if (taken.events > 0) logger.info(taken, 'records whose retention is over have left');
  if (taken.unrouted > 0)
    logger.warn({ events: taken.unrouted }, 'events left that no route or endpoint had ever wanted');
}

async function sweepShadows({ redis, keys, maintenance }: SweepDeps): Promise<void> {
  for (const { delivery, change } of await readShadows(redis, keys, LIMIT)) {
    const [status, reason] = await redis.hmget(keys.delivery(delivery), 'status', 'reason');
    const parts = parseDeliveryId(delivery);
    const wanted: DeadLetterJob | undefined =
      status === 'dead_letter' && parts ? { v: 1, delivery, ...parts, reason: reason ?? '' } : undefined;
    await maintenance.shadow(delivery, wanted);
    await shadowDone(redis, keys, delivery, change);
  }
}
