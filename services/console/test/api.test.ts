import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { TOKEN_CACHE_MS } from '@breakwater/core/token-reader';
import { readLedger } from '@breakwater/store/ledger';
import {
  ADMIN,
  type Answer,
  type CallOptions,
  type Console,
  givenUpPosting,
  startConsole,
} from './api-rig.ts';

let api: Console;
beforeAll(async () => {
  api = await startConsole();
});
afterAll(() => api.close());

const as = (operator: string): string => `?operator=${operator}`;
const get = (path: string, options?: CallOptions): Promise<Answer> =>
  api.call('GET', `/api/v1${path}`, options);
const post = (path: string, body: unknown, headers: Record<string, string> = {}, token = ADMIN) =>
  api.call('POST', `/api/v1${path}`, { body, headers, token });
const codeOf = ({ status, json }: Answer): unknown[] => [status, json.error?.code];
const NEW = { url: 'https://example.com/hook', sources: ['acme-shop'] };
const add = async (body: object = {}, headers = {}): Promise<Answer> =>
  post(`/endpoints${as('acme')}`, { ...NEW, ...body }, headers);

test.each<[string, string, string, CallOptions, number, string]>([
  ['an unknown path', 'GET', '/nothing', {}, 404, 'not_found'],
  ['a path outside of the API', 'GET', '/../nothing', {}, 404, 'not_found'],
  ['a percent sign that begins nothing', 'GET', '/deliveries/%zz', {}, 400, 'request_invalid'],
  ['another method', 'PUT', '/endpoints', {}, 405, 'method_not_allowed'],
  ['another method of the document', 'POST', '/openapi.json', {}, 405, 'method_not_allowed'],
  ['no token', 'GET', '/stats', { token: '' }, 401, 'token_missing'],
  ['a wrong token', 'GET', '/stats', { token: 'wrong' }, 401, 'token_invalid'],
  ['an unknown filter', 'GET', '/deliveries?colour=red', {}, 400, 'request_invalid'],
  ['a filter given twice', 'GET', '/deliveries?source=a&source=b', {}, 400, 'request_invalid'],
  ['an endpoint and a target', 'GET', '/deliveries?endpoint=a&target=b', {}, 400, 'request_invalid'],
  ['a class that is none', 'GET', '/deliveries?class=bad_luck', {}, 400, 'request_invalid'],
  ['a time without a zone', 'GET', '/deliveries?since=2026-01-31T12:00', {}, 400, 'request_invalid'],
  ['a cursor that is none', 'GET', '/deliveries?cursor=abc', {}, 400, 'request_invalid'],
  ['an operator that is none', 'GET', '/stats?operator=a:b', {}, 400, 'request_invalid'],
  ['a limit beyond the bound', 'GET', '/audit?limit=1000', {}, 400, 'request_invalid'],
  ['no JSON', 'POST', '/endpoints', { raw: '{"url":' }, 400, 'body_unparsable'],
  ['JSON that is null', 'POST', '/endpoints', { raw: 'null' }, 400, 'request_invalid'],
  ['JSON that is a text', 'POST', '/endpoints', { raw: '"url"' }, 400, 'request_invalid'],
  [
    'an unknown member',
    'POST',
    '/endpoints',
    { body: { url: 'https://a.example', ulr: 1 } },
    400,
    'request_invalid',
  ],
  ['no body where one is needed', 'POST', '/endpoints', {}, 400, 'request_invalid'],
  [
    'a body that is too large',
    'POST',
    '/endpoints',
    { raw: `"${'x'.repeat(300_000)}"` },
    413,
    'body_too_large',
  ],
  [
    'another content type',
    'POST',
    '/endpoints',
    { raw: 'url=x', headers: { 'content-type': 'application/x-www-form-urlencoded' } },
    415,
    'content_type_unsupported',
  ],
  [
    'a content encoding',
    'POST',
    '/endpoints',
    { raw: '{}', headers: { 'content-encoding': 'gzip' } },
    415,
    'encoding_unsupported',
  ],
  ['an empty reason', 'POST', '/deliveries/x/replay', { body: { reason: ' ' } }, 400, 'request_invalid'],
  [
    'an If-Match that is none',
    'PATCH',
    '/endpoints/x',
    { body: {}, headers: { 'if-match': 'x' } },
    400,
    'request_invalid',
  ],
  ['an id that cannot be one', 'GET', `/deliveries/${'x'.repeat(300)}`, {}, 404, 'not_found'],
])('%s is refused in the one shape of errors', async (_what, method, path, options, status, code) => {
  const answer = await api.call(method, `/api/v1${path}`, options);
  expect(codeOf(answer)).toEqual([status, code]);
  const { message, details, requestId } = answer.json.error;
  expect(answer.json).toEqual({ ok: false, error: { code, message, details, requestId } });
  expect([message.length > 10, typeof details]).toEqual([true, 'object']);
  expect(answer.headers.get('x-request-id')).toBe(requestId);
  expect(/GET/.test(answer.headers.get('allow') ?? '')).toBe(status === 405);
  expect(answer.headers.get('www-authenticate')).toBe(status === 401 ? 'Bearer' : null);
});

