import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type Rig, type ServiceName, startRig } from '../support/rig.ts';
import { startSubscriber, type Subscriber } from '../support/subscriber.ts';
import { waitUntil } from '../support/wait-until.ts';
import { demoSignature, orderPaid } from '../support/webhook.ts';

/** In every payload, in every form that a line could quote it in. */
const PAYLOAD = 'Ms-Miller-of-Elm-Street';
const SECRETS = {
  DEMO_WEBHOOK_SECRET: 'demo-webhook-secret',
  ADMIN_TOKEN: 'admin-token-of-this-run',
  PUBLISH_TOKEN: 'publish-token-of-this-run',
  ERP_TOKEN: 'erp-token-of-this-run',
  ENCRYPTION_KEYS: Buffer.alloc(32, 11).toString('base64'),
};
const URL_SECRET = 'secret-of-the-url';

const CONFIG = readFileSync(resolve(import.meta.dirname, '../../breakwater.config.yaml'), 'utf8')
  .replace(/# auth: \{ kind: bearer.*/, "auth: { kind: bearer, token: '${ERP_TOKEN}' }")
  .replace(
    '"lines": data.lines',
    '"lines": data.lines, "amount": $exists(data.amount) ? $number(data.amount) : 0',
  );

type Line = Readonly<Record<string, unknown>>;
const raw: { service: ServiceName; text: string }[] = [];
const lines = (): Line[] => raw.map(({ text }) => JSON.parse(text) as Line);
const attempts = (): Line[] => lines().filter(({ msg }) => msg === 'attempt');

let rig: Rig;
let subscriber: Subscriber;
let endpointSecret = '';
beforeAll(async () => {
  subscriber = await startSubscriber(500);
  rig = await startRig({
    config: CONFIG,
    schedule: '0s,1s',
    env: { ...SECRETS, LOG_LEVEL: 'trace' },
    onLine: (service, text) => void raw.push({ service, text }),
  });
  const added = await rig.json<{ secret: string }>(
    'endpoints',
    'add',
    '--url',
    `${subscriber.url}?key=${URL_SECRET}`,
    '--source',
    'demo-payments',
  );
  endpointSecret = added.secret;
}, 120_000);
afterAll(async () => {
  await rig?.close();
  await subscriber?.close();
}, 60_000);

const webhook = (body: string, signature = demoSignature(body)): Promise<Response> =>
  fetch(`${rig.ingestUrl}/webhooks/demo-payments`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', 'x-signature': signature },
  });
const publish = (body: string, token: string): Promise<Response> =>
  fetch(`${rig.ingestUrl}/v1/events`, {
    method: 'POST',
    body,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
  });
const customer = { customer: PAYLOAD };

test('every attempt is one line with its ids, and no line of any service holds a secret or a payload', async () => {
  expect(endpointSecret).toMatch(/^whsec_/);
  const good = JSON.stringify(orderPaid('evt-good', customer));
  expect((await webhook(good)).status).toBe(200);
  expect((await webhook(JSON.stringify(orderPaid('evt-good', { ...customer, another: 1 })))).status).toBe(
    200,
  ); // differs
  expect((await webhook(good, demoSignature(good, 'wrong'))).status).toBe(401);
  expect((await webhook(`{"event_id": "evt-broken", ${PAYLOAD}`)).status).toBeGreaterThanOrEqual(400);
  // A mapping whose error quotes what it could not read; and a document that the ERP refuses.
  await webhook(JSON.stringify(orderPaid('evt-mapping', { ...customer, amount: PAYLOAD })));
  await webhook(JSON.stringify(orderPaid('evt-refused', { ...customer, warehouse: '' })));
  await publish(JSON.stringify({ id: 'evt-p', type: 'order.paid', data: customer }), SECRETS.PUBLISH_TOKEN);
  expect((await publish(`{"id": "x", "data": ${PAYLOAD}`, SECRETS.PUBLISH_TOKEN)).status).toBe(400);
  expect((await publish('{}', SECRETS.ADMIN_TOKEN)).status).toBe(401);
  await waitUntil(
    async () => {
      const { deliveries } = await rig.json<{ deliveries: { status: string }[] }>('deliveries', 'list');
      return (
        deliveries.length === 6 && deliveries.every(({ status }) => ['sent', 'dead_letter'].includes(status))
      );
    },
    { what: 'every delivery to end', timeoutMs: 60_000, intervalMs: 500 },
  );
  await Promise.all(
    (['ingest', 'dispatcher', 'erp-consumer', 'console'] as const).map((name) => rig.stop(name)),
  );

  expect(new Set(raw.map(({ service }) => service)).size).toBe(4);
  const text = raw.map((line) => line.text).join('\n');
  for (const secret of [...Object.values(SECRETS), endpointSecret, endpointSecret.slice(6), URL_SECRET])
    expect(text).not.toContain(secret);
  expect(text).not.toContain(PAYLOAD);
  expect(text).not.toContain(Buffer.from(PAYLOAD).toString('base64').slice(0, 20));
  for (const line of lines()) {
    expect(line).toMatchObject({
      level: expect.any(Number),
      time: expect.any(String),
      msg: expect.any(String),
    });
    expect(['ingest', 'dispatcher', 'erp-consumer', 'console']).toContain(line['service']);
  }
  const told = attempts().map(({ eventId, destination, attempt, outcome }) =>
    [eventId, destination, attempt, outcome].join(' '),
  );
  expect(told.toSorted((a, b) => (a < b ? -1 : 1))).toEqual([
    'evt-good endpoint 1 failed',
    'evt-good endpoint 2 failed',
    'evt-good receipts 1 posted',
    'evt-mapping endpoint 1 failed',
    'evt-mapping endpoint 2 failed',
    'evt-mapping receipts 1 rejected',
    'evt-refused endpoint 1 failed',
    'evt-refused endpoint 2 failed',
    'evt-refused receipts 1 rejected',
  ]);
  for (const line of attempts())
    expect(line).toMatchObject({
      delivery: expect.any(String),
      operator: 'default',
      source: 'demo-payments',
      class: expect.any(String),
      durationMs: expect.any(Number),
    });
}, 120_000);
