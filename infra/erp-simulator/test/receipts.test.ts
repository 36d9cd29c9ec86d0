import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, test } from '@jest/globals';
import { startSimulator } from '../src/app.ts';
import { defer, receiptBody, silent, start } from './support.ts';

test('a posting becomes a numbered receipt that can be found by its reference', async () => {
  const erp = await start();
  expect(await erp.post('evt-1')).toEqual({ status: 201, body: { receipt_no: 'GR-000001' } });
  expect(await erp.post('evt-2', 'south')).toEqual({ status: 201, body: { receipt_no: 'GR-000002' } });

  const found = await erp.request('GET', '/api/receipts?external_reference=evt-2');
  const receipt = {
    receipt_no: 'GR-000002',
    ...receiptBody('evt-2', 'south'),
    created_at: expect.any(String),
  };
  expect(found).toEqual({ status: 200, body: { receipts: [receipt] } });
  const absent = await erp.request('GET', '/api/receipts?external_reference=evt-3');
  expect(absent).toEqual({ status: 200, body: { receipts: [] } });
});

test('by default the same reference is accepted as often as it is posted, and counted', async () => {
  const erp = await start();
  expect(await erp.stats()).toEqual({ postings: 0, distinctReferences: 0, duplicates: 0 });
  for (const reference of ['evt-1', 'evt-1', 'evt-2', 'evt-1']) {
    expect(await erp.post(reference)).toMatchObject({ status: 201 });
  }
  expect(await erp.stats()).toEqual({ postings: 4, distinctReferences: 2, duplicates: 2 });
  const { body } = await erp.request('GET', '/api/receipts?external_reference=evt-1');
  expect(body).toMatchObject({
    receipts: [{ receipt_no: 'GR-000001' }, { receipt_no: 'GR-000002' }, { receipt_no: 'GR-000004' }],
  });
});

test('an Idempotency-Key header does not help: the ERP of the story never heard of it', async () => {
  const erp = await start();
  for (let time = 0; time < 2; time++) {
    const response = await fetch(`http://127.0.0.1:${erp.simulator.port}/api/receipts`, {
      method: 'POST',
      headers: { 'idempotency-key': 'evt-1' },
      body: JSON.stringify(receiptBody('evt-1')),
    });
    expect(response.status).toBe(201);
  }
  expect(await erp.stats()).toMatchObject({ duplicates: 1 });
});

test('every duplicate of a reference is listed, not just a page of them', async () => {
  const erp = await start();
  for (let time = 0; time < 101; time++) await erp.post('evt-1');
  const { body } = await erp.request('GET', '/api/receipts?external_reference=evt-1');
  expect((body as { receipts: unknown[] }).receipts).toHaveLength(101);
});

test('all receipts can be read page by page', async () => {
  const erp = await start();
  for (let number = 1; number <= 5; number++) await erp.post(`evt-${number}`);
  const pages: string[][] = [];
  let after = '';
  do {
    const { body } = await erp.request('GET', `/api/receipts?limit=2${after && `&after=${after}`}`);
    const numbers = (body as { receipts: { receipt_no: string }[] }).receipts.map(
      (receipt) => receipt.receipt_no,
    );
    pages.push(numbers);
    after = numbers.at(-1) ?? '';
  } while (after !== '');
  expect(pages).toEqual([['GR-000001', 'GR-000002'], ['GR-000003', 'GR-000004'], ['GR-000005'], []]);
});

test('without a limit a page holds 100 receipts', async () => {
  const erp = await start();
  for (let number = 1; number <= 101; number++) await erp.post(`evt-${number}`);
  const { body } = await erp.request('GET', '/api/receipts');
  expect((body as { receipts: unknown[] }).receipts).toHaveLength(100);
});

test.each([
  ['limit=0', 'limit'],
  ['limit=1001', 'limit'],
  ['after=17', 'GR-000001'],
  ['external_reference=', 'external_reference'],
  // Ignoring it would answer all receipts, which a look-up would take for hits.
  ['reference=evt-1', 'reference'],
])('the query %s is refused with a reason', async (query, reason) => {
  const erp = await start();
  const answer = await erp.request('GET', `/api/receipts?${query}`);
  expect(answer).toEqual({ status: 400, body: { error: expect.stringContaining(reason) } });
});

test.each([
  ['no JSON', '{"external_reference":', 'JSON'],
  ['no object', '[]', 'expected object'],
  ['nothing', '', 'external_reference'],
  ['an empty reference', { ...receiptBody('') }, 'external_reference'],
  ['no order', { ...receiptBody('evt-1'), order_id: undefined }, 'order_id'],
  ['a warehouse that is no text', { ...receiptBody('evt-1'), warehouse: 7 }, 'warehouse'],
  ['lines that are no list', { ...receiptBody('evt-1'), lines: 'bolts' }, 'lines'],
])('a posting of %s is refused with a reason and not applied', async (_what, body, reason) => {
  const erp = await start();
  const answer = await erp.request('POST', '/api/receipts', body);
  expect(answer).toEqual({ status: 400, body: { error: expect.stringContaining(reason) } });
  expect(await erp.stats()).toMatchObject({ postings: 0 });
});

test('a posting of more than a megabyte is refused as such', async () => {
  const erp = await start();
  const answer = await erp.request('POST', '/api/receipts', 'x'.repeat(1_100_000));
  expect(answer).toMatchObject({ status: 413, body: { error: expect.any(String) } });
});

test('clearing forgets every receipt', async () => {
  const erp = await start();
  await erp.post('evt-1');
  expect(await erp.request('DELETE', '/api/receipts')).toEqual({ status: 204, body: undefined });
  expect(await erp.stats()).toEqual({ postings: 0, distinctReferences: 0, duplicates: 0 });
  const found = await erp.request('GET', '/api/receipts?external_reference=evt-1');
  expect(found.body).toEqual({ receipts: [] });
  expect(await erp.post('evt-1')).toMatchObject({ body: { receipt_no: 'GR-000001' } });
});

test('an unknown route is a 404 that names it', async () => {
  const erp = await start();
  const answer = await erp.request('PATCH', '/api/orders');
  expect(answer).toEqual({ status: 404, body: { error: expect.stringContaining('PATCH /api/orders') } });
});

test('a port in use is reported as such', async () => {
  const other = createServer().listen(0, '127.0.0.1');
  defer(() => other.close());
  await once(other, 'listening');
  const { port } = other.address() as { port: number };
  const starting = startSimulator({ host: '127.0.0.1', port, logger: silent });
  await expect(starting).rejects.toMatchObject({ code: 'port_taken' });
});
