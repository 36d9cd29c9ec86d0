import type { HttpAdapter } from '@breakwater/contracts/target-config';
import { createHttpClient } from '@breakwater/http/client';
import { afterAll, afterEach, beforeEach, expect, test } from '@jest/globals';
import { createHttpAdapter } from '../src/http-adapter.ts';
import { type ErpServer, adapterConfig, startErpServer } from './support/erp-server.ts';

let server: ErpServer;
const client = createHttpClient({});
beforeEach(async () => void (server = await startErpServer()));
afterEach(async () => await server[Symbol.asyncDispose]());
afterAll(() => client.close());

const LIST = {
  path: '"/api/receipts?since=" & since & ($exists(after) ? "&after=" & after : "")',
  items: 'answer.receipts',
  reference: 'item.ref',
  documentId: 'item.no',
  at: 'item.at',
  next: 'answer.next',
};
const config = (changes: object = {}): HttpAdapter =>
  adapterConfig(server.url, { list: { ...LIST, ...changes } });
const list = (changes: object = {}, since = 0): Promise<unknown[]> =>
  Array.fromAsync(createHttpAdapter(config(changes), client).list?.(since) ?? []);
const holds = (answer: object): void =>
  server.behave({ kind: 'answer', status: 200, body: JSON.stringify(answer) });

test('a list asks for what is newer, and leaves out what the ERP gives beyond that', async () => {
  holds({
    receipts: [
      { ref: 'old', no: 1, at: '2026-01-01T00:00:00Z' },
      { ref: 'new', no: 2, at: Date.UTC(2026, 0, 3) },
    ],
  });
  const since = Date.UTC(2026, 0, 2);
  expect(await list({}, since)).toEqual([
    { reference: 'new', documentId: '2', at: Date.UTC(2026, 0, 3), complete: true },
  ]);
  expect(server.received.map(({ url }) => url)).toEqual(['/api/receipts?since=2026-01-02T00:00:00.000Z']);
});

test('a document without effect is listed as such', async () => {
  holds({ receipts: [{ ref: 'a', no: 1, at: 1, state: 'draft' }] });
  expect(await list({ complete: 'item.state != "draft"' })).toMatchObject([{ complete: false }]);
});

test.each([
  ['leads back to a page', { receipts: [{ ref: 'a', no: 1, at: 1 }], next: 'again' }, /read already/],
  ['has no list', { error: 'rebuilding' }, /adapter\.list\.items/],
  ['has an item without a reference', { receipts: [{ no: 1, at: 1 }] }, /adapter\.list\.reference/],
  ['has an item without a time', { receipts: [{ ref: 'a', no: 1, at: 'soon' }] }, /adapter\.list\.at/],
])('a list that %s is an error, not a shorter list', async (_name, answer, message) => {
  holds(answer);
  await expect(list()).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringMatching(message),
  });
});

test('an ERP that does not answer is an error, not an empty list', async () => {
  server.behave({ kind: 'answer', status: 500, body: '{"receipts":[]}' });
  await expect(list()).rejects.toMatchObject({ code: 'unavailable' });
});

test('a broken expression is named with its place when the configuration is read', () => {
  expect(() => config({ next: 'answer.(' })).toThrow(/"list",\s+"next"/);
});
