import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Simulator, startSimulator } from '@breakwater/erp-simulator/app';
import { createLogger } from '@breakwater/runtime/logger';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { type FaultyProxy, startFaultyProxy } from '../support/faulty-proxy.ts';
import { type Rig, startRig } from '../support/rig.ts';
import { waitUntil } from '../support/wait-until.ts';
import { orderPaid } from '../support/webhook.ts';

/** The demonstration with an ERP that gets less time to answer; a lease is three such times and 10 s. */
const configOf = (timeout: string): string =>
  readFileSync(join(import.meta.dirname, '../../breakwater.config.yaml'), 'utf8')
    .replace('timeout: 30s', `timeout: ${timeout}`)
    .replace('timeout: 10s', `timeout: ${timeout}`)
    .replace('settle: 10s', 'settle: 2s\n    breaker: { backoff: { from: 100ms, to: 1s } }');

/** An ERP without a unique constraint that keeps its documents across restarts, behind a proxy that stays. */
let simulator: Simulator;
let proxy: FaultyProxy;
let rig: Rig;
let stack: AsyncDisposableStack;

async function startErp(dataFile: string): Promise<void> {
  simulator = await startSimulator({
    host: '127.0.0.1',
    port: 0,
    dataFile,
    logger: createLogger({ service: 'erp', level: 'silent' }),
  });
}
const erpUrl = (): string => `http://127.0.0.1:${simulator.port}`;

async function setFaults(faults: Record<string, unknown>): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(`${erpUrl()}/api/faults`, {
    method: 'PUT',
    body: JSON.stringify(faults),
    headers,
  });
  expect(answer.status).toBe(200);
}

/** How many documents each reference has. */
async function documents(): Promise<Map<string, number>> {
  // The faults hit this request too.
  const answer = await waitUntil(
    async () => {
      const tried = await fetch(`${erpUrl()}/api/receipts?limit=1000`);
      return tried.ok && tried;
    },
    { what: 'the list of documents', timeoutMs: 30_000 },
  );
  const { receipts } = (await answer.json()) as { receipts: { external_reference: string }[] };
  const counts = new Map<string, number>();
  for (const { external_reference: reference } of receipts)
    counts.set(reference, (counts.get(reference) ?? 0) + 1);
  return counts;
}

interface Delivery {
  readonly id: string;
  readonly reference: string;
  readonly status: string;
  readonly reason?: string | null;
}
const deliveries = async (): Promise<readonly Delivery[]> =>
  (await rig.json<{ deliveries: Delivery[] }>('deliveries', 'list', '--target', 'receipts', '--limit', '200'))
    .deliveries;

const allDone = (count: number): Promise<readonly Delivery[]> =>
  waitUntil(
    async () => {
      const all = await deliveries();
      const open = all.filter(({ status }) => status !== 'sent' && status !== 'dead_letter');
      if (all.length === count && open.length === 0) return all;
      throw new Error(
        `${all.length} deliveries, open: ${JSON.stringify(open.map(({ reference, status }) => [reference, status]))}`,
      );
    },
    { what: 'every delivery to be sent or a dead letter', timeoutMs: 120_000, intervalMs: 500 },
  );

async function openRig(timeout: string): Promise<void> {
  rig = await startRig({
    config: configOf(timeout),
    schedule: '0s,1s,1s,2s,2s,3s',
    env: { ERP_SIMULATOR_URL: proxy.url },
  });
  stack.defer(() => rig.close());
}

let dataFile: string;
beforeEach(async () => {
  stack = new AsyncDisposableStack();
  const dir = mkdtempSync(join(tmpdir(), 'breakwater-never-twice-'));
  stack.defer(() => rmSync(dir, { recursive: true, force: true }));
  dataFile = join(dir, 'receipts.ndjson');
  await startErp(dataFile);
  stack.defer(() => simulator.close());
  proxy = stack.use(await startFaultyProxy(erpUrl()));
}, 60_000);
afterEach(() => stack.disposeAsync(), 60_000);

const ORDERS = 16;

