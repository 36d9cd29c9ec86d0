import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createLogger } from '@breakwater/runtime/logger';
import { closeRedis, connectRedis } from '@breakwater/store/connection';
import { createKeyspace } from '@breakwater/store/keys';
import { type Rig, startRig } from '../support/rig.ts';
import { startSubscriber, type Subscriber } from '../support/subscriber.ts';
import { waitUntil } from '../support/wait-until.ts';

let rig: Rig;
const open: Subscriber[] = [];
beforeAll(async () => void (rig = await startRig({ schedule: '0s,1s,1s,1s' })), 60_000);
afterAll(async () => {
  await rig.close();
  await Promise.all(open.map((subscriber) => subscriber.close()));
}, 60_000);

interface Answer {
  ok: boolean;
  results: { eventId: string; deduped?: boolean; error?: { code: string } }[];
}

const publish = (body: string, token = 'demo-publish-token'): Promise<Response> =>
  fetch(`${rig.ingestUrl}/v1/events`, {
    method: 'POST',
    body,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    signal: AbortSignal.timeout(20_000),
  });

/** Publishes as an outbox relay does: the same bytes again, until they were taken. */
const relay = async (body: string): Promise<Answer> => {
  const response = await waitUntil(
    async () => {
      const answer = await publish(body);
      return answer.status === 202 && answer;
    },
    { what: 'the batch to be taken', timeoutMs: 30_000, intervalMs: 100 },
  );
  return (await response.json()) as Answer;
};

async function subscribe(type: string, ...more: string[]): Promise<Subscriber> {
  const subscriber = await startSubscriber(200);
  open.push(subscriber);
  await rig.cli(
    'endpoints',
    'add',
    '--url',
    subscriber.url,
    '--types',
    type,
    '--max-in-flight',
    '100',
    ...more,
  );
  return subscriber;
}

/** No double of our own making looks like JSON.stringify's: numbers, blanks and escapes that it would change. */
const dataOf = (index: number): string =>
  `{ "amount":${index}.10, "big":12345678901234567${index}, "text":"\\u00e9🚢"}`;
const published = (id: string, type: string, data: string): string =>
  `{"id":"${id}","type":"${type}","occurredAt":"2026-01-31T12:00:00+01:00","data":${data}}`;
const batchOf = (run: string, type: string, size = 1_000): string =>
  `{"events":[${Array.from({ length: size }, (_, index) => published(`${run}-${index}`, type, dataOf(index))).join(',')}]}`;

/** All of them came, and then one more that was published last: whatever was doubled would have come before it. */
async function expectExactly(
  subscriber: Subscriber,
  run: string,
  type: string,
  prefix: string,
): Promise<void> {
  await waitUntil(() => subscriber.received.length >= 1_000, { what: '1,000 deliveries', timeoutMs: 60_000 });
  expect((await publish(published(`${run}-last`, type, '0'))).status).toBe(202);
  await waitUntil(
    () => subscriber.received.some(({ headers }) => headers['webhook-id'] === `${prefix}${run}-last`),
    { what: 'the last delivery', timeoutMs: 30_000 },
  );
  const bodies = new Map(subscriber.received.map(({ headers, body }) => [headers['webhook-id'], body]));
  expect([bodies.size, subscriber.received.length]).toEqual([1_001, 1_001]);
  for (let index = 0; index < 1_000; index += 1) {
    const id = `${run}-${index}`;
    expect(bodies.get(`${prefix}${id}`)).toBe(
      `{"id":"${id}","type":"${type}","timestamp":"2026-01-31T11:00:00.000Z","data":${dataOf(index)}}`,
    );
  }
}

test('a batch of 1,000 that is published twice is delivered once, each event with its own bytes', async () => {
  const subscriber = await subscribe('twice');
  const body = batchOf('twice', 'twice');
  const [first, second] = [await relay(body), await relay(body)];
  expect(first.results.map(({ eventId }) => eventId)).toEqual(
    Array.from({ length: 1_000 }, (_, index) => `twice-${index}`),
  );
  expect(first.results.filter(({ deduped }) => deduped === false)).toHaveLength(1_000);
  expect(second.results.filter(({ deduped }) => deduped === true)).toHaveLength(1_000);
  await expectExactly(subscriber, 'twice', 'twice', 'api:');
}, 120_000);

