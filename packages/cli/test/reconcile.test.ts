import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { deliveryId, eventKey } from '@breakwater/contracts/ids';
import { startSimulator } from '@breakwater/erp-simulator/app';
import { createLogger } from '@breakwater/runtime/logger';
import { expect, test } from '@jest/globals';
import { startOwnRedis } from '../../../test/support/redis.ts';
import { startRedisProxy } from '../../../test/support/redis-proxy.ts';
import { CONFIG, createRig, destination, type Rig } from './support.ts';

const ROUTED = CONFIG.replace('routes: []', 'routes: [{ source: shop, target: receipts }]');
const RUNBOOKS = resolve(import.meta.dirname, '../../../docs/runbooks');

/** A posting whose record is gone. */
async function lose(rig: Rig, eventId: string, operator = 'default'): Promise<string> {
  const [id = ''] = await rig.recordEvent(eventId, [destination('erp')], { operator });
  await rig.redis.del(rig.keys.delivery(id));
  await rig.redis.zadd(rig.keys.recorded, Date.now() - 120_000, id.slice(0, id.indexOf('.')));
  return id;
}

test('a reconciliation that finds nothing ends with 0, and one that finds something with 5, its ids and the next step', async () => {
  await using rig = await createRig(ROUTED);
  const well = await rig.cli(['reconcile', '--target', 'receipts', '--since', '24h']);
  expect(well).toMatchObject({ code: 0, stdout: expect.stringContaining('Nothing was found.') });
  const id = await lose(rig, 'evt-1');
  const found = await rig.cli(['reconcile', '--target', 'receipts', '--since', '24h']);
  expect(found.code).toBe(5);
  for (const words of [
    '1 missing',
    'record_lost',
    'shop/evt-1',
    id,
    'events fan-out --source shop --event evt-1',
  ])
    expect(found.stdout).toContain(words);
  const json = await rig.cli(['reconcile', '--all', '--json']);
  expect(json.json()).toMatchObject({
    ok: false,
    reconciliations: [
      {
        target: 'receipts',
        counts: { missing: 1 },
        findings: [{ delivery: id, eventId: 'evt-1', kind: 'missing' }],
        deep: { kind: 'off' },
        cursor: null,
      },
    ],
  });
});

test('the next step that is named mends a lost record', async () => {
  await using rig = await createRig(ROUTED);
  const id = await lose(rig, 'evt-1');
  const dry = await rig.cli(['events', 'fan-out', '--source', 'shop', '--event', 'evt-1', '--dry-run']);
  expect(dry.code).toBe(0);
  expect(await rig.redis.exists(rig.keys.delivery(id))).toBe(0);
  await rig.cli(['events', 'fan-out', '--source', 'shop', '--event', 'evt-1']);
  expect(await rig.redis.hget(rig.keys.delivery(id), 'status')).toBe('pending');
  expect((await rig.cli(['reconcile', '--target', 'receipts'])).code).toBe(0);
  expect(await rig.cli(['events', 'fan-out', '--source', 'shop', '--event', 'nobody'])).toMatchObject({
    code: 3,
  });
  expect(await rig.cli(['events', 'fan-out', '--event', 'evt-1'])).toMatchObject({ code: 2 });
});

test('findings of other operators are counted and not shown', async () => {
  await using rig = await createRig(ROUTED);
  const id = await lose(rig, 'evt-1', 'acme');
  const mine = await rig.cli(['reconcile', '--target', 'receipts']);
  expect(mine.code).toBe(5);
  expect(mine.stdout).toContain('1 finding more about events of another operator: --operator acme');
  expect(mine.stdout).not.toContain(id);
  const theirs = await rig.cli(['reconcile', '--target', 'receipts', '--operator', 'acme']);
  expect(theirs.stdout).toContain(`breakwater --operator acme events fan-out --source shop --event evt-1`);
});

test('a page goes on where it ended, by the cursor that it gave', async () => {
  await using rig = await createRig(ROUTED);
  for (let index = 0; index < 250; index += 1) await lose(rig, `evt-${index}`);
  const page = (await rig.cli(['reconcile', '--target', 'receipts', '--limit', '10', '--json'])).json();
  const [{ findings, cursor }] = page.reconciliations;
  expect(findings).toHaveLength(200);
  const rest = (await rig.cli(['reconcile', '--cursor', cursor, '--json'])).json();
  expect(rest.reconciliations[0]).toMatchObject({ cursor: null, counts: { missing: 50 } });
}, 30_000);

test('a Redis that goes away in the middle leaves what was found so far, and the cursor to go on with', async () => {
  const redis = await startOwnRedis();
  const rig = await createRig(ROUTED, redis.url);
  for (let index = 0; index < 250; index += 1) await lose(rig, `evt-${index}`);
  await rig.cli(['reconcile', '--target', 'receipts']); // the script is known to Redis: one command for each page
  // The first page is of 200 events, the second of those behind them.
  const isPage = (sent: string): boolean => /evalsha/i.test(sent) && sent.includes(':recorded');
  const proxy = await startRedisProxy(redis.url, { at: isPage, when: 'before', nth: 2 });
  try {
    const running = rig.cli(['reconcile', '--target', 'receipts', '--json'], { redisUrl: proxy.url });
    await proxy.reached;
    await redis.kill();
    const cut = await running;
    expect(cut.code).toBe(1);
    expect(cut.json()).toMatchObject({ ok: false, stopped: true });
    const [{ findings, cursor }] = cut.json().reconciliations;
    expect(findings).toHaveLength(200);
    const { error } = JSON.parse(cut.stderr);
    expect(error.code).toBe('redis_unavailable');
    expect(error.remedy).toContain(`breakwater reconcile --cursor ${cursor}`);
    await redis.restart();
    const rest = (await rig.cli(['reconcile', '--cursor', cursor, '--json'])).json();
    expect(rest.reconciliations[0]).toMatchObject({ cursor: null, counts: { missing: 50 } });
  } finally {
    proxy.release(); // what is still connected can only be closed in peace when Redis answers
    await rig.close();
    await proxy.close();
    await redis.close();
  }
}, 60_000);

