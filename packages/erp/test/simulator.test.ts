import type { HttpAdapter } from '@breakwater/contracts/target-config';
import { startSimulator } from '@breakwater/erp-simulator/app';
import { type HttpClient, createHttpClient } from '@breakwater/http/client';
import { createLogger } from '@breakwater/runtime/logger';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import type { ErpAdapter, FindResult, PostResult } from '../src/adapter.ts';
import { createHttpAdapter } from '../src/http-adapter.ts';
import { demonstration } from './support/demonstration.ts';
import { eventOf } from './support/events.ts';

const event = eventOf({ order_id: 'o-1' });
const document = { external_reference: 'evt-1', order_id: 'o-1', warehouse: 'north', lines: [{ sku: 'A' }] };

let url: string;
let stop: () => Promise<void>;
let client: HttpClient;
let adapter: ErpAdapter;

beforeEach(async () => {
  const logger = createLogger({ service: 'erp-simulator', level: 'silent' });
  const simulator = await startSimulator({ host: '127.0.0.1', port: 0, logger, random: () => 0.5 });
  stop = simulator.close;
  url = `http://127.0.0.1:${simulator.port}`;
  client = createHttpClient({});
  adapter = createHttpAdapter(adapterConfig(), client);
});

afterEach(async () => {
  client.close();
  await stop();
});

/** The adapter of the demonstration's configuration. */
function adapterConfig(): HttpAdapter {
  const config = demonstration({ ERP_SIMULATOR_URL: url }).erpTargets['receipts']?.adapter;
  if (config?.kind !== 'http') throw new Error('the demonstration has no http target called receipts');
  return config;
}

async function faults(faulty: object): Promise<void> {
  const response = await fetch(`${url}/api/faults`, { method: 'PUT', body: JSON.stringify(faulty) });
  expect(response.status).toBe(200);
}

const post = async (changes: object = {}): Promise<PostResult> =>
  await adapter.post({ ...document, ...changes }, 'evt-1', { mayWrite: () => true }, event);
const find = async (): Promise<FindResult | undefined> => await adapter.find?.('evt-1', event, document);

test('a receipt is posted, found again by its reference and counted', async () => {
  expect(await find()).toEqual({ kind: 'absent' });
  expect(await adapter.count?.()).toBe(0);
  expect(await post()).toMatchObject({ kind: 'posted', receipt: 'GR-000001', code: '201' });
  expect(await find()).toEqual({ kind: 'found', receipts: ['GR-000001'], belongs: true });
  expect(await adapter.count?.()).toBe(1);
});

test('a posting whose answer was lost is unknown, and the look-up finds it', async () => {
  await faults({ dropAfterPost: 1 });
  expect(await post()).toMatchObject({ kind: 'unknown' });
  expect(await find()).toMatchObject({ kind: 'found', belongs: true });
  expect(await adapter.count?.()).toBe(1);
});

test('an internal error is unknown, although this one was not applied', async () => {
  await faults({ errorRate: 1 });
  expect(await post()).toMatchObject({ kind: 'unknown', code: '500' });
  expect(await find()).toMatchObject({ kind: 'failed', class: 'lookup_failed', code: '500' });
  await faults({});
  expect(await find()).toEqual({ kind: 'absent' });
});

test('an ERP that hangs leaves an unknown', async () => {
  await faults({ hang: true });
  const config = adapterConfig();
  const impatient = createHttpAdapter({ ...config, post: { ...config.post, timeout: 1_500 } }, client);
  const result = await impatient.post(document, 'evt-1', { mayWrite: () => true });
  expect(result).toMatchObject({ kind: 'unknown', code: 'ETIMEDOUT' });
});

test('a unique constraint answers with the receipt that is there', async () => {
  await post();
  await faults({ uniqueReference: true });
  expect(await post()).toMatchObject({ kind: 'already_posted', receipt: 'GR-000001', code: '409' });
});

test('a document without a warehouse is refused in the ERP’s own words', async () => {
  const result = await post({ warehouse: undefined });
  expect(result).toMatchObject({
    kind: 'rejected',
    code: '400',
    sample: { text: expect.stringContaining('warehouse') },
  });
});

test('a receipt of another order under our reference does not pass for ours', async () => {
  await post({ order_id: 'o-2' });
  expect(await find()).toEqual({ kind: 'found', receipts: ['GR-000001'], belongs: false });
});

test('an ERP that is down proves nothing', async () => {
  await faults({ down: true });
  expect(['unknown', 'failed']).toContain((await post()).kind);
  expect(await find()).toMatchObject({ kind: 'failed' });
});
