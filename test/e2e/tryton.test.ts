import { openDeliveries } from '@breakwater/core/delivery-deps';
import { requestReplay } from '@breakwater/core/replay';
import { loadConfig } from '@breakwater/runtime/config';
import { readEnvironment } from '@breakwater/runtime/environment';
import { createLogger } from '@breakwater/runtime/logger';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { type Fault, type FaultyProxy, type Passing, startFaultyProxy } from '../support/faulty-proxy.ts';
import { type Rig, startRig } from '../support/rig.ts';
import { type Tryton, noTryton, onTryton, startTryton } from '../support/tryton.ts';
import { waitUntil } from '../support/wait-until.ts';
import { orderPaid } from '../support/webhook.ts';

/** The whole demonstration is 100 orders in 5,000 deliveries; by default a part of it. */
const ORDERS = Number(process.env['TRYTON_STORM_ORDERS'] ?? 30);
const DELIVERIES = Number(process.env['TRYTON_STORM_DELIVERIES'] ?? 500);
const POST_TIMEOUT_MS = 8_000;

const configFor = ({ url }: FaultyProxy, { database, login }: Tryton): string => `
sources:
  demo-payments:
    secrets: [{ id: current, value: demo-webhook-secret }]
    auth:
      kind: signature
      algorithm: hmac-sha256
      signature: { header: x-signature, prefix: 'sha256=', encoding: hex }
      signed: [body]
    eventId: { pointer: /event_id }
    type: { pointer: /type }
    entity: { pointer: /order_id }
routes: [{ source: demo-payments, types: [order.paid], target: receipts }]
erpTargets:
  receipts:
    owner: integration
    document: |
      {
        "supplier": "SUP-1",
        "warehouse": "WH",
        "lines": [data.lines.{ "product": sku, "quantity": quantity, "unitPrice": "0.95" }]
      }
    settle: 2s
    maxInFlight: 4
    # Most attempts meet a fault here; a breaker as shipped would rightly stay open.
    breaker: { consecutive: 30, window: 100, percentage: 95, backoff: { from: 500ms, to: 2s } }
    adapter:
      kind: tryton
      baseUrl: ${url}
      database: ${database}
      login: ${login}
      password: \${TRYTON_PASSWORD}
      post: { timeout: ${POST_TIMEOUT_MS / 1_000}s }
      find: { timeout: 4s }
encryptionKeys: YnJlYWt3YXRlci1kZW1vLWtleS1ub3QtYS1zZWNyZXQ=
`;

let stack: AsyncDisposableStack;
let tryton: Tryton;
let proxy: FaultyProxy;
let rig: Rig;
beforeAll(async () => {
  if (noTryton !== undefined) return;
  stack = new AsyncDisposableStack();
  tryton = stack.use(await startTryton());
  proxy = stack.use(await startFaultyProxy(tryton.url));
  rig = await startRig({
    config: configFor(proxy, tryton),
    services: ['ingest', 'dispatcher', 'erp-consumer'],
    schedule: ['0s', ...Array.from({ length: 49 }, () => '1s')].join(','),
    env: { TRYTON_PASSWORD: tryton.password },
  });
  stack.defer(() => rig.close());
}, 240_000);
afterAll(async () => await stack?.disposeAsync(), 120_000);

const isWrite = ({ body }: Passing): boolean =>
  /"method":"model\.stock\.shipment\.in\.(?:create|receive|done|cancel)"/.test(body);
const isLookUp = ({ body }: Passing): boolean => body.includes('model.stock.shipment.in.search_read');

/** 30 of 100 writes and 10 of 100 look-ups go wrong, the same ones in every run that asks in the same order. */
function faultyJudge(): FaultyProxy['judge'] {
  let seed = 20_261_130;
  const draw = (): number => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((seed / 2_147_483_648) * 100);
  };
  const ofWrites: readonly (readonly [number, Fault])[] = [
    [10, { kind: 'lost_reply' }],
    [17, { kind: 'status', status: 502 }],
    [22, { kind: 'reset_after_request' }],
    [25, { kind: 'truncated_reply' }],
    [29, { kind: 'delivered_twice' }],
    [30, { kind: 'delayed_reply', until: POST_TIMEOUT_MS + 500 }], // the client has given up by then
  ];
  return (request) => {
    if (isWrite(request)) {
      const drawn = draw();
      return ofWrites.find(([below]) => drawn < below)?.[1];
    }
    return isLookUp(request) && draw() < 10 ? { kind: 'status', status: 503 } : undefined;
  };
}

/** Kills a replica that has a write to the ERP on its way. Returns how many were killed until one had. */
async function killMidPost(replicas: readonly (() => Promise<unknown>)[]): Promise<number> {
  const released = Promise.withResolvers<void>();
  const judge = proxy.judge;
  proxy.judge = (request) =>
    isWrite(request) ? { kind: 'delayed_request', until: released.promise } : judge(request);
  await waitUntil(() => proxy.held.now >= 2, { what: 'two writes on their way', timeoutMs: 60_000 });
  proxy.judge = judge;
  let killed = 0;
  for (const kill of replicas) {
    const before = proxy.held.abandoned;
    await kill();
    killed += 1;
    const hit = waitUntil(() => proxy.held.abandoned > before, {
      what: 'its connection to close',
      timeoutMs: 2_000,
    });
    if (await hit.catch(() => false)) break;
  }
  released.resolve(); // what it had sent arrives all the same
  return killed;
}