test('kills, restarts, lost answers and a client that gives up too early: one document per order, or a dead letter that says why', async () => {
  // Up to 1.5 s for a document, and its client gives up after one: it is created all the same.
  const unreliable = { latencyMs: [100, 1_500], errorRate: 0.2, dropAfterPost: 0.15 };
  await openRig('1s');
  await setFaults(unreliable);
  const replica = await rig.addReplica('erp-consumer');
  const orders = Array.from({ length: ORDERS }, (_, nth) =>
    orderPaid(`order-${nth}`, { warehouse: `W${nth % 8}` }),
  );
  for (let round = 0; round < 3; round += 1)
    for (const answer of await Promise.all(orders.map((order) => rig.send(order))))
      expect(answer.status).toBe(200);

  await waitUntil(async () => (await documents()).size >= 2, { what: 'first documents', timeoutMs: 60_000 });
  await Promise.all([replica.kill(), rig.kill('erp-consumer')]); // in the middle of their posts
  await rig.redis.kill();
  await Promise.all([rig.redis.restart(), rig.start('erp-consumer')]);
  await waitUntil(async () => (await documents()).size >= 5, {
    what: 'further documents',
    timeoutMs: 60_000,
  });
  await simulator.close(); // breaks off what it works at
  await startErp(dataFile);
  proxy.target = erpUrl();
  await setFaults({ latencyMs: 20, errorRate: 0.2, dropAfterPost: 0.15 });

  const ended = await allDone(ORDERS);
  const reasons = ended.filter(({ status }) => status === 'dead_letter').map(({ reason }) => reason);
  for (const reason of reasons) expect(['exhausted', 'unknown_outcome']).toContain(reason);
  const counts = await documents();
  for (const { reference, status } of ended)
    expect([reference, counts.get(reference) ?? 0]).toEqual([reference, status === 'sent' ? 1 : 0]);

  // Everything once more: the dead ones, and some that were sent.
  await setFaults({});
  const replays = ended
    .filter(({ status }) => status === 'sent')
    .slice(0, 2)
    .map(({ id }) =>
      rig.json('deliveries', 'replay', id, '--reason', 'again', '--acknowledge-duplicates', '--wait'),
    );
  await Promise.all([
    ...replays,
    rig.json('dead-letters', 'replay', '--all', '--reason', 'again', '--wait'),
    ...orders.map((order) => rig.send(order)),
  ]);
  expect(Object.fromEntries(await documents())).toEqual(
    Object.fromEntries(orders.map((order) => [order['event_id'], 1])),
  );
  expect((await deliveries()).filter(({ status }) => status !== 'sent')).toEqual([]);
}, 180_000);

test('a replica that is stopped past its lease, once before it writes and once before it is answered, writes nothing when it wakes', async () => {
  await openRig('2s');
  const released = Promise.withResolvers<void>();
  const until = released.promise;
  const isOf = (name: string, { url, body }: { url: string; body: string }): boolean =>
    `${url}${body}`.includes(name);
  let reached = 0;
  proxy.judge = (request) => {
    const holds =
      (request.method === 'GET' && isOf('looks', request)) ||
      (request.method === 'POST' && isOf('posts', request));
    if (!holds || reached === 2) return undefined;
    reached += 1;
    return { kind: 'delayed_reply', until };
  };
  const [looks, posts] = ['looks', 'posts'].map((id) => rig.send(orderPaid(id, { warehouse: id })));
  await Promise.all([looks, posts]);
  await waitUntil(() => reached === 2, { what: 'both to be held' });
  const pid = rig.pid('erp-consumer') ?? 0;
  process.kill(pid, 'SIGSTOP');
  try {
    await rig.addReplica('erp-consumer');
    await waitUntil(async () => (await deliveries()).every(({ status }) => status === 'sent'), {
      what: 'the other replica to take over',
      timeoutMs: 90_000,
      intervalMs: 500,
    });
    expect(Object.fromEntries(await documents())).toEqual({ looks: 1, posts: 1 });
    released.resolve();
    // Its answers are there when it wakes.
    await waitUntil(() => proxy.held.now === 0, { what: 'the answers to be sent' });
  } finally {
    released.resolve();
    process.kill(pid, 'SIGCONT');
  }
  // It finds its answers, and that its time is over: what was to be written is not, what was written is told late.
  const told = (words: RegExp): boolean => rig.log('erp-consumer').some((line) => words.test(line));
  await waitUntil(() => told(/"recorded":"late"/), { what: 'a late result', timeoutMs: 30_000 });
  await waitUntil(
    async () => rig.redis.pid() > 0 && (await fetch(`${rig.opsUrl('erp-consumer')}/readyz`)).ok,
    {
      what: 'it to be ready again',
      timeoutMs: 30_000,
    },
  );
  await proxy.idle();
  expect(Object.fromEntries(await documents())).toEqual({ looks: 1, posts: 1 });
  expect(proxy.forwarded.filter(({ method }) => method === 'POST')).toHaveLength(2);
}, 150_000);
