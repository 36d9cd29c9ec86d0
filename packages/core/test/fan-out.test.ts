import { expect, test } from '@jest/globals';
import { BreakwaterConfig } from '@breakwater/contracts/config';
import { eventKey } from '@breakwater/contracts/ids';
import type { EventJob } from '@breakwater/contracts/jobs';
import { readEvent } from '@breakwater/store/events';
import { createSecretBox } from '@breakwater/store/secret-box';
import { addEndpoint, type NewEndpoint } from '../src/endpoints.ts';
import { createFanOut } from '../src/fan-out.ts';
import { toEventJob } from '../src/unrouted.ts';
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
