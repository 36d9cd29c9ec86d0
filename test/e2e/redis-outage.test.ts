import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type Rig, startRig } from '../support/rig.ts';
import { waitUntil } from '../support/wait-until.ts';
import { orderPaid } from '../support/webhook.ts';

let rig: Rig;
beforeEach(async () => void (rig = await startRig({ schedule: '0s,1s,1s' })), 60_000);
afterEach(() => rig.close(), 60_000);

/** Sends until the answer is 200. */
const accepted = (id: string): Promise<unknown> =>
  waitUntil(async () => (await rig.send(orderPaid(id))).status === 200, {
    what: `${id} to be accepted`,
    timeoutMs: 20_000,
    intervalMs: 200,
  });

/** How many receipts the ERP holds for one event. */
async function receiptsOf(id: string): Promise<number> {
  const response = await fetch(`${rig.simulatorUrl}/api/receipts?external_reference=${id}`);
  return ((await response.json()) as { receipts: unknown[] }).receipts.length;
}

test('with Redis stopped the answer is 503 with Retry-After within 2 s, and afterwards the same request is accepted', async () => {
  expect((await rig.send(orderPaid('before'))).status).toBe(200);
  await rig.redis.stop();
  const started = performance.now();
  const refused = await rig.send(orderPaid('during'));
  expect(performance.now() - started).toBeLessThan(2_000); // part of the promise: providers wait 5 s
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
  expect(await refused.json()).toMatchObject({ ok: false, error: { code: 'unavailable' } });
  await rig.redis.restart();
  await accepted('during');
  await waitUntil(async () => (await rig.stats()).postings === 2, {
    what: 'both postings',
    timeoutMs: 30_000,
  });
  expect(await rig.stats()).toEqual({ postings: 2, distinctReferences: 2, duplicates: 0 });
}, 120_000);

test('nothing acknowledged is lost when Redis is killed under load', async () => {
  await rig.faults({ latencyMs: 20 });
  const acknowledged = new Set<string>();
  const done = new AbortController();
  let number = 0;
  const senders = Array.from({ length: 8 }, async () => {
    while (!done.signal.aborted) {
      const id = `load-${(number += 1)}`;
      const response = await rig.send(orderPaid(id, { warehouse: `W${number % 10}` })).catch(() => undefined);
      if (response?.status === 200) acknowledged.add(id);
      else await new Promise((resolve) => setTimeout(resolve, 50));
    }
  });
  for (let round = 0; round < 3; round += 1) {
    await new Promise((resolve) => setTimeout(resolve, 800));
    await rig.redis.kill();
    await rig.redis.restart();
  }
  done.abort();
  await Promise.all(senders);
  expect(acknowledged.size).toBeGreaterThan(0);
  // Each id by itself: events whose answer was lost are posted too, so a mere count is reached too early.
  const unposted = new Set(acknowledged);
  await waitUntil(
    async () => {
      for (const id of unposted) if ((await receiptsOf(id)) > 0) unposted.delete(id);
      expect([...unposted]).toEqual([]);
      return true;
    },
    { what: 'a posting of each acknowledged event', timeoutMs: 60_000 },
  );
  expect(await rig.stats()).toMatchObject({ duplicates: 0 });
}, 180_000);

test('ingest that is started before Redis listens, answers 503, and accepts once Redis is there', async () => {
  await rig.redis.stop();
  await rig.kill('ingest');
  const starting = rig.start('ingest'); // becomes ready only with Redis
  starting.catch(() => undefined); // awaited below
  const refused = await waitUntil(async () => rig.send(orderPaid('early')), {
    what: 'ingest to listen',
    timeoutMs: 20_000,
  });
  expect(refused.status).toBe(503);
  await rig.redis.restart();
  await starting;
  await accepted('early');
}, 120_000);