test('every mistake of a body is told with its place, and no value', async () => {
  const answer = await post('/endpoints', { url: '', timeoutMs: 1, headers: { 'x-key': 'top\nsecret' } });
  expect(answer.json.error.details.issues.map(({ path }: { path: string }) => path)).toEqual(
    expect.arrayContaining(['url', 'timeoutMs']),
  );
  expect(answer.text).not.toContain('secret');
});

test('no answer may be taken for a page, kept by a cache or read by another site', async () => {
  for (const answer of [await get('/stats'), await get('/nothing'), await get('/openapi.json')]) {
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none'/);
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('x-powered-by')).toBeNull();
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
  }
  const preflight = await api.call('OPTIONS', '/api/v1/stats', {
    headers: { origin: 'https://elsewhere.example', 'access-control-request-method': 'GET' },
  });
  expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([405, null]);
});

test('the document is there without a token and names what the table of routes names', async () => {
  const { status, json } = await get('/openapi.json', { token: '' });
  expect([status, json.openapi]).toEqual([200, '3.1.0']);
  const named = new Set(JSON.stringify(json).match(/#\/components\/schemas\/\w+/g));
  for (const reference of named)
    expect(json.components.schemas).toHaveProperty([reference.split('/')[3] ?? '']);
  expect(Object.keys(json.paths['/api/v1/endpoints/{id}'])).toEqual(['get', 'patch', 'delete']);
});

test('a change is made for the version that its caller has seen, or not at all', async () => {
  const { json } = await add();
  const path = `/api/v1/endpoints/${json.id}${as('acme')}`;
  const read = await api.call('GET', path);
  expect(read.headers.get('etag')).toBe('"1"');
  const change = (description: string, etag: string) =>
    api.call('PATCH', path, { body: { description }, headers: { 'if-match': etag } });
  const first = await change('one', '"1"');
  expect([first.status, first.json.version, first.headers.get('etag')]).toEqual([200, 2, '"2"']);
  const late = await change('two', '"1"');
  expect(codeOf(late)).toEqual([412, 'precondition_failed']);
  expect(late.json.error.details.version).toBe(2);
  expect((await api.call('DELETE', path, { headers: { 'if-match': '"1"' } })).status).toBe(412);
  expect((await api.call('GET', path)).json.description).toBe('one');
  expect((await api.call('DELETE', `${path}&reason=over`)).json).toMatchObject({ ok: true, changed: true });
  expect((await api.call('GET', path)).status).toBe(404);
});

test('a secret is shown once, and is neither in a later answer nor in the audit log', async () => {
  const made = await add({ headers: { 'x-key': 'the-credential' } });
  expect(made.json.secret).toMatch(/^whsec_/);
  const rotated = await post(`/endpoints/${made.json.id}/rotate-secret${as('acme')}`, { overlapMs: 60_000 });
  expect([rotated.status, rotated.json.secrets.length]).toEqual([200, 2]);
  const finished = await api.call('POST', `/api/v1/endpoints/${made.json.id}/finish-rotation${as('acme')}`);
  expect(finished.json).toMatchObject({ ok: true, changed: true });
  const shown = [
    (await get(`/endpoints/${made.json.id}${as('acme')}`)).text,
    (await get(`/endpoints${as('acme')}`)).text,
    (await get('/audit?limit=200')).text,
  ].join();
  expect(shown).toContain(made.json.id);
  for (const secret of [made.json.secret, rotated.json.secret, 'the-credential'])
    expect(shown).not.toContain(secret);
});

test('a repeated creating call with one key makes one thing and gets the first answer again', async () => {
  const headers = { 'idempotency-key': 'order-4711' };
  const count = async () => (await get(`/endpoints${as('acme')}&limit=200`)).json.endpoints.length;
  const before = await count();
  const first = await add({ description: 'once' }, headers);
  const again = await add({ description: 'once' }, headers);
  expect([first.status, again.status, again.json]).toEqual([201, 201, first.json]);
  expect([first, again].map((each) => each.headers.get('idempotency-replayed'))).toEqual([null, 'true']);
  expect(await count()).toBe(before + 1);
  expect(codeOf(await add({ description: 'other' }, headers))).toEqual([422, 'idempotency_key_reused']);
  // Another token's key is another key, though it is the same text.
  const { value } = await api.token('operator:acme');
  const other = await post('/endpoints', { ...NEW, description: 'once' }, headers, value);
  expect([other.status, other.json.id === first.json.id]).toEqual([201, false]);
});

test('many calls with one key at the same time make one thing', async () => {
  const headers = { 'idempotency-key': 'at-once' };
  const answers = await Promise.all(Array.from({ length: 8 }, () => add({}, headers)));
  const made = new Set(answers.filter(({ status }) => status === 201).map(({ json }) => json.id));
  expect(made.size).toBe(1);
  const others = answers.filter(({ status }) => status !== 201).map(codeOf);
  expect(others).toEqual(others.map(() => [409, 'idempotency_open']));
});

test('a refused call gives its key back; what is stored for a key is sealed', async () => {
  const headers = { 'idempotency-key': 'refused-first' };
  expect((await add({ url: 'https://127.0.0.1.nip.invalid:0/' }, headers)).status).toBe(400);
  const made = await add({}, headers);
  expect(made.status).toBe(201);
  let stored = '';
  let cursor = '0';
  do {
    const [next, keys] = await api.redis.scan(cursor, 'MATCH', api.keys.idempotency('*'), 'COUNT', 1_000);
    cursor = next;
    for (const key of keys) stored += await api.redis.get(key);
  } while (cursor !== '0');
  expect(stored).toContain('"answer"');
  expect(stored).not.toContain(made.json.secret);
});

test('a call that never ended keeps its key: the thing may have been made', async () => {
  const headers = { 'idempotency-key': 'dies' };
  // As a process leaves it that dies between making the thing and keeping its answer.
  const made = await add({ description: 'dies' }, headers);
  let cursor = '0';
  do {
    const [next, keys] = await api.redis.scan(cursor, 'MATCH', api.keys.idempotency('*'), 'COUNT', 1_000);
    cursor = next;
    for (const key of keys) {
      const { answer: _answer, ...claim } = JSON.parse((await api.redis.get(key)) ?? '{}');
      await api.redis.set(key, JSON.stringify(claim));
    }
  } while (cursor !== '0');
  expect(made.status).toBe(201);
  const again = await add({ description: 'dies' }, headers);
  expect(codeOf(again)).toEqual([409, 'idempotency_open']);
  expect(again.headers.get('retry-after')).toBe('5');
});

test('a token that calls too often is told when to come back, and no other token notices', async () => {
  await using slow = await startConsole({ rate: { perSecond: 0.1, burst: 2 } });
  const { value } = await slow.token('read');
  const path = '/api/v1/stats';
  expect([(await slow.call('GET', path)).status, (await slow.call('GET', path)).status]).toEqual([200, 200]);
  const third = await slow.call('GET', path);
  expect(codeOf(third)).toEqual([429, 'rate_limited']);
  expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await slow.call('GET', path, { token: value })).status).toBe(200);
});

