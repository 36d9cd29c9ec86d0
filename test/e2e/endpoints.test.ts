import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startReceiver } from '@breakwater/example-receiver/app';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { type Rig, startRig } from '../support/rig.ts';
import { startSubscriber, type Subscriber } from '../support/subscriber.ts';
import { waitUntil } from '../support/wait-until.ts';
import { orderPaid } from '../support/webhook.ts';

interface Endpoint {
  id: string;
  secret: string;
}
interface Shown {
  id: string;
  status: string;
  reason: string | null;
  reference: string;
  scheduleMade: number;
  replaysMade: number;
  attempts: {
    number: number;
    trigger: string;
    outcome: string;
    class: string;
    code: string;
    startedAt: number;
    durationMs: number;
  }[];
}

let rig: Rig;
const open: Subscriber[] = [];
beforeAll(async () => void (rig = await startRig({ schedule: '0s,1s,2s,1s,1s,1s' })), 60_000);
afterAll(async () => {
  await rig.close();
  await Promise.all(open.map((subscriber) => subscriber.close()));
}, 60_000);

let serial = 0;
/** A subscriber of a type of its own, so that tests do not see each other's events. */
async function subscribe(...statuses: number[]) {
  const subscriber = await startSubscriber(...statuses);
  open.push(subscriber);
  const type = `test.case${(serial += 1)}`;
  const endpoint = await rig.json<Endpoint>('endpoints', 'add', '--url', subscriber.url, '--types', type);
  const id = `evt-${type}`;
  const delivery = async (): Promise<Shown> => {
    const { deliveries } = await rig.json<{ deliveries: { id: string }[] }>(
      'deliveries',
      'list',
      '--endpoint',
      endpoint.id,
    );
    return rig.json<Shown>('deliveries', 'show', deliveries[0]!.id);
  };
  const reaches = (status: string): Promise<Shown> =>
    waitUntil(
      async () => {
        const shown = await delivery();
        return shown.status === status && shown;
      },
      { what: `the delivery to be ${status}`, timeoutMs: 30_000, intervalMs: 200 },
    );
  return { subscriber, endpoint, id, type, delivery, reaches, send: () => rig.send(orderPaid(id, { type })) };
}

