import { destinationKind, deliveryOfAlarm, isBulkAlarm, parseDeliveryId } from '@breakwater/contracts/ids';
import { type AlarmJob, QUEUES } from '@breakwater/contracts/jobs';
import type { Logger } from '@breakwater/runtime/logger';
import type { Keyspace } from '@breakwater/store/keys';
import type { Alarm } from '@breakwater/store/transitions';
import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { EVENT_STREAM_LENGTH, quiet } from './connection.ts';

export interface AlarmClocks {
  /**
   * Sets alarm clocks. Adding one that exists changes nothing; losing one changes nothing either, the sweeper finds the
   * alarm in the store.
   */
  readonly set: (alarms: readonly Alarm[]) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** BullMQ serves jobs without a priority first, so first attempts never queue up behind retries. */
const RETRY_PRIORITY = 10;
/** Nothing waits for a bulk run; the sweeper knows its alarms by their names. */
const BULK_PRIORITY = 20;

export function createAlarmClocks(redis: Redis, keys: Keyspace, logger: Logger): AlarmClocks {
  const open = (name: string): Queue => {
    const queue = new Queue(name, {
      connection: redis,
      prefix: keys.queues,
      streams: { events: { maxLen: EVENT_STREAM_LENGTH } },
    });
    quiet(queue, logger);
    return queue;
  };
  const queues = { endpoint: open(QUEUES.deliveries), erp: open(QUEUES.erp) };
  return {
    async set(alarms) {
      for (const kind of ['endpoint', 'erp'] as const) {
        const jobs = alarms.filter(({ alarmId }) => kindOf(alarmId) === kind).map((alarm) => toJob(alarm));
        if (jobs.length === 1 && jobs[0]) await queues[kind].add(jobs[0].name, jobs[0].data, jobs[0].opts);
        else if (jobs.length > 1) await queues[kind].addBulk(jobs);
      }
    },
    async close() {
      await Promise.all([queues.endpoint.close(), queues.erp.close()]);
    },
  };
}

const kindOf = (alarmId: string): 'endpoint' | 'erp' =>
  destinationKind(parseDeliveryId(deliveryOfAlarm(alarmId))?.destination ?? '');

function toJob({ alarmId, waitMs, behind = waitMs > 0, bulk = isBulkAlarm(alarmId) }: Alarm) {
  const data: AlarmJob = { v: 1, delivery: deliveryOfAlarm(alarmId) };
  return {
    name: 'attempt',
    data,
    opts: {
      jobId: alarmId,
      delay: waitMs,
      // One try, and gone when it ends, whatever came of it: a job that stayed would swallow the next alarm of that name.
      attempts: 1,
      removeOnComplete: true,
      removeOnFail: true,
      ...(bulk ? { priority: BULK_PRIORITY } : behind && { priority: RETRY_PRIORITY }),
    },
  };
}
