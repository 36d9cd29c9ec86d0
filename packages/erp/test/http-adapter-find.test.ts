import { gzipSync } from 'node:zlib';
import { type HttpClient, createHttpClient } from '@breakwater/http/client';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ErpAdapter, FindResult } from '../src/adapter.ts';
import { createHttpAdapter } from '../src/http-adapter.ts';
import { type ErpServer, SHORT, adapterConfig, changed, startErpServer } from './support/erp-server.ts';
import { eventOf } from './support/events.ts';

const event = eventOf({ order_id: 'o-1' });
const document = { order_id: 'o-1', price: 19.99 };

let server: ErpServer;
let client: HttpClient;

beforeEach(async () => {
  server = await startErpServer();
  client = createHttpClient({});
});

afterEach(async () => {
  client.close();
  await server[Symbol.asyncDispose]();
});

const adapterOf = (changes?: Record<string, unknown>): ErpAdapter =>
  createHttpAdapter(adapterConfig(server.url, changes), client);

const find = async (
  changes?: Record<string, unknown>,
  reference = 'ref-1',
): Promise<FindResult | undefined> => await adapterOf(changes).find?.(reference, event, document);

/** Makes the server answer a look-up with these hits. */
const holds = (receipts: unknown): void =>
  server.behave({ kind: 'answer', status: 200, body: JSON.stringify({ receipts }) });

