import { writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { CONFIG, createRig, destination, type Rig } from './support.ts';

let rig: Rig;
beforeEach(async () => {
  rig = await createRig();
});
afterEach(() => rig.close());

const ROUTED = CONFIG.replace(
  'routes: []',
  'routes: [{ source: shop, types: [order.paid], target: receipts }]',
);

test('show finds an event by its source and id, with its deliveries, and its body only when asked', async () => {
  const [id = ''] = await rig.recordEvent('evt 1/a', [destination('endpoint')], { body: '{"card":"4242"}' });
  const { json, stdout } = await rig.cli(['events', 'show', 'shop', 'evt 1/a', '--json']);
  expect(json()).toMatchObject({
    operator: 'default',
    source: 'shop',
    eventId: 'evt 1/a',
    type: 'order.paid',
    bodyBytes: 15,
    unrouted: false,
    deliveries: [{ id }],
  });
  expect(stdout).not.toContain('4242');
  expect((await rig.cli(['events', 'show', 'shop', 'evt 1/a'])).stdout).not.toContain('4242');
  expect((await rig.cli(['events', 'show', 'shop', 'evt 1/a', '--body', '--json'])).json().body).toEqual({
    encoding: 'utf8',
    text: '{"card":"4242"}',
  });
  expect((await rig.cli(['events', 'show', 'shop', 'evt 1/a', '--body'])).stdout).toContain(
    '  | {"card":"4242"}',
  );
});

test('an event of another operator, or of no one, is not found', async () => {
  await rig.recordEvent('evt_1', [destination('endpoint')]);
  expect((await rig.cli(['events', 'show', 'shop', 'evt_1', '--operator', 'other'])).code).toBe(3);
  expect((await rig.cli(['events', 'show', 'shop', 'evt_2'])).code).toBe(3);
});

test('an unrouted event is fanned out once the configuration wants it, and only once', async () => {
  await rig.recordEvent('evt_1', [], { body: '{"id":"evt_1"}' });
  await rig.recordEvent('evt_2', [], { type: 'order.lost' });
  await rig.recordEvent('evt_3', [], { operator: 'other' });
  expect((await rig.cli(['events', 'fan-out', '--json'])).json()).toMatchObject({
    fannedOut: 0,
    stillUnrouted: 2,
  });

  writeFileSync(rig.env.BREAKWATER_CONFIG, ROUTED);
  expect((await rig.cli(['events', 'fan-out', '--dry-run'])).stdout).toMatch(
    /^1 event would be fanned out.*\n1 event is still wanted by no route or endpoint\.\n/,
  );
  expect((await rig.cli(['events', 'fan-out', '--dry-run', '--json'])).json()).toMatchObject({
    dryRun: true,
    fannedOut: 1,
    stillUnrouted: 1,
  });
  expect(await rig.redis.zcard(rig.keys.unrouted)).toBe(3);
  expect((await rig.cli(['events', 'fan-out', '--source', 'api', '--json'])).json()).toMatchObject({
    fannedOut: 0,
    stillUnrouted: 0,
  });

  const { code, json } = await rig.cli(['events', 'fan-out', '--json']);
  expect(code).toBe(0);
  expect(json()).toMatchObject({
    fannedOut: 1,
    stillUnrouted: 1,
    stopped: false,
    events: [{ source: 'shop', eventId: 'evt_1', deliveries: 1 }],
  });
  const shown = (await rig.cli(['events', 'show', 'shop', 'evt_1', '--body', '--json'])).json();
  expect(shown).toMatchObject({
    unrouted: false,
    body: { text: '{"id":"evt_1"}' },
    deliveries: [{ status: 'pending', destination: { name: 'receipts' } }],
  });
  const { id } = shown.deliveries[0];
  expect((await rig.transitions.beginAttempt(id, `${id}-1`, 't')).kind).toBe('go');
  expect((await rig.cli(['events', 'fan-out', '--json'])).json()).toMatchObject({
    fannedOut: 0,
    stillUnrouted: 1,
  });
});

test('show says of an unrouted event what to do', async () => {
  await rig.recordEvent('evt_1', []);
  expect((await rig.cli(['events', 'show', 'shop', 'evt_1'])).stdout).toContain('Unrouted');
  expect((await rig.cli(['events', 'show', 'shop', 'evt_1', '--json'])).json()).toMatchObject({
    unrouted: true,
    deliveries: [],
  });
});

test('an endpoint that was added later gets the unrouted events too', async () => {
  await rig.recordEvent('evt_1', []);
  const endpoint = (
    await rig.cli(['endpoints', 'add', '--url', 'https://partner.example/hook', '--json'])
  ).json();
  expect((await rig.cli(['events', 'fan-out', '--limit', '1', '--json'])).json()).toMatchObject({
    fannedOut: 1,
  });
  expect(
    (await rig.cli(['deliveries', 'list', '--endpoint', endpoint.id, '--json'])).json().deliveries,
  ).toHaveLength(1);
});

test('events that this version cannot read are listed, and their data is not shown', async () => {
  expect((await rig.cli(['events', 'parked'])).stdout).toBe('No event is parked.\n');
  const job = `${rig.keys.queues}:events:odd`;
  await rig.redis.hset(
    job,
    'name',
    'event',
    'data',
    '{"v":99,"body":"secret"}',
    'opts',
    '{}',
    'timestamp',
    1,
  );
  await rig.redis.zadd(`${rig.keys.queues}:events:failed`, 1, 'odd');
  const { stdout } = await rig.cli(['events', 'parked']);
  expect(stdout).toMatch(/^odd .*payload version 99/m);
  expect(stdout).not.toContain('secret');
  expect((await rig.cli(['events', 'parked', '--json'])).json().parked).toHaveLength(1);
});
