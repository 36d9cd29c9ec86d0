import { type HttpClient, createHttpClient } from '@breakwater/http/client';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { ErpAdapter, PostGuard, PostResult } from '../src/adapter.ts';
import { createHttpAdapter } from '../src/http-adapter.ts';
import { type ErpServer, SHORT, adapterConfig, changed, startErpServer } from './support/erp-server.ts';
import { eventOf } from './support/events.ts';

const event = eventOf({ order_id: 'o-1' });
const document = { order_id: 'o-1', price: 19.99 };
const willing: PostGuard = { mayWrite: () => true };

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

const post = async (changes?: Record<string, unknown>, guard = willing): Promise<PostResult> =>
  await adapterOf(changes).post(document, 'ref-1', guard, event);

describe('a post', () => {
  test('carries the document, the credentials and the reference as idempotency key', async () => {
    server.behave({ kind: 'answer', status: 201, body: '{"receipt_no":"GR-1"}' });
    const result = await adapterOf().post(document, 'réf 1\r\nx-forged: 1', willing);
    expect(result).toMatchObject({ kind: 'posted', receipt: 'GR-1', code: '201' });
    const [request] = server.received;
    expect(request).toMatchObject({ method: 'POST', url: '/api/receipts', body: JSON.stringify(document) });
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      authorization: 'Bearer s3cret-token',
      'idempotency-key': 'r%C3%A9f%201%0D%0Ax-forged:%201',
    });
    expect(request?.headers).not.toHaveProperty('x-forged');
  });

  test.each([
    ['no JSON', '<html>created</html>', ''],
    ['empty', '', ''],
    ['JSON without a receipt', '{"ok":true}', ''],
    ['JSON with an object for a receipt', '{"receipt_no":{}}', ''],
    ['JSON with a number for a receipt', '{"receipt_no":12345678901234567890}', '12345678901234567890'],
    ['JSON behind a byte order mark', '\uFEFF{"receipt_no":"GR-1"}', 'GR-1'],
    ['larger than what is read', `{"receipt_no":"GR-1","pad":"${'x'.repeat(200_000)}"}`, ''],
  ])('that was answered 201 is posted although the body is %s', async (_name, body, receipt) => {
    server.behave({ kind: 'answer', status: 201, body });
    expect(await post()).toMatchObject({ kind: 'posted', receipt, code: '201' });
  });

  test('that was answered 201 is posted although the body breaks off', async () => {
    server.behave({ kind: 'cut_in_body', status: 201 });
    expect(await post()).toMatchObject({ kind: 'posted', receipt: '', sample: { truncated: true } });
  });

  test('that was answered 201 is posted although the expression for the receipt fails', async () => {
    server.behave({ kind: 'answer', status: 201, body: '{"receipt_no":"GR-1"}' });
    expect(await post(changed('post', { receipt: '$error("no")' }))).toMatchObject({
      kind: 'posted',
      receipt: '',
    });
  });

  test('that meets a unique constraint is a duplicate with the receipt that is there', async () => {
    server.behave({ kind: 'answer', status: 409, body: '{"receipt_no":"GR-7"}' });
    expect(await post()).toMatchObject({ kind: 'already_posted', receipt: 'GR-7', code: '409' });
  });

  test('that the ERP refuses keeps the words of the ERP', async () => {
    server.behave({ kind: 'answer', status: 422, body: '{"error":"unknown warehouse"}' });
    expect(await post()).toMatchObject({
      kind: 'rejected',
      code: '422',
      sample: { text: '{"error":"unknown warehouse"}' },
    });
  });

  test('that meets an expired password has failed, and the sample does not show it', async () => {
    server.behave({
      kind: 'answer',
      status: 401,
      body: 'bad credentials: Bearer s3cret-token (s3cret-token)',
    });
    const result = await post();
    expect(result).toMatchObject({ kind: 'failed', class: 'http_auth', code: '401' });
    expect(JSON.stringify(result)).not.toContain('s3cret-token');
  });

  test.each([
    [429, '2', 2_000],
    [503, '120', 120_000],
    [429, 'soon', undefined],
    [404, '2', undefined],
  ])('answered %i with Retry-After %s has failed with a wait of %s ms', async (status, header, wait) => {
    server.behave({ kind: 'answer', status, headers: { 'retry-after': header } });
    const result = await post();
    expect(result).toMatchObject({ kind: 'failed', code: String(status) });
    expect(result.kind === 'failed' ? result.retryAfterMs : 'other').toBe(wait);
  });

  test.each([200, 202, 302, 400, 410, 500, 502])(
    'answered %i, which nobody described, is unknown',
    async (status) => {
      server.behave({ kind: 'answer', status, headers: { location: '/elsewhere' } });
      expect(await post()).toMatchObject({ kind: 'unknown', code: String(status) });
      expect(server.received).toHaveLength(1);
    },
  );

  test('that nothing listens for has surely failed', async () => {
    const config = adapterConfig(server.url);
    await server[Symbol.asyncDispose]();
    const result = await createHttpAdapter(config, client).post(document, 'ref-1', willing);
    expect(result).toMatchObject({ kind: 'failed', class: 'connection_refused', code: 'ECONNREFUSED' });
  });

  test('whose connection is cut after the request is unknown, and is not repeated', async () => {
    server.behave({ kind: 'cut_after_request' });
    expect(await post()).toMatchObject({ kind: 'unknown' });
    expect(server.received).toHaveLength(1);
  });

  test('whose connection is cut at once is never taken for posted', async () => {
    server.behave({ kind: 'cut_on_connect' });
    // Whether bytes had left by then is the kernel's secret; both readings are honest, and neither is a success.
    expect(['unknown', 'failed']).toContain((await post()).kind);
    expect(server.received).toHaveLength(0);
  });

  test('that is not answered in time is unknown', async () => {
    server.behave({ kind: 'hang' });
    expect(await post(changed('post', SHORT))).toMatchObject({ kind: 'unknown', code: 'ETIMEDOUT' });
    expect(server.received).toHaveLength(1);
  });

  test('is withheld when the lease does not hold any more, and nothing is sent', async () => {
    server.behave({ kind: 'answer', status: 201 });
    expect(await post({}, { mayWrite: () => false })).toEqual({ kind: 'withheld', code: '' });
    expect(server.received).toHaveLength(0);
  });

  test('is withheld when the lease runs out while the connection is made', async () => {
    server.behave({ kind: 'answer', status: 201 });
    let asked = 0;
    expect(await post({}, { mayWrite: () => (asked += 1) === 1 })).toMatchObject({ kind: 'withheld' });
    expect(asked).toBeGreaterThan(1);
    expect(server.received).toHaveLength(0);
  });

  test('is withheld when the process is already stopping', async () => {
    server.behave({ kind: 'answer', status: 201 });
    expect(await post({}, { ...willing, signal: AbortSignal.abort() })).toMatchObject({ kind: 'withheld' });
    expect(server.received).toHaveLength(0);
  });

  test('is unknown when the process stops while the ERP works', async () => {
    server.behave({ kind: 'hang' });
    const stopping = new AbortController();
    const result = adapterOf(changed('post', { timeout: '30s' })).post(document, 'ref-1', {
      ...willing,
      signal: stopping.signal,
    });
    await server.nextRequest();
    stopping.abort();
    expect(await result).toMatchObject({ kind: 'unknown' });
  });

  test('may put the reference and the event into its path', async () => {
    server.behave({ kind: 'answer', status: 201 });
    const path = '"/orders/" & event.data.order_id & "/receipts/" & $encodeUrlComponent(reference)';
    await adapterOf(changed('post', { path, method: 'PUT' })).post(document, 'a/../b?c#d', willing, event);
    expect(server.received[0]).toMatchObject({
      method: 'PUT',
      url: '/orders/o-1/receipts/a%2F..%2Fb%3Fc%23d',
    });
  });

  test.each([
    ['leaves the origin', '"@evil.test/" & reference'],
    ['is no text', 'document'],
    ['is nothing', 'document.nowhere'],
    ['climbs', '"/api/../" & reference'],
    ['cannot be evaluated', '$error("no")'],
  ])('whose path %s has failed before anything is sent', async (_name, path) => {
    server.behave({ kind: 'answer', status: 201 });
    expect(await post(changed('post', { path }))).toMatchObject({
      kind: 'failed',
      class: 'mapping',
      message: expect.stringContaining('adapter.post.path'),
    });
    expect(server.received).toHaveLength(0);
  });
});
