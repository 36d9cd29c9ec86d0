import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { deliveryId, eventKey } from '@breakwater/contracts/ids';
import { closeRedis, connectRedis, type Redis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { createLogger } from '@breakwater/runtime/logger';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Rig, startRig } from '../support/rig.ts';
import { waitUntil } from '../support/wait-until.ts';

const DEMO = readFileSync(resolve(import.meta.dirname, '../../breakwater.config.yaml'), 'utf8');
const CONFIG = DEMO.replace('every: 5m', 'every: 1s')
  .replace('deepEvery: 1h', 'deepEvery: 1s')
  .replace('grace: 20m', 'grace: 2s');
const keys = createKeyspace('bw');

let rig: Rig;
let redis: Redis;
beforeAll(async () => {
  rig = await startRig({ config: CONFIG });
  redis = connectRedis(rig.redis.url, 'scripts', createLogger({ service: 'test', level: 'silent' }));
}, 120_000);
afterAll(async () => {
  if (redis) await closeRedis(redis);
  await rig?.close();
}, 60_000);

const delivery = (eventId: string): string =>
  deliveryId(eventKey('default', 'demo-payments', eventId), 'erp_receipts');
const accept = async (eventId: string): Promise<void> => {
  const event = { event_id: eventId, type: 'order.paid', order_id: eventId, warehouse: eventId, lines: [] };
  expect((await rig.send(event)).status).toBe(200);
};
/** Posted two minutes ago: what the ERP lists now can be expected to have it. */
async function posted(eventId: string): Promise<string> {
  await accept(eventId);
  const id = delivery(eventId);
  await waitUntil(async () => (await redis.hget(keys.delivery(id), 'status')) === 'sent', {
    what: `${eventId} to be posted`,
    timeoutMs: 60_000,
  });
  await redis.hset(keys.delivery(id), 'sentAt', Date.now() - 120_000);
  return (await redis.hget(keys.delivery(id), 'receipt')) ?? '';
}
const erp = (method: string, path: string, body?: object): Promise<Response> =>
  fetch(`${rig.simulatorUrl}/api/receipts${path}`, {
    method,
    headers: { 'content-type': 'application/json' },
    ...(body && { body: JSON.stringify(body) }),
  });
const postByHand = (reference: string, order = reference): Promise<Response> =>
  erp('POST', '', { external_reference: reference, order_id: order, warehouse: 'hand', lines: [] });

async function gauge(kind: string): Promise<number | undefined> {
  const text = await (await fetch(`${rig.opsUrl('console')}/metrics`)).text();
  const match = new RegExp(`^breakwater_reconcile_${kind}\\{target="receipts"\\} (\\d+)$`, 'm').exec(text);
  return match ? Number(match[1]) : undefined;
}

interface Named {
  readonly reconciliations: readonly {
    readonly findings: readonly Readonly<Record<string, unknown>>[];
    readonly deep: { readonly kind: string };
  }[];
}
async function reconcile(
  ...more: string[]
): Promise<{ code: number | null; result: Named['reconciliations'][number] }> {
  const run = await rig.cli('reconcile', '--target', 'receipts', '--since', '24h', ...more, '--json');
  const { reconciliations } = JSON.parse(run.stdout) as Named;
  return { code: run.code, result: reconciliations[0]! };
}

test('every fault that is seeded is a gauge, and the command of the runbook names it', async () => {
  for (const eventId of ['well', 'record-lost', 'twice', 'gone']) await posted(eventId);
  await waitUntil(async () => (await gauge('missing')) === 0, {
    what: 'a clean reconciliation',
    timeoutMs: 30_000,
  });
  expect(await reconcile('--deep')).toMatchObject({
    code: 0,
    result: { findings: [], deep: { kind: 'done' } },
  });

  await redis.del(keys.delivery(delivery('record-lost')));
  await redis.zadd(keys.recorded, Date.now() - 120_000, eventKey('default', 'demo-payments', 'record-lost'));
  await postByHand('twice');
  await postByHand('nobody-sent-this');
  const receipt = (await redis.hget(keys.delivery(delivery('gone')), 'receipt')) ?? '';
  expect((await erp('DELETE', `/${receipt}`)).status).toBe(204);
  await rig.faults({ dropAfterPost: 1 });
  await accept('unknown');

  await waitUntil(
    async () =>
      (await gauge('missing')) === 2 && (await gauge('duplicate')) === 1 && (await gauge('unknown')) === 1,
    { what: 'the gauges to show each fault', timeoutMs: 60_000 },
  );
  const { code, result } = await reconcile('--deep');
  expect(code).toBe(5);
  const named = result.findings.map(({ kind, why, eventId, reference }) =>
    [kind, why, eventId ?? reference].join(' '),
  );
  expect(named.toSorted()).toEqual([
    'duplicate two_documents twice',
    'foreign never_accepted nobody-sent-this',
    'missing not_at_erp gone',
    'missing record_lost record-lost',
    'unknown unclear_outcome unknown',
  ]);
  const shallow = await reconcile();
  expect(shallow.result.findings.map(({ eventId }) => String(eventId)).toSorted()).toEqual([
    'record-lost',
    'unknown',
  ]);
}, 150_000);

test('a delivery whose alarm is gone is armed again and posted', async () => {
  await rig.faults({});
  await rig.stop('erp-consumer');
  await accept('unarmed');
  const id = delivery('unarmed');
  await waitUntil(() => redis.zscore(keys.alarms('erp'), `${id}-1`), {
    what: 'the delivery',
    timeoutMs: 30_000,
  });
  await waitUntil(() => redis.exists(`${keys.queues}:erp:${id}-1`), { what: 'its job', timeoutMs: 30_000 });
  await redis
    .multi()
    .zrem(keys.alarms('erp'), `${id}-1`)
    .lrem(`${keys.queues}:erp:wait`, 0, `${id}-1`)
    .del(`${keys.queues}:erp:${id}-1`)
    .exec();
  await rig.start('erp-consumer');
  await waitUntil(async () => (await redis.hget(keys.delivery(id), 'status')) === 'sent', {
    what: 'the delivery to be posted after all',
    timeoutMs: 60_000,
  });
}, 120_000);
