import { expect, test } from '@jest/globals';
import { BreakwaterConfig } from '@breakwater/contracts/config';
import { eventKey } from '@breakwater/contracts/ids';
import type { EventJob } from '@breakwater/contracts/jobs';
import { createErpTargets } from '@breakwater/erp/targets';
import { createHttpClient } from '@breakwater/http/client';
import { createLogger, type Logger } from '@breakwater/runtime/logger';
import { readEvent } from '@breakwater/store/events';
import { createSecretBox } from '@breakwater/store/secret-box';
import { addEndpoint, type NewEndpoint } from '../src/endpoints.ts';
import { createFanOut } from '../src/fan-out.ts';
import { toEventJob } from '../src/unrouted.ts';
import { afterwards } from './support/acceptor.ts';
import { openWork } from './support/deliveries.ts';
import { openEndpoints } from './support/endpoints.ts';

test('an event whose body could not be read reaches nobody until a person fans it out', async () => {
  const work = openWork();
  const config = BreakwaterConfig.parse({});
  const endpoint = {
    operator: 'default',
    url: 'https://example.com/hook',
    types: ['*'],
    sources: [],
    description: '',
    body: 'raw' as const,
  };
  const secrets = createSecretBox([Buffer.alloc(32, 1).toString('base64')]);
  await addEndpoint({ ...work, config, secrets }, endpoint, 'test');
  const fanOut = createFanOut({ ...work, config, targets: new Map() });
  const job: EventJob = {
    v: 1,
    operator: 'default',
    source: 'shop',
    eventId: 'body-1',
    type: '',
    entity: '',
    contentType: '',
    receivedAt: 1,
    encoding: 'utf8',
    body: '{',
    parked: true,
  };
  const key = eventKey(job.operator, job.source, job.eventId);
  expect(await fanOut(job)).toBe(0);
  expect(await work.redis.zrange(work.keys.unrouted, 0, '-1')).toEqual([key]);

  // What others were merged into is an event like any other once it is here.
  const merged: EventJob = { ...job, v: 3, eventId: 'tr_1-x', coalesced: true };
  expect(await fanOut(merged)).toBe(0);
  const record = await readEvent(work.redis, work.keys, eventKey('default', 'shop', 'tr_1-x'));
  expect(record && toEventJob(record)).toMatchObject({ v: 1, eventId: 'tr_1-x', body: '{' });
  expect(await work.redis.zrem(work.keys.unrouted, record?.key ?? '')).toBe(1);

  const kept = await readEvent(work.redis, work.keys, key);
  expect(kept?.body.toString()).toBe('{');
  expect(kept && (await fanOut(toEventJob(kept), true))).toBe(1);
  expect(await work.redis.zcard(work.keys.unrouted)).toBe(0);
});

test('an event reaches each endpoint once whose patterns match its type and source, however many of them do', async () => {
  const work = openEndpoints();
  const wanted: Record<string, Partial<NewEndpoint>> = {
    exact: { types: ['order.paid'] },
    prefix: { types: ['order.*'] },
    all: { types: ['*'] },
    twice: { types: ['order.*', '*.paid', 'order.paid'] },
    otherType: { types: ['order.refunded', 'Order.paid', 'order', 'paid'] },
    otherSource: { types: ['*'], sources: ['bank'] },
    otherOperator: { types: ['*'], operator: 'other', sources: [] },
  };
  const names = new Map<string, string>();
  for (const [name, more] of Object.entries(wanted)) names.set((await work.add(more)).endpoint.id, name);
  const fanOut = createFanOut({ ...work, targets: new Map() });
  const job: EventJob = {
    v: 1,
    operator: 'default',
    source: 'shop',
    eventId: 'e-1',
    type: 'order.paid',
    entity: '',
    contentType: '',
    receivedAt: 1,
    encoding: 'utf8',
    body: '{}',
  };
  await fanOut(job);
  const event = await readEvent(work.redis, work.keys, eventKey('default', 'shop', 'e-1'));
  expect(event!.plan.map(({ d }) => names.get(d) ?? '').toSorted()).toEqual([
    'all',
    'exact',
    'prefix',
    'twice',
  ]);
});

test('a source without a route fills no log: its events are counted, and twenty lines a minute tell of them', async () => {
  const work = openWork();
  const told: unknown[] = [];
  const logger: Logger = Object.assign(Object.create(createLogger({ service: 'test', level: 'silent' })), {
    warn: ({ source }: { source: string }) => void told.push(source),
  });
  const fanOut = createFanOut({ ...work, logger, config: BreakwaterConfig.parse({}), targets: new Map() });
  const job = (source: string, eventId: string): EventJob => ({
    v: 1,
    operator: 'default',
    source,
    eventId,
    type: 't',
    entity: '',
    contentType: '',
    receivedAt: 1,
    encoding: 'utf8',
    body: '{}',
  });
  for (let index = 0; index < 40; index += 1) await fanOut(job('noisy', `e${index}`));
  await fanOut(job('other', 'e'));
  expect(told.filter((source) => source === 'noisy')).toHaveLength(20);
  expect(told.filter((source) => source === 'other')).toHaveLength(1);
  expect(await work.redis.zcard(work.keys.unrouted)).toBe(41);
});

const SHOP_TO_ERP = {
  routes: [{ source: 'shop', types: ['*'], target: 'erp' }],
  sources: {
    shop: {
      secrets: [{ id: 'a', value: 'a-secret-that-is-long-enough' }],
      auth: {
        kind: 'signature',
        algorithm: 'hmac-sha256',
        signature: { header: 'x-signature', encoding: 'hex' },
        signed: ['body'],
      },
      eventId: { pointer: '/id' },
    },
  },
  erpTargets: {
    erp: {
      owner: 'team',
      document: '{ "id": eventId }',
      serialKey: { pointer: '/warehouse' },
      adapter: {
        kind: 'http',
        baseUrl: 'http://127.0.0.1:9',
        post: { method: 'POST', path: '"/"', answers: { posted: [201] } },
      },
    },
  },
};

test('events that would fill the memory once they are parsed are planned in turn; one too large for it goes out without its key', async () => {
  const work = openWork();
  const config = BreakwaterConfig.parse(SHOP_TO_ERP);
  const client = createHttpClient({});
  afterwards(() => client.close());
  const targets = createErpTargets(config, client);
  const large = (eventId: string, objects: number): EventJob => ({
    v: 1,
    operator: 'default',
    source: 'shop',
    eventId,
    type: 't',
    entity: '',
    contentType: 'application/json',
    receivedAt: 1,
    encoding: 'utf8',
    body: JSON.stringify({ warehouse: 'w', lines: Array.from({ length: objects }, () => ({})) }),
  });
  const planOf = async (eventId: string) =>
    (await readEvent(work.redis, work.keys, eventKey('default', 'shop', eventId)))?.plan;
  const errors: string[] = [];
  const logger: Logger = Object.assign(Object.create(createLogger({ service: 'test', level: 'silent' })), {
    error: (_facts: unknown, message: string) => void errors.push(message),
  });
  const fanOut = createFanOut({ ...work, logger, config, targets, heapBytes: 10_000_000 });
  const turns = ['a', 'b', 'c'];
  await Promise.all([...turns.map((id) => fanOut(large(id, 30_000))), fanOut(large('too large', 100_000))]);
  for (const id of turns)
    expect(await planOf(id)).toEqual([{ d: 'erp_erp', k: expect.stringMatching(/^erp_erp\/./) }]);
  expect(await planOf('too large')).toEqual([{ d: 'erp_erp' }]);
  expect(errors).toEqual([expect.stringContaining('too large to be parsed')]);
});