test('whoever tries tokens is slowed down', async () => {
  await using slow = await startConsole({ strangers: { perSecond: 0.1, burst: 2 } });
  const tries: unknown[] = [];
  for (let n = 0; n < 3; n += 1)
    tries.push((await slow.call('GET', '/api/v1/stats', { token: `guess-${n}` })).status);
  expect(tries).toEqual([401, 401, 429]);
  expect((await slow.call('GET', '/api/v1/stats')).status).toBe(200);
});

test('tokens are made, used, listed without their value and revoked through the API', async () => {
  const made = await post('/tokens', { name: 'night shift', scope: 'operator:acme', expiresInMs: 60_000 });
  expect([made.status, made.json.state]).toEqual([201, 'active']);
  const token = made.json.value;
  expect((await get('/endpoints', { token })).status).toBe(200);
  expect((await get('/tokens')).text).not.toContain(token.slice(4));
  const revoked = await api.call('DELETE', `/api/v1/tokens/${made.json.id}?reason=lost`);
  expect(revoked.json).toMatchObject({ changed: true, token: { state: 'revoked' } });
  api.pass(TOKEN_CACHE_MS);
  expect(codeOf(await get('/endpoints', { token }))).toEqual([401, 'token_invalid']);
});

test('every change is in the audit log: who, what, why, and what differs', async () => {
  const { token, value } = await api.token('operator:globex');
  const made = await post(
    '/endpoints',
    { url: 'https://example.com/a', sources: ['globex-shop'] },
    {},
    value,
  );
  const path = `/endpoints/${made.json.id}`;
  await api.call('PATCH', `/api/v1${path}?reason=moved`, {
    token: value,
    body: { url: 'https://example.com/b' },
  });
  await post(`${path}/pause`, { reason: 'maintenance' }, {}, value);
  await post(`${path}/resume`, { reason: 'over' }, {}, value);
  await api.call('DELETE', `/api/v1${path}?reason=gone`, { token: value });
  const { json } = await get('/audit?limit=200', { token: value });
  const own = json.entries.filter(
    ({ facts }: { facts: Record<string, string> }) => facts['destination'] === made.json.id,
  );
  expect(own.map(({ action, reason }: { action: string; reason: string }) => [action, reason])).toEqual([
    ['endpoint.remove', 'gone'],
    ['destination.resume', 'over'],
    ['destination.pause', 'maintenance'],
    ['endpoint.update', 'moved'],
    ['endpoint.add', null],
  ]);
  for (const { actor } of own) expect(actor).toBe(`token:${token.id} of operator:globex`);
  expect(own[3]).toMatchObject({
    before: { url: 'https://example.com/a' },
    after: { url: 'https://example.com/b' },
  });
});

