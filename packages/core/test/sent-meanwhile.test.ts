import { createServer } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newEndpointId, newId } from '@breakwater/contracts/ids';
import { createHttpClient } from '@breakwater/http/client';
import { closeServer, listen } from '@breakwater/runtime/listen';
import { createLogger } from '@breakwater/runtime/logger';
import { newWebhookSecret } from '@breakwater/signatures/standard-webhooks';
import { closeRedis, connectRedis, type Redis } from '@breakwater/store/connection';
import { secretIdentity, writeEndpoint } from '@breakwater/store/endpoints';
import { createKeyspace } from '@breakwater/store/keys';
import { createSecretBox } from '@breakwater/store/secret-box';
import { sharedRedisUrl } from '../../../test/support/redis.ts';
import { startClock } from '../src/attempt-clock.ts';
import { createEndpointSender } from '../src/send-to-endpoint.ts';

const keys = createKeyspace(`t-${newId()}`);
const secrets = createSecretBox([Buffer.alloc(32, 1).toString('base64')]);
let requests = 0;
const server = createServer((_request, response) => {
  requests += 1;
  response.end('ok');
});
const client = createHttpClient({});
let redis: Redis;
let url: string;
beforeAll(async () => {
  redis = connectRedis(sharedRedisUrl(), 'scripts', createLogger({ service: 'test', level: 'silent' }));
  url = `http://127.0.0.1:${await listen(server, 0, '127.0.0.1')}/`;
});
afterAll(async () => {
  client.close();
  await closeServer(server, 1_000);
  await closeRedis(redis);
});

/** Makes an attempt of a delivery whose record has this status by the time of the request. */
async function attempt(status: string, trigger: 'schedule' | 'replay') {
  const event = newId();
  const id = newEndpointId();
  const endpoint = {
    id,
    operator: 'default',
    url,
    types: ['*'],
    sources: [],
    description: '',
    body: 'envelope' as const,
  };
  const more = {
    timeoutMs: 5_000,
    maxInFlight: 1,
    scheduleMs: null,
    reference: 'event' as const,
    createdAt: 0,
  };
  const sealed = [secrets.seal(newWebhookSecret(), secretIdentity(endpoint))];
  await writeEndpoint(
    redis,
    keys,
    { ...endpoint, ...more, secrets: sealed },
    {},
    { action: 'test', actor: 'test' },
  );
  const delivery = `${event}.${id}`;
  await redis.hset(keys.delivery(delivery), 'status', status);
  const send = createEndpointSender({ redis, keys, client, secrets, signal: new AbortController().signal });
  const go = {
    delivery,
    alarmId: `${delivery}-1`,
    attempt: 2,
    trigger,
    scheduleMade: 1,
    reference: '',
    doubt: false,
    lookupFor: '',
    leaseMs: 15_000,
    bodyBytes: 0,
    probe: false,
  };
  const record = {
    key: event,
    operator: 'default',
    source: 'shop',
    eventId: 'e',
    type: 't',
    entity: '',
    contentType: '',
    receivedAt: 0,
    body: Buffer.from('{}'),
    plan: [],
  };
  return send(go, record, startClock());
}

test('nothing is sent by schedule once an earlier attempt turned out to be delivered', async () => {
  requests = 0;
  expect((await attempt('failed', 'schedule')).kind).toBe('sent');
  expect(requests).toBe(1);
  expect((await attempt('sent', 'schedule')).kind).toBe('deferred');
  expect(requests).toBe(1);
});

test('a replay that a person acknowledged is sent all the same', async () => {
  requests = 0;
  expect((await attempt('sent', 'replay')).kind).toBe('sent');
  expect(requests).toBe(1);
});
