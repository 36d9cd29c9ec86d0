import { expect, test } from '@jest/globals';
import { BreakwaterConfig } from '@breakwater/contracts/config';
import { deliveryId, newEndpointId, newId } from '@breakwater/contracts/ids';
import { startOwnRedis } from '../../../test/support/redis.ts';
import { openDeliveries } from '../src/delivery-deps.ts';
import { afterwards, silent } from './support/acceptor.ts';

const PAYLOAD = JSON.stringify({ note: 'x'.repeat(1_000) });
const COUNT = 2_000;

test('a waiting delivery costs at most 2.5 KB of Redis over its payload: record, attempt, indexes, alarm and job', async () => {
  const own = await startOwnRedis({ overrides: { appendonly: 'no' } }); // its memory is measured, not what it writes
  afterwards(() => own.close());
  const { redis, transitions, clocks } = openDeliveries(
    { redisUrl: own.url, keyPrefix: 'bw', breakwater: BreakwaterConfig.parse({}) },
    { defer: (_label, close) => afterwards(close), logger: silent },
  );
  const endpoint = newEndpointId();
  /** Accepted, failed once with a sample-less answer, and waiting for its retry. */
  const make = async (): Promise<void> => {
    const eventKey = newId();
    const { alarms } = await transitions.recordEvent({
      eventKey,
      source: 'demo-payments',
      operator: 'default',
      plan: [{ d: endpoint }],
      from: 0,
      count: 100,
      replan: false,
      fields: {
        eventId: `evt_${eventKey}`,
        type: 'order.paid',
        entity: `order-${eventKey}`,
        contentType: 'application/json',
        receivedAt: Date.now(),
        encoding: 'utf8',
        body: PAYLOAD,
      },
    });
    const [alarm] = alarms;
    const delivery = deliveryId(eventKey, endpoint);
    const begun = await transitions.beginAttempt(delivery, alarm?.alarmId ?? '', newId());
    if (begun.kind !== 'go') throw new Error(JSON.stringify(begun));
    const ended = await transitions.endAttempt({
      delivery,
      alarmId: begun.go.alarmId,
      attempt: begun.go.attempt,
      outcome: 'failed',
      class: 'timeout_response',
      code: 'ETIMEDOUT',
      handOffToken: '',
    });
    await clocks.set(ended.alarms);
  };
  const used = async (): Promise<number> =>
    Number(/^used_memory_dataset:(\d+)/m.exec(await redis.info('memory'))?.[1]);
  for (let count = 0; count < 300; count += 1) await make(); // the lists have left their compact encodings
  const before = await used();
  for (let count = 0; count < COUNT; count += 50) await Promise.all(Array.from({ length: 50 }, make));
  const event = (await redis.keys('{bw:0}:event:*'))[0] ?? '';
  const payload = Number(await redis.memory('USAGE', event, 'SAMPLES', 0));
  const perDelivery = ((await used()) - before) / COUNT - payload;
  expect(payload).toBeLessThan(PAYLOAD.length + 1_100);
  expect(perDelivery).toBeLessThanOrEqual(2_560); // 2,512 B as this is written, of which every index takes 160
  expect(perDelivery).toBeGreaterThan(1_000); // else something was not made
}, 60_000);
