import { expect, test } from '@jest/globals';
import { BreakwaterConfig } from '@breakwater/contracts/config';
import { eventKey } from '@breakwater/contracts/ids';
import type { EventJob } from '@breakwater/contracts/jobs';
import { readEvent } from '@breakwater/store/events';
import { createSecretBox } from '@breakwater/store/secret-box';
import { addEndpoint } from '../src/endpoints.ts';
import { createFanOut } from '../src/fan-out.ts';
import { toEventJob } from '../src/unrouted.ts';
import { openWork } from './support/deliveries.ts';

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
