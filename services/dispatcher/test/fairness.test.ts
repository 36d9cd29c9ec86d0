import { expect, test } from '@jest/globals';
import { startOwnRedis } from '../../../test/support/redis.ts';
import { waitUntil } from '../../../test/support/wait-until.ts';
import { afterwards, openFleet, openReceiver } from './support.ts';

const hang = (): void => undefined;

test('first attempts find a worker although retries hang at more endpoints than there are workers', async () => {
  const fleet = await openFleet(1, { retrySchedule: ['0s', '2s', '1h'] });
  const slow = await openReceiver();
  slow.answer = (response, attempt) => attempt === 1 && response.writeHead(500).end(); // and from then on it hangs
  // 60 x 10 retries in flight are wanted: more than the 500 that one dispatcher makes at once.
  const endpoints = await Promise.all(Array.from({ length: 60 }, () => fleet.endpoint(slow.url)));
  await Promise.all(endpoints.flatMap((id) => Array.from({ length: 10 }, () => fleet.publish(id))));
  await waitUntil(() => slow.open() >= 200, { what: 'the lane of retries to be full', timeoutMs: 60_000 });
  const fast = await openReceiver();
  const healthy = await fleet.endpoint(fast.url);
  for (let count = 0; count < 20; count += 1) await fleet.publish(healthy);
  // Nothing that hangs is let go, and none of it times out before the deadline.
  await waitUntil(() => fast.received.length === 20, { what: 'the fresh events', timeoutMs: 25_000 });
  expect(slow.open()).toBeLessThanOrEqual(200);
  slow.answer = (response) => response.writeHead(200).end();
  slow.finish(200);
  await waitUntil(async () => (await fleet.count('sent')) === 620, {
    what: 'all of them',
    timeoutMs: 60_000,
  });
}, 120_000);

test('an endpoint that hangs keeps its own cap of slots, and the others get theirs', async () => {
  const fleet = await openFleet(2);
  const [hung, fast] = [await openReceiver(), await openReceiver()];
  hung.answer = hang;
  const [stuck, healthy] = [await fleet.endpoint(hung.url, 4), await fleet.endpoint(fast.url)];
  await Promise.all(Array.from({ length: 300 }, () => fleet.publish(stuck)));
  await waitUntil(async () => (await fleet.redis.zcard(fleet.keys.waiting(stuck))) === 296, {
    what: 'the others to wait',
    timeoutMs: 60_000,
  });
  await Promise.all(Array.from({ length: 30 }, () => fleet.publish(healthy)));
  await waitUntil(() => fast.received.length === 30, { what: 'the events of the others', timeoutMs: 25_000 });
  expect(hung.received).toHaveLength(4);
}, 90_000);

/** Calls of any command so far, and of scripts. */
async function calls(redis: Awaited<ReturnType<typeof openFleet>>['redis']) {
  const text = await redis.info('commandstats');
  const all = [...text.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(
    ([, name = '', count]) => [name, Number(count)] as const,
  );
  const sum = (wanted: (name: string) => boolean): number =>
    all.filter(([name]) => wanted(name)).reduce((total, [, count]) => total + count, 0);
  return { commands: sum(() => true), scripts: sum((name) => /^(?:evalsha|eval|fcall)$/.test(name)) };
}

test('deferring costs a bounded number of scripts per delivery, and waiting costs nothing', async () => {
  const own = await startOwnRedis();
  afterwards(() => own.close());
  const fleet = await openFleet(2, {}, own.url);
  const receiver = await openReceiver();
  const endpoint = await fleet.endpoint(receiver.url, 1);
  const during = async (work: () => Promise<unknown>) => {
    const before = await calls(fleet.redis);
    await work();
    const after = await calls(fleet.redis);
    return { commands: after.commands - before.commands, scripts: after.scripts - before.scripts };
  };
  const seconds = (count: number) => () => new Promise((resolve) => setTimeout(resolve, count * 1_000));
  await during(seconds(1));
  const idle = await during(seconds(3));

  receiver.answer = hang;
  const count = 400;
  const parking = await during(async () => {
    await Promise.all(Array.from({ length: count }, () => fleet.publish(endpoint)));
    await waitUntil(async () => (await fleet.redis.zcard(fleet.keys.waiting(endpoint))) === count - 1, {
      what: 'the others to wait',
      timeoutMs: 60_000,
      intervalMs: 200,
    });
  });
  await during(seconds(1)); // the last jobs end
  const waiting = await during(seconds(3));
  receiver.answer = (response) => response.writeHead(200).end();
  const releasing = await during(async () => {
    receiver.finish(200);
    await waitUntil(async () => (await fleet.count('sent')) === count, {
      what: 'all of them',
      timeoutMs: 60_000,
      intervalMs: 200,
    });
  });
  // Measured here: 7 and 1.2 scripts, 100 and 58 commands.
  // Accept, fan-out, alarm, ring, park, end of the job; then hand-off or reservation, alarm, ring, begin, end.
  expect(parking.scripts / count).toBeLessThan(12);
  expect(releasing.scripts / count).toBeLessThan(10);
  expect((parking.commands + releasing.commands) / count).toBeLessThan(400);
  // 400 waiters: the same few looks a second as without any, give or take a stall of the machine.
  expect(waiting.scripts).toBeLessThan(idle.scripts + 40);
  expect(waiting.commands).toBeLessThan(idle.commands + 400);
}, 120_000);
