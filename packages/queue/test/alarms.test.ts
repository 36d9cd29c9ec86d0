import { expect, test } from '@jest/globals';
import { deliveryId, erpDestination, newEndpointId, newId } from '@breakwater/contracts/ids';
import type { AlarmJob } from '@breakwater/contracts/jobs';
import { pause } from '@breakwater/runtime/poll';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { createAlarmClocks } from '../src/alarms.ts';
import { createQueueMaintenance } from '../src/maintenance.ts';
import { type AlarmAnswer, startAlarmWorker } from '../src/workers.ts';
import { afterwards, connect, freshKeys, silent } from './support/queue.ts';

function open() {
  const keys = freshKeys();
  const redis = connect('scripts');
  const clocks = createAlarmClocks(redis, keys, silent);
  afterwards(() => clocks.close());
  const maintenance = createQueueMaintenance(redis, keys, silent);
  afterwards(() => maintenance.close());
  return {
    keys,
    redis,
    clocks,
    depth: async (queue: string) =>
      Object.fromEntries(
        (await maintenance.depths())
          .filter((each) => each.queue === queue && each.jobs > 0)
          .map(({ state, jobs }) => [state, jobs]),
      ),
    work: (
      handle: (job: AlarmJob, alarmId: string) => Promise<AlarmAnswer>,
      queue: 'deliveries' | 'erp' = 'deliveries',
      concurrency = 1,
    ) => {
      const worker = startAlarmWorker(
        { redis: connect('worker'), keys, concurrency, logger: silent, queue },
        handle,
      );
      afterwards(() => worker.close());
      return worker;
    },
  };
}

const endpointDelivery = (): string => deliveryId(newId(), newEndpointId());

test('an alarm that is set twice rings once', async () => {
  const { clocks, depth, work } = open();
  const delivery = endpointDelivery();
  await clocks.set([{ alarmId: `${delivery}-1`, waitMs: 0 }]);
  await clocks.set([
    { alarmId: `${delivery}-1`, waitMs: 0 },
    { alarmId: `${delivery}-2`, waitMs: 0 },
    { alarmId: `${delivery}-2`, waitMs: 0 },
  ]);
  expect(await depth('deliveries')).toEqual({ wait: 2 });
  const rung: string[] = [];
  work(async (job, alarmId) => {
    rung.push(`${job.delivery} ${alarmId}`);
    return { kind: 'done' };
  });
  await waitUntil(async () => rung.length === 2 && Object.keys(await depth('deliveries')).length === 0, {
    what: 'both alarms',
  });
  expect(rung).toEqual([`${delivery} ${delivery}-1`, `${delivery} ${delivery}-2`]);
});

test('an alarm whose job has ended, well or badly, may be set again under the same name', async () => {
  const { clocks, depth, work } = open();
  const delivery = endpointDelivery();
  const alarm = [{ alarmId: `${delivery}-rABC`, waitMs: 0 }];
  let rung = 0;
  work(async () => {
    rung += 1;
    if (rung === 1) throw new Error('a bug');
    return { kind: 'done' };
  });
  for (let times = 1; times <= 3; times += 1) {
    await clocks.set(alarm);
    await waitUntil(async () => rung === times && Object.keys(await depth('deliveries')).length === 0, {
      what: `ring ${times}`,
    });
  }
});

test('alarms of endpoints and of ERP targets ring in queues of their own, also where a target is called by dashes', async () => {
  const { clocks, depth } = open();
  const erp = deliveryId(newId(), erpDestination('sap-eu-2'));
  await clocks.set([
    { alarmId: `${endpointDelivery()}-1`, waitMs: 0 },
    { alarmId: `${erp}-1`, waitMs: 0 },
    { alarmId: `${erp}-rX`, waitMs: 0 },
  ]);
  expect(await depth('deliveries')).toEqual({ wait: 1 });
  expect(await depth('erp')).toEqual({ wait: 2 });
});

test('an alarm with a wait rings when that is over, and not before', async () => {
  const { clocks, depth, work } = open();
  const set = performance.now();
  await clocks.set([{ alarmId: `${endpointDelivery()}-2`, waitMs: 300 }]);
  expect(await depth('deliveries')).toEqual({ delayed: 1 });
  let rungAfter = 0;
  work(async () => {
    rungAfter = performance.now() - set;
    return { kind: 'done' };
  });
  await waitUntil(() => rungAfter, { what: 'the alarm' });
  expect(rungAfter).toBeGreaterThan(295); // whole milliseconds on one side only
});

test('a first attempt does not queue up behind retries that are due', async () => {
  const { clocks, work } = open();
  const retries = Array.from({ length: 20 }, () => ({ alarmId: `${endpointDelivery()}-2`, waitMs: 1 }));
  const fresh = `${endpointDelivery()}-1`;
  const order: string[] = [];
  const holds = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const busyWith = (count: number) =>
    waitUntil(() => order.length === count, { what: `job ${count} to be in hand` });
  work(async (_job, alarmId) => {
    order.push(alarmId);
    await holds[order.length - 1]?.promise;
    return { kind: 'done' };
  });
  await clocks.set([{ alarmId: `${endpointDelivery()}-1`, waitMs: 0 }]);
  await busyWith(1);
  await clocks.set(retries);
  await pause(20); // all of them are due
  holds[0]?.resolve();
  await busyWith(2); // now they wait for a worker, and one of them has it
  await clocks.set([{ alarmId: fresh, waitMs: 0 }]);
  holds[1]?.resolve();
  await waitUntil(() => order.length === 22, { what: 'all alarms' });
  expect(order[2]).toBe(fresh);
});

test('first attempts go first, then retries, then what a bulk run asked for, in whatever order they were set', async () => {
  const { clocks, work } = open();
  const [first, retry, swept, bulk, restarted, reserved] = Array.from({ length: 6 }, endpointDelivery);
  await clocks.set([
    { alarmId: `${restarted}-5`, waitMs: 0, bulk: true },
    { alarmId: `${bulk}-rbulk.run`, waitMs: 0 }, // as the sweeper sets it: by its name
    { alarmId: `${swept}-3`, waitMs: 0, behind: true },
    { alarmId: `${retry}-2`, waitMs: 0, behind: true },
    { alarmId: `${first}-1`, waitMs: 0 },
    { alarmId: `${reserved}-rbulk.run`, waitMs: 0, bulk: false }, // a slot waits for it
  ]);
  const order: string[] = [];
  work(async (_job, alarmId) => {
    order.push(alarmId);
    return { kind: 'done' };
  });
  await waitUntil(() => order.length === 6, { what: 'all to ring' });
  expect(order).toEqual([
    `${first}-1`,
    `${reserved}-rbulk.run`,
    `${swept}-3`,
    `${retry}-2`,
    `${restarted}-5`,
    `${bulk}-rbulk.run`,
  ]);
});

test('an alarm that is told to come later comes later, under the same name', async () => {
  const { clocks, work } = open();
  const alarmId = `${endpointDelivery()}-1`;
  const rung: number[] = [];
  work(async () => {
    rung.push(performance.now());
    return rung.length === 1 ? { kind: 'later', waitMs: 200 } : { kind: 'done' };
  });
  await clocks.set([{ alarmId, waitMs: 0 }]);
  await waitUntil(() => rung.length === 2, { what: 'the alarm to ring again' });
  expect((rung[1] ?? 0) - (rung[0] ?? 0)).toBeGreaterThan(150);
});

test('no alarm at all is no work', async () => {
  const { clocks, depth } = open();
  await clocks.set([]);
  expect(await depth('deliveries')).toEqual({});
});