test('Ctrl-C while the ERP is being asked ends it as stopped, and neither as an error nor as an ERP that is silent', async () => {
  const stopping = new AbortController();
  const erp = createServer(() => stopping.abort()).listen(0, '127.0.0.1'); // it never answers
  await once(erp, 'listening');
  const find = `find: { path: '"/receipts/" & reference', hits: answer.receipts, receipt: hit.no }`;
  const config = ROUTED.replace('127.0.0.1:9', `127.0.0.1:${(erp.address() as AddressInfo).port}`).replace(
    `post: { path: '"/receipts"' }`,
    `post: { path: '"/receipts"' }\n      ${find}`,
  );
  try {
    await using rig = await createRig(config);
    const [id = ''] = await rig.recordEvent('evt-1', [destination('erp')]);
    await rig.attempt(id, { outcome: 'posted', class: 'posted', code: '201' });
    await rig.redis.hset(rig.keys.delivery(id), 'sentAt', Date.now() - 120_000);
    const args = ['reconcile', '--target', 'receipts', '--deep', '--json'];
    const run = await rig.cli(args, { signal: stopping.signal });
    expect(run).toMatchObject({ code: 1, stderr: '' });
    expect(run.json()).toEqual({ ok: false, stopped: true, reconciliations: [] });
  } finally {
    erp.closeAllConnections();
    erp.close();
  }
});

test.each([
  [['reconcile'], 2, 'Say which ERP target'],
  [['reconcile', '--target', 'reciepts'], 3, 'Configured: receipts'],
  [['reconcile', '--target', 'receipts', '--since', 'yesterday'], 2, 'Expected a'],
  [
    ['reconcile', '--target', 'receipts', '--since', '1h', '--until', '2h'],
    2,
    '--since must be before --until',
  ],
  [['reconcile', '--cursor', 'nonsense'], 2, 'The cursor is none that a reconciliation gave'],
])('%j is refused with what is wrong', async (args, code, words) => {
  await using rig = await createRig(ROUTED);
  const run = await rig.cli(args);
  expect(run.code).toBe(code);
  expect(run.stderr).toContain(words);
});

test('a deep reconciliation of an ERP that is down ends with 1 and says that only the records were read', async () => {
  const simulator = await startSimulator({
    host: '127.0.0.1',
    port: 0,
    logger: createLogger({ service: 'erp', level: 'silent' }),
  });
  const url = `http://127.0.0.1:${simulator.port}`;
  const config = ROUTED.replace('http://127.0.0.1:9', url).replace(
    `post: { path: '"/receipts"' }`,
    `post: { path: '"/api/receipts"' }
      list: { path: '"/api/receipts"', items: answer.receipts, reference: item.external_reference, documentId: item.receipt_no, at: item.created_at }`,
  );
  await using rig = await createRig(config);
  expect((await rig.cli(['reconcile', '--target', 'receipts', '--deep'])).stdout).toContain(
    'Compared with the ERP',
  );
  await simulator.close();
  const down = await rig.cli(['reconcile', '--target', 'receipts', '--deep']);
  expect(down.code).toBe(1);
  expect(down.stdout).toContain('could NOT be compared');
});

test('every command of the runbooks can be run as it is written there', async () => {
  await using rig = await createRig(ROUTED);
  const id = await rig.deadLetter('evt-1', destination('erp'));
  const values: Readonly<Record<string, string>> = {
    target: 'receipts',
    delivery: id,
    source: 'shop',
    'event id': 'evt-1',
    endpoint: destination('endpoint'),
  };
  expect(deliveryId(eventKey('default', 'shop', 'evt-1'), destination('erp'))).toBe(id);
  const pages = readdirSync(RUNBOOKS).map((name) => readFileSync(join(RUNBOOKS, name), 'utf8'));
  const lines = pages.flatMap((page) => {
    const fenced = [...page.matchAll(/^ *```\n(.*?)^ *```$/gms)].map((match) => match[1] ?? '');
    const prose = page.replaceAll(/^ *```\n.*?^ *```$/gms, '');
    return [
      ...fenced.flatMap((block) => block.split('\n').map((line) => line.trim())),
      ...[...prose.matchAll(/`(breakwater [^`]+)`/g)].map((match) =>
        (match[1] ?? '').replaceAll(/\s+/g, ' '),
      ),
    ].filter((line) => line.startsWith('breakwater ') && line !== 'breakwater ...');
  });
  expect(lines.length).toBeGreaterThan(10);
  const reconciles: (number | null)[] = [];
  for (const line of new Set(lines)) {
    const filled = line.replaceAll(/<([^>]+)>/g, (all, name: string) => values[name] ?? all);
    const args = [...filled.matchAll(/"([^"]*)"|(\S+)/g)].map((match) => match[1] ?? match[2] ?? '').slice(1);
    const run = await rig.cli(args);
    // Refused in the present state is an answer; not understood is a page that helps nobody at night.
    if (run.code === 2) throw new Error(`${line}: ${run.stderr}`);
    if (args[0] === 'reconcile') reconciles.push(run.code);
  }
  expect(reconciles.length).toBeGreaterThan(1);
}, 60_000);