test('when ingest is killed in the middle of a batch, a repetition loses nothing and doubles nothing', async () => {
  const subscriber = await subscribe('killed', '--source', 'api');
  const redis = connectRedis(rig.redis.url, 'scripts', createLogger({ service: 'test', level: 'silent' }));
  const keys = createKeyspace('bw');
  try {
    await rig.stop('dispatcher'); // what is accepted stays in the queue, to be counted
    const body = batchOf('killed', 'killed');
    const lost = publish(body).then(
      (response) => response.status,
      () => 'no answer',
    );
    await waitUntil(async () => (await redis.llen(keys.waitingEvents)) > 0, {
      what: 'the first events',
      intervalMs: 1,
    });
    await rig.kill('ingest');
    expect(await lost).toBe('no answer');
    const accepted = await redis.llen(keys.waitingEvents);
    expect(accepted).toBeGreaterThan(0);
    expect(accepted).toBeLessThan(1_000);

    await Promise.all([rig.start('ingest'), rig.start('dispatcher')]);
    const { results } = await relay(body);
    expect(results.filter(({ deduped }) => deduped === true)).toHaveLength(accepted);
    expect(results.filter(({ deduped }) => deduped === false)).toHaveLength(1_000 - accepted);
    await expectExactly(subscriber, 'killed', 'killed', '');
  } finally {
    await closeRedis(redis);
  }
}, 120_000);

test('one wrong event harms no other, and of two with one id the first is delivered', async () => {
  const subscriber = await subscribe('mixed', '--source', 'api');
  const answer = await relay(
    `{"events":[${published('m1', 'mixed', '1.0')},{"id":"m2","type":"mixed"},${published('m1', 'mixed', '2.0')},${published('m3', 'mixed', '3.0')}]}`,
  );
  expect(answer.results).toEqual([
    { eventId: 'm1', deduped: false },
    { eventId: 'm2', error: { code: 'request_invalid', message: expect.stringContaining('data') } },
    { eventId: 'm1', deduped: true },
    { eventId: 'm3', deduped: false },
  ]);
  await waitUntil(() => subscriber.received.length === 2, { what: 'two deliveries' });
  expect(subscriber.received.map(({ body }) => body.replace(/.*"data":/, '')).toSorted()).toEqual([
    '1.0}',
    '3.0}',
  ]);
  const metrics = await (await fetch(`${rig.opsUrl('ingest')}/metrics`)).text();
  expect(metrics).toContain('breakwater_webhooks_received_total{source="api",outcome="differs"} 1');
}, 60_000);

test('the command line publishes through the same door, byte for byte, and shows what became of it', async () => {
  const subscriber = await subscribe('by-hand', '--source', 'api');
  const args = ['--id', 'h1', '--type', 'by-hand', '--occurred-at', '2026-01-31T12:00:00Z'];
  const first = await rig.json('events', 'publish', ...args, '--data', '{ "total": 1.10 }');
  expect(first).toEqual({ ok: true, eventId: 'h1', deduped: false });
  expect(await rig.json('events', 'publish', ...args, '--data', '1')).toMatchObject({ deduped: true });
  await waitUntil(() => subscriber.received.length > 0, { what: 'the delivery' });
  expect(subscriber.received.map(({ body }) => body)).toEqual([
    '{"id":"h1","type":"by-hand","timestamp":"2026-01-31T12:00:00.000Z","data":{ "total": 1.10 }}',
  ]);
  const shown = await rig.json('events', 'show', 'api', 'h1');
  expect(shown).toMatchObject({ source: 'api', operator: 'default', occurredAt: Date.UTC(2026, 0, 31, 12) });
}, 60_000);

test('nobody publishes without the token', async () => {
  const response = await publish(published('w1', 'mixed', '1'), 'demo-admin-token');
  expect([response.status, ((await response.json()) as { error: { code: string } }).error.code]).toEqual([
    401,
    'token_invalid',
  ]);
});

test('without Redis a batch is a 503, and is taken when Redis is back', async () => {
  const subscriber = await subscribe('outage', '--source', 'api');
  const body = batchOf('outage', 'outage');
  await rig.redis.stop();
  const response = await publish(body);
  expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
  const { results } = (await response.json()) as Answer;
  expect(results.map(({ error }) => error?.code)).toEqual(Array.from({ length: 1_000 }, () => 'unavailable'));
  await rig.redis.restart();
  await relay(body);
  await expectExactly(subscriber, 'outage', 'outage', '');
}, 120_000);
