import { type HttpClient, createHttpClient } from '@breakwater/http/client';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { PostResult } from '../src/adapter.ts';
import { createHttpAdapter } from '../src/http-adapter.ts';
import { adapterConfig, changed } from './support/erp-server.ts';
import { eventOf } from './support/events.ts';
import { type Answered, startJsonServer } from './support/json-server.ts';

let client: HttpClient;
beforeAll(() => void (client = createHttpClient({})));
afterAll(() => client.close());

/** As an API that answers 200 to everything is described. */
const MEANING =
  'answer.error.code = 23505 ? "duplicate" : answer.error ? "rejected" : answer.result ? "posted" : answer.odd';

/** Readable by JSON.parse alone, but not with its large number kept exact. */
const NESTED = `{"result":7,"number":12345678901234567890,"deep":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;

async function posted(answer: Answered, meaning = MEANING): Promise<PostResult> {
  await using server = await startJsonServer(() => answer);
  const config = adapterConfig(
    server.url,
    changed('post', { meaning, answers: { posted: ['2xx'], failed: [503] }, receipt: 'answer.result' }),
  );
  return await createHttpAdapter(config, client).post({}, 'ref-1', { mayWrite: () => true }, eventOf({}));
}

describe('an answer that is read', () => {
  test.each([
    [{ json: { result: 7 } }, { kind: 'posted', receipt: '7' }],
    [{ json: { error: { code: 1 } } }, { kind: 'rejected', sample: { text: '{"error":{"code":1}}' } }],
    [{ status: 500, json: { error: { code: 23505 } } }, { kind: 'already_posted' }],
    [{ json: { odd: 'failed' } }, { kind: 'failed' }],
    [{ json: { odd: 'unknown' } }, { kind: 'unknown' }],
  ])('means what the configuration says: %j', async (answer, result) => {
    expect(await posted(answer)).toMatchObject(result);
  });

  test.each([
    [{ json: {} }, 'posted'],
    [{ status: 503, json: {} }, 'failed'],
    [{ status: 500, json: {} }, 'unknown'],
    [{ status: 401, text: '<html>' }, 'failed'],
    [{ status: 204 }, 'posted'],
  ])('about which the configuration says nothing means what its status means: %j', async (answer, kind) => {
    expect((await posted(answer)).kind).toBe(kind);
  });

  test.each([
    ['is no JSON', { text: '<html>fine</html>' }, MEANING, /no complete JSON/],
    [
      'is larger than what is read',
      { json: { result: 7, pad: 'x'.repeat(200_000) } },
      MEANING,
      /no complete JSON/,
    ],
    [
      'is given no meaning that exists',
      { json: { odd: 'perhaps' } },
      MEANING,
      /adapter\.post\.meaning: expected one of posted/,
    ],
    ['is nested beyond what can be read', { text: NESTED }, MEANING, /no complete JSON/],
    ['makes the expression fail', { json: { result: 7 } }, '$error("no")', /adapter\.post\.meaning/],
  ])('that %s proves nothing, whatever its status: unknown', async (_name, answer, meaning, words) => {
    expect(await posted(answer, meaning)).toMatchObject({
      kind: 'unknown',
      message: expect.stringMatching(words),
    });
  });
});

test('a status that says posted stands although the answer is nested beyond what can be read', async () => {
  await using server = await startJsonServer(() => ({ status: 201, text: NESTED }));
  const config = adapterConfig(
    server.url,
    changed('post', { answers: { posted: [201] }, receipt: 'answer.result' }),
  );
  const adapter = createHttpAdapter(config, client);
  expect(await adapter.post({}, 'ref-1', { mayWrite: () => true }, eventOf({}))).toMatchObject({
    kind: 'posted',
    receipt: '',
    code: '201',
  });
});

describe('a body of the configuration', () => {
  const SECRETS = { secrets: { password: 's3cret-word' } };

  test('wraps the document, for posts, look-ups and counts by POST; its secrets are masked where they are echoed', async () => {
    await using server = await startJsonServer(({ body }) => ({ status: 422, text: body }));
    const find = {
      method: 'POST',
      path: '"/rpc"',
      body: '{ "p": secrets.password, "r": reference }',
      hits: 'answer.hits',
    };
    const adapter = createHttpAdapter(
      adapterConfig(server.url, {
        ...SECRETS,
        ...changed('post', { body: '{ "p": secrets.password, "d": document }' }),
        find,
        count: { method: 'POST', path: '"/rpc"', body: '{ "count": true }', value: 'answer' },
      }),
      client,
    );
    const guard = { mayWrite: () => true };
    const results = [
      await adapter.post({ a: 1 }, 'ref-1', guard, eventOf({})),
      await adapter.find?.('ref-1', eventOf({}), {}),
    ];
    await expect(adapter.count?.()).rejects.toMatchObject({ code: 'unavailable' });
    expect(server.asked.map(({ method, body }) => [method, JSON.parse(body) as unknown])).toEqual([
      ['POST', { p: 's3cret-word', d: { a: 1 } }],
      ['POST', { p: 's3cret-word', r: 'ref-1' }],
      ['POST', { count: true }],
    ]);
    expect(JSON.stringify(results)).not.toContain('s3cret-word');
  });

  test.each([
    ['gives nothing', 'document.nowhere', 'nothing to send'],
    ['fails, quoting a secret', '$number(secrets.password)', '[redacted]'],
  ])('that %s has failed before anything is sent', async (_name, body, words) => {
    await using server = await startJsonServer(() => ({ status: 201 }));
    const config = adapterConfig(server.url, { ...SECRETS, ...changed('post', { body }) });
    const result = await createHttpAdapter(config, client).post({}, 'ref-1', { mayWrite: () => true });
    expect(result).toMatchObject({
      kind: 'failed',
      class: 'mapping',
      message: expect.stringContaining(words),
    });
    expect(JSON.stringify(result)).not.toContain('s3cret-word');
    expect(server.asked).toEqual([]);
  });

  test('of a GET is refused', () => {
    expect(() => adapterConfig('http://erp.test', changed('find', { body: '{}' }))).toThrow(/expected POST/);
  });
});

test('a look-up whose statuses are listed may read "not found" out of a 404, and any other 404 proves nothing', async () => {
  const answers: Answered[] = [
    { status: 404, json: { code: 'NONEXISTENT_ID' } },
    { status: 404, json: { code: 'NO_SUCH_ROUTE' } },
    { status: 200, json: { id: 5 } },
  ];
  await using server = await startJsonServer(() => answers.shift());
  const find = {
    path: '"/records/" & reference',
    statuses: ['2xx', 404],
    hits: 'status = 404 ? (answer.code = "NONEXISTENT_ID" ? [] : undefined) : [answer]',
    receipt: 'hit.id',
  };
  const adapter = createHttpAdapter(adapterConfig(server.url, { find }), client);
  const found = [];
  for (let times = 0; times < 3; times += 1) found.push(await adapter.find?.('ref-1', eventOf({}), {}));
  expect(found).toMatchObject([
    { kind: 'absent' },
    { kind: 'failed', class: 'lookup_failed' },
    { kind: 'found', receipts: ['5'] },
  ]);
});
