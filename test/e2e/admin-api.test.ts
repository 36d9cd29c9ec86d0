import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Rig, startRig } from '../support/rig.ts';
import { startSubscriber, type Subscriber } from '../support/subscriber.ts';
import { waitUntil } from '../support/wait-until.ts';

let rig: Rig;
let subscriber: Subscriber;
beforeAll(async () => {
  rig = await startRig({ schedule: '0s', services: ['ingest', 'dispatcher', 'console'] });
  subscriber = await startSubscriber(500);
}, 60_000);
afterAll(async () => {
  await rig.close();
  await subscriber.close();
}, 60_000);

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // oxlint-disable-next-line typescript/no-explicit-any -- its shape is the route's
  readonly json: any;
}

async function ask(url: string, method: string, token: string, body?: unknown): Promise<Answer> {
  const response = await fetch(url, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(30_000),
  });
  return { status: response.status, headers: response.headers, json: await response.json() };
}
const api = (method: string, path: string, token: string, body?: unknown): Promise<Answer> =>
  ask(`${rig.consoleUrl}/api/v1${path}`, method, token, body);
const publish = (token: string, id: string): Promise<Answer> =>
  ask(`${rig.ingestUrl}/v1/events`, 'POST', token, { id, type: 'order.paid', data: {} });
const create = async (scope: string): Promise<{ id: string; value: string }> =>
  rig.json('tokens', 'create', '--name', `of ${scope}`, '--scope', scope);

test('from the token to the mended receiver: everything that a developer needs is in the API', async () => {
  const [operator, publisher] = [await create('operator:default'), await create('publish')];
  const endpoint = await api('POST', '/endpoints', operator.value, {
    url: subscriber.url,
    types: ['order.*'],
    sources: ['api'],
  });
  expect(endpoint.status).toBe(201);
  expect((await publish(publisher.value, 'order-1')).status).toBe(202);
  const dead = await waitUntil(
    async () => {
      const { json } = await api('GET', '/deliveries?status=dead_letter&event=order-1', operator.value);
      return json.deliveries[0];
    },
    { what: 'the dead letter', timeoutMs: 30_000 },
  );
  const { json: shown } = await api('GET', `/deliveries/${dead.id}`, operator.value);
  expect(shown.attempts).toHaveLength(1);
  expect(shown.attempts[0]).toMatchObject({ class: 'http_5xx', code: '500' });

  subscriber.answer(200);
  const replay = await api('POST', `/deliveries/${dead.id}/replay`, operator.value, { reason: 'mended' });
  expect(replay.status).toBe(202);
  await waitUntil(
    async () => (await api('GET', `/deliveries/${dead.id}`, operator.value)).json.status === 'sent',
    { what: 'the delivery to be sent', timeoutMs: 30_000 },
  );
  const { json: event } = await api('GET', '/events/api/order-1', operator.value);
  expect(event.deliveries.map(({ status }: { status: string }) => status)).toEqual(['sent']);
}, 90_000);

test('a revoked token publishes nothing and opens nothing within seconds', async () => {
  const [reader, publisher] = [await create('read'), await create('publish')];
  expect([
    (await api('GET', '/stats', reader.value)).status,
    (await publish(publisher.value, 'order-2')).status,
  ]).toEqual([200, 202]);
  for (const { id } of [reader, publisher]) await rig.json('tokens', 'revoke', id, '--reason', 'lost');
  await waitUntil(async () => (await api('GET', '/stats', reader.value)).status === 401, {
    what: 'the API to refuse it',
    timeoutMs: 20_000,
  });
  await waitUntil(async () => (await publish(publisher.value, 'order-2')).status === 401, {
    what: 'ingest to refuse it',
    timeoutMs: 20_000,
  });
}, 60_000);

test('while Redis is down callers are asked to come back: 503, never 401 and never for ever', async () => {
  const [reader, publisher] = [await create('read'), await create('publish')];
  await rig.redis.kill();
  try {
    const answers = [
      await publish(publisher.value, 'order-3'),
      await api('GET', '/stats', reader.value),
      await api('GET', '/stats', 'demo-admin-token'),
    ];
    for (const { status, headers, json } of answers) {
      expect([status, json.error.code]).toEqual([503, 'unavailable']);
      expect(headers.get('retry-after')).toBe('5');
    }
  } finally {
    await rig.redis.restart();
  }
  await waitUntil(async () => (await api('GET', '/stats', reader.value)).status === 200, {
    what: 'the API to come back by itself',
    timeoutMs: 30_000,
  });
}, 90_000);