test('an endpoint that answers 500, 500, 200 is sent after three attempts at the scheduled distances', async () => {
  const { subscriber, send, reaches } = await subscribe(500, 500, 200);
  expect((await send()).status).toBe(200);
  const shown = await reaches('sent');
  expect(shown.attempts.map(({ outcome, class: cause, code }) => [outcome, cause, code])).toEqual([
    ['failed', 'http_5xx', '500'],
    ['failed', 'http_5xx', '500'],
    ['sent', 'sent', '200'],
  ]);
  const [first, second, third] = shown.attempts;
  // Never early: a wait counts from the end of the attempt before it.
  expect(second!.startedAt - (first!.startedAt + first!.durationMs)).toBeGreaterThanOrEqual(950);
  expect(third!.startedAt - (second!.startedAt + second!.durationMs)).toBeGreaterThanOrEqual(1_950);
  expect(new Set(subscriber.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(subscriber.received.map(({ headers }) => headers['breakwater-attempt'])).toEqual(['1', '2', '3']);
  expect(new Set(subscriber.received.map(({ body }) => body)).size).toBe(1);
}, 60_000);

test("what is sent verifies with the Standard Webhooks library and carries the source's own bytes", async () => {
  const { subscriber, endpoint, id, type } = await subscribe(200);
  const body = `{"event_id":${JSON.stringify(id)},"type":${JSON.stringify(type)},"amount":1.10,"big":12345678901234567890}`;
  const { demoSignature } = await import('../support/webhook.ts');
  const response = await fetch(`${rig.ingestUrl}/webhooks/demo-payments`, {
    method: 'POST',
    body,
    headers: { 'x-signature': demoSignature(body) },
  });
  expect(response.status).toBe(200);
  const [received] = await waitUntil(() => subscriber.received.length > 0 && subscriber.received, {
    what: 'the webhook',
  });
  expect(() =>
    new Webhook(endpoint.secret).verify(received!.body, received!.headers as Record<string, string>),
  ).not.toThrow();
  expect(received!.body).toContain(`"data":${body}}`);
  expect(received!.headers['webhook-id']).toBe(id);
  expect(received!.headers['breakwater-replay']).toBeUndefined();
}, 60_000);

test('410 is dead at once, and the endpoint stays active', async () => {
  const { subscriber, send, reaches } = await subscribe(410);
  await send();
  const shown = await reaches('dead_letter');
  expect(shown).toMatchObject({ reason: 'gone', attempts: [{ class: 'http_gone', code: '410' }] });
  expect(subscriber.received).toHaveLength(1);
}, 60_000);

test('six failures are a dead letter; its replay has the same webhook-id, adds an attempt, and makes it sent', async () => {
  const { subscriber, send, reaches } = await subscribe(503);
  await send();
  const dead = await reaches('dead_letter');
  expect(dead).toMatchObject({ reason: 'exhausted', scheduleMade: 6 });
  expect(dead.attempts).toHaveLength(6);
  const listed = await rig.json<{ deadLetters?: { id: string }[]; deliveries?: { id: string }[] }>(
    'dead-letters',
    'list',
  );
  expect((listed.deadLetters ?? listed.deliveries)!.map(({ id }) => id)).toContain(dead.id);

  subscriber.answer(200);
  const replay = await rig.cli(
    'dead-letters',
    'replay',
    dead.id,
    '--reason',
    'the receiver was fixed',
    '--wait',
  );
  expect(replay.code).toBe(0);
  const sent = await reaches('sent');
  expect(sent).toMatchObject({ scheduleMade: 6, replaysMade: 1 });
  expect(sent.attempts.at(-1)).toMatchObject({ number: 7, trigger: 'replay', outcome: 'sent' });
  expect(subscriber.received.at(-1)!.headers).toMatchObject({
    'breakwater-replay': 'true',
    'breakwater-attempt': '7',
  });
  expect(new Set(subscriber.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  expect(new Set(subscriber.received.map(({ body }) => body)).size).toBe(1);
}, 90_000);

test('what was sent is replayed only when it is acknowledged that the receiver dedupes', async () => {
  const { subscriber, send, reaches } = await subscribe(200);
  await send();
  const sent = await reaches('sent');
  const refused = await rig.cli('deliveries', 'replay', sent.id, '--reason', 'again');
  expect(refused.code).toBe(4);
  expect(subscriber.received).toHaveLength(1);
  const replayed = await rig.cli(
    'deliveries',
    'replay',
    sent.id,
    '--reason',
    'again',
    '--acknowledge-duplicates',
    '--wait',
  );
  expect(replayed.code).toBe(0);
  expect(subscriber.received).toHaveLength(2);
}, 60_000);

test('a delivery of an event that is sent a hundred times is made once', async () => {
  const { subscriber, send, reaches } = await subscribe(200);
  const answers = await Promise.all(Array.from({ length: 100 }, send));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 100 }, () => 200));
  const bodies = (await Promise.all(answers.map((answer) => answer.json()))) as { deduped: boolean }[];
  expect(bodies.filter(({ deduped }) => !deduped)).toHaveLength(1);
  await reaches('sent');
  expect(subscriber.received).toHaveLength(1);
}, 60_000);

test('the example receiver verifies, commits each event once, and acknowledges its duplicates', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'breakwater-receiver-'));
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const start = (port: number) =>
    startReceiver({ host: '127.0.0.1', port, secrets: [secret], inboxFile: join(dir, 'inbox.ndjson') });
  let receiver = await start(0);
  const { port } = receiver;
  const endpoint = await rig.json<Endpoint>(
    'endpoints',
    'add',
    '--url',
    `http://127.0.0.1:${port}/webhooks`,
    '--types',
    'test.receiver',
    '--secret',
    secret,
  );
  const seen = async (): Promise<{ id: string; deliveries: number }[]> =>
    (
      (await (await fetch(`http://127.0.0.1:${port}/events`)).json()) as {
        events: { id: string; deliveries: number }[];
      }
    ).events;
  try {
    await rig.send(orderPaid('received-1', { type: 'test.receiver' }));
    await waitUntil(async () => (await seen()).length === 1, { what: 'the first event' });
    await receiver.close(); // what arrives now is retried
    await rig.send(orderPaid('received-2', { type: 'test.receiver' }));
    const failed = await waitUntil(
      async () =>
        (
          await rig.json<{ deliveries: Shown[] }>('deliveries', 'list', '--endpoint', endpoint.id)
        ).deliveries.find(({ attempts }) => attempts[0]?.class === 'connection_refused'),
      { what: 'a failed attempt', intervalMs: 200 },
    );
    receiver = await start(port);
    await waitUntil(async () => (await seen()).length === 2, { what: 'the retry', timeoutMs: 20_000 });
    await waitUntil(async () => (await rig.json<Shown>('deliveries', 'show', failed.id)).status === 'sent', {
      what: 'the retry to be recorded',
      intervalMs: 200,
    });
    const again = await rig.cli(
      'deliveries',
      'replay',
      failed.id,
      '--reason',
      'a duplicate',
      '--acknowledge-duplicates',
      '--wait',
    );
    expect(again.code).toBe(0);
    expect((await seen()).find(({ id }) => id === 'received-2')).toMatchObject({ deliveries: 2 });
  } finally {
    await receiver.close();
    rmSync(dir, { recursive: true, force: true });
  }
}, 90_000);