test('the audit log pages to its end without a repetition, and by action', async () => {
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const { json }: Answer = await get(
      `/audit?limit=7&action=endpoint.*${cursor === null ? '' : `&cursor=${cursor}`}`,
    );
    for (const { id, action } of json.entries) {
      expect(action).toMatch(/^endpoint\./);
      seen.push(id);
    }
    cursor = json.nextCursor;
  } while (cursor !== null);
  expect(seen.length).toBeGreaterThan(7);
  expect(new Set(seen).size).toBe(seen.length);
});

test('a dead letter is found, understood, replayed once and resolved', async () => {
  const things = await api.things('acme');
  const { value: token } = await api.token('operator:acme');
  const found = await get(`/deliveries?status=dead_letter&class=http_5xx&event=${things.eventId}`, { token });
  expect(found.json.deliveries.map(({ id }: { id: string }) => id)).toEqual([things.delivery]);
  const one = await get(`/deliveries/${things.delivery}`, { token });
  expect(one.json.attempts[0]).toMatchObject({ class: 'http_5xx', code: '503' });
  expect(one.json.attempts[0].remedy).not.toBe('');
  const replay = () => post(`/deliveries/${things.delivery}/replay`, { reason: 'mended' }, {}, token);
  const first = await replay();
  expect([first.status, first.json.replayNotice]).toEqual([202, expect.stringContaining('not the money')]);
  expect(codeOf(await replay())).toEqual([409, 'replay_open']);
  const resolved = await post(`/deliveries/${things.delivery}/resolve`, { reason: 'by hand' }, {}, token);
  expect(resolved.json.delivery.status).toBe('resolved');
});

test('a dead letter whose document a person made at the ERP is closed as posted, and not as owed no more', async () => {
  const posting = await givenUpPosting(api, 'acme');
  const { value: token } = await api.token('operator:acme');
  const figures = async () => {
    const { postings, resolved } = await readLedger(api.redis, api.keys);
    return [postings.get('receipts') ?? 0, resolved.get('receipts') ?? 0];
  };
  const [postings = 0, resolved] = await figures();
  const wrong = await post(`/deliveries/${posting}/resolve`, { reason: 'x', posted: 'yes' }, {}, token);
  expect(codeOf(wrong)).toEqual([400, 'request_invalid']);
  const body = { reason: 'posted by hand', posted: true };
  const done = await post(`/deliveries/${posting}/resolve`, body, {}, token);
  expect(done.json.delivery.status).toBe('resolved');
  expect(await figures()).toEqual([postings + 1, resolved]);
});