describe('a look-up', () => {
  test('asks for the encoded reference', async () => {
    holds([]);
    await find({}, 'a&b=c#d é');
    expect(server.received[0]?.url).toBe('/api/receipts?external_reference=a%26b%3Dc%23d%20%C3%A9');
    expect(server.received[0]).toMatchObject({ method: 'GET', body: '' });
  });

  test('that finds this event’s document names its receipt', async () => {
    holds([{ receipt_no: 'GR-1', order_id: 'o-1' }]);
    expect(await find()).toEqual({ kind: 'found', receipts: ['GR-1'], belongs: true });
  });

  test('that finds a document twice names both', async () => {
    holds([
      { receipt_no: 'GR-1', order_id: 'o-1' },
      { receipt_no: 'GR-2', order_id: 'o-1' },
    ]);
    expect(await find()).toEqual({ kind: 'found', receipts: ['GR-1', 'GR-2'], belongs: true });
  });

  test('that finds only another event’s document says so', async () => {
    holds([{ receipt_no: 'GR-1', order_id: 'o-2' }]);
    expect(await find()).toEqual({ kind: 'found', receipts: ['GR-1'], belongs: false });
  });

  test('that finds both names only ours', async () => {
    holds([
      { receipt_no: 'GR-1', order_id: 'o-2' },
      { receipt_no: 'GR-2', order_id: 'o-1' },
    ]);
    expect(await find()).toEqual({ kind: 'found', receipts: ['GR-2'], belongs: true });
  });

  test('takes every hit for ours where nothing tells them apart', async () => {
    holds([{ receipt_no: 'GR-1', order_id: 'o-2' }]);
    expect(await find(changed('find', { sameEvent: undefined }))).toMatchObject({
      kind: 'found',
      belongs: true,
    });
  });

  test('reads a filtered list of one, which JSONata unwraps', async () => {
    holds([
      { external_reference: 'ref-1', receipt_no: 'GR-1', order_id: 'o-1' },
      { external_reference: 'ref-12' },
    ]);
    const hits = 'answer.receipts[external_reference = $$.reference]';
    expect(await find(changed('find', { hits }))).toEqual({
      kind: 'found',
      receipts: ['GR-1'],
      belongs: true,
    });
  });

  test('is absent only after an empty list', async () => {
    holds([]);
    expect(await find()).toEqual({ kind: 'absent' });
  });

  test.each([
    ['an error object without a list', '{"error":"index is rebuilding"}'],
    ['null for a list', '{"receipts":null}'],
    ['no JSON', '<html>maintenance</html>'],
    ['empty', ''],
    ['too long to be read', JSON.stringify({ receipts: [], pad: 'x'.repeat(5_000_000) })],
  ])('is not absent when the answer is %s', async (_name, body) => {
    server.behave({ kind: 'answer', status: 200, body });
    expect(await find()).toMatchObject({ kind: 'failed', class: 'lookup_failed', code: '200' });
  });

  test.each([
    [204, 'lookup_failed'],
    [302, 'lookup_failed'],
    [401, 'http_auth'],
    [403, 'http_auth'],
    [404, 'lookup_failed'],
    [429, 'http_429'],
    [500, 'lookup_failed'],
  ])('is not absent when the answer is %i', async (status, failure) => {
    server.behave({ kind: 'answer', status, body: status === 204 ? '' : '{"receipts":[]}' });
    expect(await find()).toMatchObject({ kind: 'failed', class: failure, code: String(status) });
  });

  test('is not absent when the answer is no JSON, even where no list means no hits', async () => {
    server.behave({ kind: 'answer', status: 200, body: '<html>maintenance</html>' });
    expect(await find(changed('find', { hits: '[answer.receipts]' }))).toMatchObject({ kind: 'failed' });
  });

  test('is not absent when the answer breaks off', async () => {
    server.behave({ kind: 'cut_in_body', status: 200 });
    expect(await find()).toMatchObject({ kind: 'failed', class: 'lookup_failed' });
  });

  test.each([
    [
      'is nested beyond what can be read',
      `{"n":12345678901234567890,"receipts":${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
      /no complete JSON/,
    ],
    ['is made to fill the memory', `{"receipts":[${'{},'.repeat(1_300_000)}{}]}`, /no complete JSON/],
    [
      'lists all that the ERP has',
      JSON.stringify({ receipts: Array.from({ length: 1_001 }, () => ({})) }),
      /gave 1001 documents .* does the ERP filter by it/,
    ],
    ['is compressed, which nobody asked for', gzipSync('{"receipts":[]}'), /no complete JSON/],
  ])('is neither absent nor found when the answer %s', async (_name, body, words) => {
    server.behave({ kind: 'answer', status: 200, body });
    expect(await find()).toMatchObject({
      kind: 'failed',
      class: 'lookup_failed',
      message: expect.stringMatching(words),
    });
  });

  test('is not absent when the ERP hangs or cuts the connection', async () => {
    server.behave({ kind: 'hang' });
    expect(await find(changed('find', SHORT))).toMatchObject({
      kind: 'failed',
      class: 'lookup_failed',
      code: 'ETIMEDOUT',
    });
    server.behave({ kind: 'cut_after_request' });
    expect(await find()).toMatchObject({ kind: 'failed' });
  });

  test('is not absent when nothing listens', async () => {
    const config = adapterConfig(server.url);
    await server[Symbol.asyncDispose]();
    expect(await createHttpAdapter(config, client).find?.('ref-1', event, document)).toMatchObject({
      kind: 'failed',
      class: 'connection_refused',
    });
  });

  test.each(['"yes"', 'hit.nowhere', '$error("no")'])(
    'is not decided by a sameEvent of %s',
    async (sameEvent) => {
      holds([{ receipt_no: 'GR-1' }]);
      expect(await find(changed('find', { sameEvent }))).toMatchObject({
        kind: 'failed',
        class: 'lookup_failed',
      });
    },
  );

  test('waits as long as the ERP asks', async () => {
    server.behave({ kind: 'answer', status: 429, headers: { 'retry-after': '3' } });
    expect(await find()).toMatchObject({ kind: 'failed', retryAfterMs: 3_000 });
  });

  test('whose path cannot be made is a mapping failure', async () => {
    expect(await find(changed('find', { path: '"/a/../b"' }))).toMatchObject({
      kind: 'failed',
      class: 'mapping',
    });
    expect(server.received).toHaveLength(0);
  });
});

describe('the ERP’s own count', () => {
  test('is what the ERP says', async () => {
    server.behave({ kind: 'answer', status: 200, body: '{"postings":42}' });
    expect(await adapterOf().count?.()).toBe(42);
  });

  test.each([
    ['an error', 500, '{"postings":1}'],
    ['no JSON', 200, 'many'],
    ['text', 200, '{"postings":"42"}'],
    ['a fraction', 200, '{"postings":1.5}'],
    ['negative', 200, '{"postings":-1}'],
    ['missing', 200, '{}'],
  ])('is an error rather than a guess when the answer is %s', async (_name, status, body) => {
    server.behave({ kind: 'answer', status, body });
    await expect(adapterOf().count?.()).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('is an error when the ERP hangs', async () => {
    server.behave({ kind: 'hang' });
    await expect(adapterOf(changed('count', SHORT)).count?.()).rejects.toMatchObject({ code: 'unavailable' });
  });
});

const making = (changes: Record<string, unknown>) => (): ErpAdapter =>
  createHttpAdapter(adapterConfig('http://erp.test', changes), client);

describe('a configuration', () => {
  test('without look-up or count gives an adapter that says so', () => {
    const adapter = adapterOf({ find: undefined, count: undefined });
    expect(adapter.find).toBeUndefined();
    expect(adapter.count).toBeUndefined();
  });

  test('with a header that HTTP cannot carry is refused without showing its value', () => {
    expect(making({ headers: { authorization: 'Bearer hidden\n' } })).toThrow(
      /^(?!.*hidden)adapter\.headers\.authorization/s,
    );
    expect(making({ headers: { 'no name': 'x' } })).toThrow(/adapter\.headers\.no name/);
    expect(making({ headers: { 'Content-Length': '5' } })).toThrow(/adapter\.headers\.Content-Length/);
    expect(making({ idempotencyHeader: 'a b' })).toThrow(/adapter\.idempotencyHeader/);
  });

  test('that gives one status two meanings is refused', () => {
    expect(making(changed('post', { answers: { duplicate: [409], rejected: [409] } }))).toThrow(/409/);
  });
});
