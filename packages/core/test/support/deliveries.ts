import { BreakwaterConfig } from '@breakwater/contracts/config';
import { deliveryId, newEndpointId, newId } from '@breakwater/contracts/ids';
import { decodeDeadLetterJob, type DeadLetterJob } from '@breakwater/contracts/jobs';
import { writeGate } from '@breakwater/store/gates';
import type { Go } from '@breakwater/store/go';
import type { EndInput } from '@breakwater/store/transitions';
import { sharedRedisUrl } from '../../../../test/support/redis.ts';
import { openDeliveries } from '../../src/delivery-deps.ts';
import { sweep } from '../../src/sweep.ts';
import { afterwards, silent } from './acceptor.ts';

/** What dispatcher and erp-consumer work with, in a key space of its own, and the moves that tests need. */
export function openWork() {
  const deps = openDeliveries(
    {
      redisUrl: sharedRedisUrl(),
      keyPrefix: `t${newId()}`,
      breakwater: BreakwaterConfig.parse({ deliveries: { retrySchedule: ['0s', '1h'] } }),
    },
    { defer: (_label, close) => afterwards(close), logger: silent },
  );
  const { redis, keys, transitions } = deps;
  const begin = async (id: string): Promise<Go> => {
    const answer = await transitions.beginAttempt(
      id,
      `${id}-${await redis.hget(keys.delivery(id), 'seq')}`,
      newId(),
    );
    if (answer.kind !== 'go') throw new Error(`expected go, got ${JSON.stringify(answer)}`);
    return answer.go;
  };
  return {
    ...deps,
    sweep: () => sweep(deps),
    begin,
    async delivery(destination = newEndpointId(), body = '{}'): Promise<string> {
      const eventKey = newId();
      await transitions.recordEvent({
        eventKey,
        source: 'shop',
        operator: 'default',
        plan: [{ d: destination }],
        from: 0,
        count: 100,
        replan: false,
        fields: {
          eventId: eventKey,
          type: 't',
          entity: '',
          contentType: '',
          receivedAt: 1,
          encoding: 'utf8',
          body,
        },
      });
      return deliveryId(eventKey, destination);
    },
    async endpoint(cap: number): Promise<string> {
      const id = newEndpointId();
      await writeGate(redis, keys, id, cap, {});
      return id;
    },
    end: (go: Go, outcome: EndInput['outcome']) =>
      transitions.endAttempt({
        delivery: go.delivery,
        alarmId: go.alarmId,
        attempt: go.attempt,
        outcome,
        class: outcome,
        code: '',
        handOffToken: '',
      }),
    replay: (id: string, mode: 'single' | 'restart') =>
      transitions.requestReplay({
        delivery: id,
        operator: 'default',
        replayId: newId(),
        mode,
        acknowledged: false,
        reason: 'test',
        actor: 'tester',
      }),
    status: (id: string) => redis.hget(keys.delivery(id), 'status'),
    /** The job in `dead-letters`, if there is one. */
    async shadow(id: string): Promise<DeadLetterJob | undefined> {
      const data = await redis.hget(`${keys.queues}:dead-letters:${id}`, 'data');
      return data === null ? undefined : decodeDeadLetterJob(JSON.parse(data));
    },
    /** Ids of the jobs that a worker of `deliveries` would take next. */
    jobs: () => redis.lrange(`${keys.queues}:deliveries:wait`, 0, -1),
    /** Every alarm is past its time. */
    async alarmsAreDue(): Promise<void> {
      for (const alarmId of await redis.zrange(keys.alarms('deliveries'), 0, '-1'))
        await redis.zadd(keys.alarms('deliveries'), 1, alarmId);
    },
  };
}