test('a time in another form is refused with the forms that are taken', async () => {
  const { json } = await get(`/deliveries${as('acme')}&since=2h`);
  expect(json.error.message).toContain(
    'since: expected a time with its zone such as 2026-01-31T12:00:00Z, or ms',
  );
});

test('a time that no date can hold is refused, since whoever looked at the run later would meet an error', async () => {
  const filter = { reason: 'x', since: 8.64e15 + 1 };
  expect(codeOf(await post(`/replays${as('acme')}`, filter))).toEqual([400, 'request_invalid']);
  const far = await get(`/deliveries${as('acme')}&since=9999999999999999`);
  expect(codeOf(far)).toEqual([400, 'request_invalid']);
});

test('a bulk replay is rehearsed without a trace, begun with a reason, cancelled and resumed', async () => {
  const things = await api.things('globex');
  const { value: token } = await api.token('operator:globex');
  const wanted = { reason: 'receiver mended', endpoint: things.endpoint };
  expect(codeOf(await post('/replays', { reason: 'x' }, {}, token))).toEqual([400, 'request_invalid']);
  const before = (await get('/replays', { token })).json.replays.length;
  const plan = await post(
    '/replays',
    { ...wanted, since: 0, until: '2100-01-01T00:00:00Z', dryRun: true },
    {},
    token,
  );
  expect([plan.status, plan.json]).toEqual([
    200,
    expect.objectContaining({ dryRun: true, matched: 1, deliveries: 1 }),
  ]);
  expect((await get('/replays', { token })).json.replays).toHaveLength(before);
  const run = await post('/replays', wanted, {}, token);
  expect([run.status, run.json]).toEqual([202, expect.objectContaining({ state: 'running', matched: 1 })]);
  const cancelled = await post(`/replays/${run.json.id}/cancel`, { reason: 'not now' }, {}, token);
  expect(cancelled.json.state).toBe('cancelled');
  expect((await post(`/replays/${run.json.id}/resume`, { reason: 'now' }, {}, token)).json.state).toBe(
    'running',
  );
  expect((await post('/replays', { reason: 'x', event: 'nobody' }, {}, token)).json).toEqual({
    matched: 0,
    run: null,
  });
});

test('a reconciliation names the findings of an operator, and the fleet only to who may see all of it', async () => {
  const things = await api.things('acme');
  const { value: token } = await api.token('operator:acme');
  const own = (await get('/reconciliation', { token })).json.targets[0];
  expect(own).toMatchObject({ target: 'receipts', stale: false, fleet: null });
  expect(own.counts.missing).toBe(own.findings.length);
  expect(own.findings.map(({ eventId }: { eventId: string }) => eventId)).toContain(things.eventId);
  const all = (await get('/reconciliation')).json.targets[0];
  expect(all.fleet.events).toBe(all.counts.missing);
  expect(all.counts.missing).toBeGreaterThan(own.counts.missing);
  expect(codeOf(await get('/reconciliation?target=none', { token }))).toEqual([404, 'not_found']);
});

test('the payload of an event is shown only to who asks for it', async () => {
  const things = await api.things('acme');
  const path = `/events/${things.source}/${things.eventId}`;
  const shown = await get(`${path}${as('acme')}`);
  expect(shown.json).toMatchObject({ eventId: things.eventId, unrouted: false, deliveries: [{}, {}] });
  expect(shown.text).not.toContain('{\\"of\\"');
  expect((await get(`${path}${as('acme')}&body=true`)).json.body).toEqual({
    encoding: 'utf8',
    text: '{"of":"acme"}',
  });
});

test('what is no HTTP gets an answer, and the server goes on', async () => {
  const socket = connect(api.port, '127.0.0.1');
  socket.end('not http at all\r\n\r\n');
  expect(await text(socket)).toMatch(/^HTTP\/1.1 400/);
  expect((await get('/stats')).status).toBe(200);
});