interface Listed {
  deliveries: { id: string; status: string; reason: string | null; attempts: { outcome: string }[] }[];
}
const listed = async (): Promise<Listed['deliveries']> =>
  (await rig.json<Listed>('deliveries', 'list', '--target', 'receipts', '--limit', '200')).deliveries;

/** Every reference with the states of its documents, by the ERP's own tables; cancelled ones have no effect. */
async function atErp(): Promise<Map<string, string>> {
  const rows = await tryton.sql(
    `select reference, string_agg(state, ',') from stock_shipment_in where state != 'cancelled' group by reference`,
  );
  return new Map(rows.split('\n').map((row) => row.split('|') as [string, string]));
}

async function replayEverything(): Promise<void> {
  const deps = new AsyncDisposableStack();
  await using _ = deps;
  const environment = readEnvironment(rig.env);
  const { transitions, clocks } = openDeliveries(
    {
      redisUrl: rig.redis.url,
      keyPrefix: environment.KEY_PREFIX,
      breakwater: loadConfig(environment, rig.env),
    },
    {
      logger: createLogger({ service: 'test', level: 'silent' }),
      defer: (_label, close) => deps.defer(async () => void (await close())),
    },
  );
  for (const { id } of await listed())
    await requestReplay(transitions, clocks, {
      delivery: id,
      operator: 'default',
      mode: 'single',
      acknowledged: true,
      reason: 'everything once more',
      actor: 'test',
    });
}

// Long, since it is the proof: a real ERP that takes duplicates, and everything that can go wrong on the way to it.
onTryton(
  'a storm into a real Tryton, with faults, kills, a crash of the ERP and a replay of everything, gives one receipt per order',
  async () => {
    proxy.judge = faultyJudge();
    const second = await rig.addReplica('erp-consumer');
    const storm = rig.json<{ problems: string[]; accepted: number; duplicates: number }>(
      'storm',
      '--orders',
      String(ORDERS),
      '--deliveries',
      String(DELIVERIES),
      '--run',
      'tryton',
    );
    storm.catch(() => undefined); // awaited below

    const killed = await killMidPost([() => second.kill(), () => rig.kill('erp-consumer')]);
    expect(proxy.held.abandoned).toBeGreaterThan(0);
    await rig.addReplica('erp-consumer');
    if (killed === 2) await rig.start('erp-consumer');

    // The ERP dies some milliseconds into a receive.
    const crashed = Promise.withResolvers<void>();
    const judge = proxy.judge;
    proxy.judge = (request) => {
      if (!request.body.includes('shipment.in.receive"')) return judge(request);
      proxy.judge = judge;
      setTimeout(() => void tryton.crash().then(crashed.resolve, crashed.reject), 20);
      return undefined;
    };
    await crashed.promise;

    const figures = await storm;
    expect(figures).toMatchObject({ problems: [], accepted: ORDERS, duplicates: 0 });
    const after = await listed();
    expect(after).toHaveLength(ORDERS);
    expect(after.some(({ attempts }) => attempts.some(({ outcome }) => outcome === 'interrupted'))).toBe(
      true,
    );

    await replayEverything();
    const replayed = await waitUntil(
      async () => {
        const all = await rig.json<{ deliveries: { replaysMade: number; inFlight: boolean }[] }>(
          'deliveries',
          'list',
          '--target',
          'receipts',
          '--limit',
          '200',
        );
        return (
          all.deliveries.every(({ replaysMade, inFlight }) => replaysMade === 1 && !inFlight) &&
          all.deliveries
        );
      },
      { what: 'every replay to end', timeoutMs: 240_000, intervalMs: 1_000 },
    );
    expect(replayed).toHaveLength(ORDERS);

    const documents = await atErp();
    for (const { id, status, reason } of await listed()) {
      // Either it is there, or a person is told why it is not. Never neither, and never twice.
      if (status === 'sent') continue;
      expect({ id, status, reason }).toEqual({
        id,
        status: 'dead_letter',
        reason: expect.stringMatching(/./),
      });
    }
    const sent = (await listed()).filter(({ status }) => status === 'sent').length;
    expect([...documents.values()].filter((states) => states === 'done').length).toBeGreaterThanOrEqual(sent);
    expect([...documents].filter(([, states]) => states.includes(','))).toEqual([]);

    // And the provider sends all of it again.
    proxy.judge = () => undefined;
    const again = await rig.json<object>(
      'storm',
      '--orders',
      String(ORDERS),
      '--deliveries',
      String(ORDERS),
      '--run',
      'tryton',
    );
    expect(again).toMatchObject({ problems: [], accepted: 0, duplicates: 0 });
    expect(await atErp()).toEqual(documents);
  },
  600_000,
);

onTryton('a product that Tryton does not know is a dead letter that names it', async () => {
  proxy.judge = () => undefined;
  await rig.send(orderPaid('unknown-product', { lines: [{ sku: 'NO-SUCH-SKU', quantity: 1 }] }));
  const dead = await waitUntil(async () => (await listed()).find(({ reason }) => reason === 'rejected'), {
    what: 'the dead letter',
    timeoutMs: 120_000,
    intervalMs: 500,
  });
  const shown = await rig.cli('deliveries', 'show', dead.id);
  expect(shown.stdout).toMatch(/Reason of attempt 1:\n {2}\| The ERP knows no product NO-SUCH-SKU\./);
  expect((await atErp()).has('unknown-product')).toBe(false);
});
