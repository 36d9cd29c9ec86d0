import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { eventKey, newId } from '@breakwater/contracts/ids';
import { noteSourceUse } from '@breakwater/store/source-use';
import { type Answer, type CallOptions, type Console, refuse, startConsole } from './api-rig.ts';

let api: Console;
beforeAll(async () => {
  api = await startConsole();
});
afterAll(() => api.close());

const get = (path: string, options?: CallOptions): Promise<Answer> =>
  api.call('GET', `/api/v1${path}`, options);
const post = (path: string, body: unknown): Promise<Answer> => api.call('POST', `/api/v1${path}`, { body });
const sign = (body: string): string => createHmac('sha256', 'source-secret').update(body).digest('hex');
const audit = async (action: string): Promise<{ actor: string; reason: string }[]> =>
  (await get(`/audit?operator=acme&action=${action}`)).json.entries;

test('a source says when it was last heard of and which secrets it uses, and never their values', async () => {
  const lastSeenAt = Date.now() - 5_000;
  await noteSourceUse(api.redis, api.keys, 'acme-shop', {
    lastSeenAt,
    hours: new Map([[1, 1]]),
    secrets: [{ secret: { id: 'a', value: 'source-secret' }, lastUsedAt: lastSeenAt }],
  });
  const { json, text } = await get('/sources/acme-shop?operator=acme');
  expect(json).toMatchObject({
    name: 'acme-shop',
    lastSeenAt,
    silent: false,
    secrets: [{ id: 'a', state: 'only_one', lastUsedAt: lastSeenAt }],
  });
  expect(text).not.toContain('source-secret');
  const list = await get('/sources?operator=acme');
  expect(list.json.sources).toEqual([json]);
});

test('what was refused and is right today is accepted once, and leaves the quarantine with an entry in the audit log', async () => {
  const eventId = newId();
  const body = JSON.stringify({ id: eventId });
  const id = await refuse(api, 'acme', body, sign(body));
  const path = `/quarantine/${id}`;
  const shown = await get(`${path}?operator=acme`);
  expect(shown.json).toMatchObject({ id, headers: ['x'], now: { kind: 'accepted' } });
  expect(shown.json.body).toBeUndefined();
  expect(shown.text).not.toContain(sign(body));
  const reason = `test ${id}`;
  const rehearsed = await post(`${path}/retry?operator=acme`, { reason, dryRun: true });
  expect(rehearsed.json).toMatchObject({ ok: true, dryRun: true, result: { kind: 'accepted' } });
  expect(await api.redis.get(api.keys.dedupe(eventKey('acme', 'acme-shop', eventId)))).toBeNull();
  const retried = await post(`${path}/retry?operator=acme`, { reason });
  expect(retried.json).toEqual({
    ok: true,
    dryRun: false,
    id,
    result: { kind: 'accepted', events: [{ eventId, deduped: false }] },
  });
  expect(await api.redis.get(api.keys.dedupe(eventKey('acme', 'acme-shop', eventId)))).not.toBeNull();
  expect((await post(`${path}/retry?operator=acme`, { reason })).status).toBe(404);
  expect((await audit('quarantine.retry')).filter((entry) => entry.reason === reason)).toHaveLength(1);
});

test('what is still wrong stays, and says why', async () => {
  const body = `{"id":"${newId()}","token":"source-secret","card":"4111 1111 1111 1111"}`;
  const id = await refuse(api, 'acme', `${body}\n`, sign(body));
  const retried = await post(`/quarantine/${id}/retry?operator=acme`, { reason: 'try' });
  expect(retried.json).toMatchObject({ ok: false, result: { kind: 'refused', code: 'signature_invalid' } });
  const shown = await get(`/quarantine/${id}?operator=acme&body=true`);
  expect(shown.json.slips).toEqual([{ kind: 'body', says: expect.any(String) }]);
  // A secret that the sender put into the body is not shown to whoever looks.
  expect(shown.json.body.encoding).toBe('utf8');
  expect(shown.json.body.text).toContain('"token":"[');
  expect(shown.text).not.toContain('source-secret');
  expect(shown.text).not.toContain('4111');
});

test('every entry of the quarantine is listed once, page by page, though more come meanwhile', async () => {
  await using own = await startConsole();
  const kept: string[] = [];
  for (let n = 0; n < 7; n += 1) kept.push(await refuse(own, 'acme', `{"n":${n}}`));
  await refuse(own, 'globex', '{}');
  const listed: string[] = [];
  let cursor = '';
  do {
    const path = `/api/v1/quarantine?operator=acme&limit=3${cursor && `&cursor=${cursor}`}`;
    const { json } = await own.call('GET', path);
    listed.push(...json.entries.map((entry: { id: string }) => entry.id));
    cursor = json.nextCursor ?? '';
    await refuse(own, 'acme', '{"late":true}');
  } while (cursor !== '');
  expect(listed.toSorted()).toEqual(kept.toSorted());
  const other = await own.call('GET', '/api/v1/quarantine?operator=acme&source=globex-shop');
  expect([other.status, other.json.error.code]).toEqual([404, 'not_found']);
});

test('a breaker is opened and closed by an administrator, audited, and everybody whom it concerns sees it', async () => {
  const state = async (token?: string) =>
    (await get('/breakers?target=receipts', token === undefined ? {} : { token })).json.breakers[0];
  expect(await state()).toMatchObject({ target: 'receipts', state: 'closed', forced: false });
  const body = { reason: `for the test ${newId()}` };
  const opened = await post('/breakers/receipts/open?operator=acme', body);
  expect(opened.json).toMatchObject({ ok: true, changed: true, breaker: { state: 'open', forced: true } });
  expect((await post('/breakers/receipts/open?operator=acme', body)).json.changed).toBe(false);
  const { value } = await api.token('read:acme');
  expect(await state(value)).toMatchObject({ state: 'open', forced: true, waiting: null });
  const closed = await post('/breakers/receipts/close?operator=acme', body);
  expect(closed.json).toMatchObject({ changed: true, breaker: { state: 'closed', waiting: 0 } });
  const entries = (await audit('destination.breaker-*')).filter(({ reason }) => reason === body.reason);
  expect(entries).toHaveLength(2);
  for (const path of ['/breakers/nobody/open', '/breakers/nobody/close'])
    expect((await post(path, body)).status).toBe(404);
});

test('dead letters come in groups, and an endpoint says how it answered of late', async () => {
  await using own = await startConsole();
  const [one, two] = [await own.things('acme'), await own.things('acme')];
  const groups = await own.call('GET', '/api/v1/dead-letters/groups?operator=acme');
  expect(groups.json.nextCursor).toBeNull();
  expect(groups.json.groups).toHaveLength(2);
  for (const { endpoint } of [one, two])
    expect(groups.json.groups).toContainEqual(
      expect.objectContaining({
        destination: { kind: 'endpoint', id: endpoint, name: endpoint },
        failureClass: 'http_5xx',
        count: 1,
        remedy: expect.stringMatching(/./),
      }),
    );
  const shown = await own.call('GET', `/api/v1/endpoints/${one.endpoint}?operator=acme`);
  expect(shown.json.recent).toEqual({ attempts: 1, sent: 0, successRate: 0 });
});
