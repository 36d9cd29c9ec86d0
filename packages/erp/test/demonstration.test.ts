import { type HttpClient, createHttpClient } from '@breakwater/http/client';
import { createEgressGuard } from '@breakwater/http/egress';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createErpTargets } from '../src/targets.ts';
import { demonstration } from './support/demonstration.ts';
import { eventOf } from './support/events.ts';

let client: HttpClient;
beforeAll(() => {
  client = createHttpClient({});
});
afterAll(() => client.close());

const paid = {
  event_id: 'evt-1',
  type: 'order.paid',
  order_id: 'order-1',
  warehouse: 'north',
  lines: [{ sku: 'A-1', quantity: 3, price: 1.1 }],
  amount: 12.5,
};

const documentOf = async (body: object): Promise<unknown> => {
  const receipts = createErpTargets(demonstration(), client).get('receipts');
  return await receipts?.mapping.document(eventOf(body), 'evt-1');
};

test('the demonstration runs without a single variable set', () => {
  const config = demonstration();
  expect(config).toMatchObject({ adminToken: 'demo-admin-token', publishToken: 'demo-publish-token' });
  expect(config.encryptionKeys).toHaveLength(1);
  expect(config.sources['demo-payments']).toMatchObject({
    secrets: [{ value: 'demo-webhook-secret' }],
    auth: [
      {
        algorithm: 'hmac-sha256',
        signature: { header: 'x-signature', prefix: 'sha256=', encoding: 'hex' },
        signed: [['body']],
      },
    ],
    eventId: [{ pointer: '/event_id' }],
    type: [{ pointer: '/type' }],
    entity: [{ pointer: '/order_id' }],
  });
  expect(config.routes).toEqual([{ source: 'demo-payments', types: ['order.paid'], target: 'receipts' }]);
  expect(config.erpTargets['receipts']).toMatchObject({
    owner: 'integration',
    settle: 10_000,
    serialKey: { pointer: '/warehouse' },
    lookup: 'always',
    dedupes: false,
    canFind: true,
    adapter: {
      baseUrl: 'http://127.0.0.1:8090',
      post: { answers: { posted: [201], duplicate: [409], rejected: [400, 422], failed: [] } },
    },
  });
});

test('every secret and address of the demonstration can be set from outside', () => {
  const key = Buffer.alloc(32, 7).toString('base64');
  const config = demonstration({
    DEMO_WEBHOOK_SECRET: 'other-secret',
    ADMIN_TOKEN: 'other-admin',
    PUBLISH_TOKEN: 'other-publish',
    ENCRYPTION_KEYS: `${key},${key}`,
    ERP_SIMULATOR_URL: 'http://erp-simulator:8090',
  });
  expect(config).toMatchObject({
    adminToken: 'other-admin',
    publishToken: 'other-publish',
    encryptionKeys: [key, key],
  });
  expect(config.sources['demo-payments']?.secrets).toEqual([{ id: 'current', value: 'other-secret' }]);
  expect(config.erpTargets['receipts']?.adapter.baseUrl).toBe('http://erp-simulator:8090');
});

test('an event of the demonstration becomes the receipt that the ERP takes', async () => {
  expect(await documentOf(paid)).toEqual({
    ok: true,
    value: {
      external_reference: 'evt-1',
      order_id: 'order-1',
      warehouse: 'north',
      lines: [{ sku: 'A-1', quantity: 3, price: 1.1 }],
    },
  });
});

test('what is missing in the event is missing in the receipt, not made up', async () => {
  const { warehouse: _warehouse, lines: _lines, ...rest } = paid;
  expect(await documentOf(rest)).toEqual({
    ok: true,
    value: { external_reference: 'evt-1', order_id: 'order-1' },
  });
});

test('endpoints on loopback are allowed, other private addresses are not', () => {
  const { egress } = demonstration();
  expect(egress.allowHttp).toBe(true);
  expect(new Set(egress.allow)).toEqual(new Set(['127.0.0.0/8', '::1/128']));
  const guard = createEgressGuard(egress);
  expect(guard.checkUrl('http://127.0.0.1:9000/hook')).toMatchObject({ ok: true });
  expect(guard.checkUrl('http://10.0.0.1/hook')).toMatchObject({ ok: false });
});
