import { afterEach, expect, test } from '@jest/globals';
import { PUBLISH_LIMITS } from '@breakwater/contracts/publish';
import type { AcceptResult, IncomingEvent } from '@breakwater/core/accept';
import type { RouterDeps } from '../src/router.ts';
import { type Answer, call, codeOf, connectRaw, type Rig, startIngest } from './support.ts';

const TOKEN = 'a-token-for-tests';
const tokenOf = (value: string, operator = 'default') => ({ id: 'a', value, operator });
const open: Rig[] = [];
afterEach(async () => {
  for (const rig of open.splice(0)) await rig.close();
});

async function start(
  options: Partial<RouterDeps> & { accept?: (event: IncomingEvent) => Promise<AcceptResult> } = {},
): Promise<Rig> {
  const rig = await startIngest({}, { publishTokens: [tokenOf(TOKEN)], ...options });
  open.push(rig);
  return rig;
}

const publish = (
  rig: Rig,
  body: string | Buffer,
  headers: Record<string, string | string[]> = {},
): Promise<Answer> =>
  call(rig.port, {
    path: '/v1/events',
    body,
    headers: { authorization: `Bearer ${TOKEN}`, ...headers },
  });

interface Result {
  eventId: string | null;
  deduped?: boolean;
  error?: { code: string; message: string };
}
const resultsOf = (answer: Answer): Result[] => (JSON.parse(answer.text) as { results: Result[] }).results;
const text = (event: IncomingEvent | undefined): string => event?.bytes.toString() ?? '';
const one = (id: string, data = '{}'): string => `{"id":"${id}","type":"order.paid","data":${data}}`;
const batch = (...events: string[]): string => `{"events":[${events.join(',')}]}`;

test('a published event reaches the accept step as the source api, its data byte for byte', async () => {
  const rig = await start();
  const data = '{ "price" : 1.10,\n"big":12345678901234567890, "text":"\\u00e9 🚢 \\"}" }';
  const answer = await publish(
    rig,
    `{ "id":"evt 1", "data" : ${data} , "type":"order.paid","occurredAt":"2026-01-31T12:00:00.5+01:00" }`,
  );
  expect([answer.status, JSON.parse(answer.text)]).toEqual([
    202,
    { ok: true, results: [{ eventId: 'evt 1', deduped: false }] },
  ]);
  expect(rig.events).toEqual([
    {
      operator: 'default',
      source: 'api',
      eventId: 'evt 1',
      type: 'order.paid',
      entity: '',
      contentType: 'application/json',
      bytes: Buffer.from(data),
      receivedAt: expect.any(Number),
      occurredAt: Date.UTC(2026, 0, 31, 11, 0, 0, 500),
    },
  ]);
});

test('data may be any JSON value', async () => {
  const rig = await start();
  for (const data of ['null', '1.10', '"x"', '[]', 'false', '-0'])
    expect((await publish(rig, one('e', data))).status).toBe(202);
  expect(rig.events.map(text)).toEqual(['null', '1.10', '"x"', '[]', 'false', '-0']);
});

test('a member that is there twice is refused, as in webhooks: nobody can say which one is meant', async () => {
  const rig = await start();
  const repeated: readonly [body: string, name: string, eventId: string | null][] = [
    ['{"id":"a","id":"b","type":"t","data":1}', 'id', null],
    ['{"id":"a","type":"t","data":1,"data":2}', 'data', 'a'],
    [String.raw`{"id":"a","type":"t","\u0074ype":"u","data":1}`.replaceAll('\\\\', '\\'), 'type', 'a'],
  ];
  for (const [body, name, eventId] of repeated) {
    const alone = await publish(rig, body);
    expect([alone.status, codeOf(alone)]).toEqual([400, 'request_invalid']);
    expect(resultsOf(alone)[0]).toMatchObject({
      eventId,
      error: { message: expect.stringContaining(`${name}: it is there more than once`) },
    });
  }
  const mixed = await publish(rig, batch(one('ok'), ...repeated.map(([body]) => body)));
  expect([mixed.status, resultsOf(mixed).map(({ error }) => error?.code)]).toEqual([
    202,
    [undefined, 'request_invalid', 'request_invalid', 'request_invalid'],
  ]);
  const lists = await publish(rig, `\ufeff{"events":[${one('no')}],"events":[${one('yes')}]}`);
  expect([lists.status, codeOf(lists)]).toEqual([400, 'request_invalid']);
  expect(rig.events.map(({ eventId }) => eventId)).toEqual(['ok']);
});

test('without the token nothing is read and nobody is told more than what to send', async () => {
  const rig = await start();
  const token = TOKEN;
  for (const [authorization, code] of [
    [undefined, 'token_missing'],
    ['', 'token_missing'],
    [`Basic ${token}`, 'token_missing'],
    ['Bearer', 'token_missing'],
    [`Bearer ${token} ${token}`, 'token_missing'],
    [`Bearer ${token}x`, 'token_invalid'],
    [`Bearer ${token.slice(1)}`, 'token_invalid'],
    [[`Bearer ${token}`, `Bearer ${token}`], 'token_invalid'],
  ] as const) {
    const headers = authorization === undefined ? {} : { authorization: authorization as string | string[] };
    const answer = await call(rig.port, { path: '/v1/events', body: one('e'), headers });
    expect([authorization, answer.status, codeOf(answer), answer.headers['www-authenticate']]).toEqual([
      authorization,
      401,
      code,
      'Bearer',
    ]);
    expect(answer.text).not.toContain(token);
    expect(answer.headers['x-request-id']).toBeDefined();
  }
  expect(rig.events).toEqual([]);
  expect((await publish(rig, one('e'), { authorization: `bearer  ${token}` })).status).toBe(202);
  expect(await rig.metrics()).toContain('webhooks_received_total{source="api",outcome="rejected"} 8');
  expect(await rig.metrics()).toMatch(/webhooks_refused_total\{source="api",code="token_invalid"\} [1-8]/);
});

test('with no token configured nobody may publish, and the answer says why', async () => {
  const rig = await start({ publishTokens: [] });
  for (const authorization of ['Bearer x', 'Bearer ', 'Bearer undefined']) {
    const answer = await publish(rig, one('e'), { authorization });
    expect([answer.status, codeOf(answer)]).toEqual([401, 'token_invalid']);
    expect(answer.text).toContain('No publish token is configured here');
  }
});

test('of several tokens each publishes for its operator, so one id of two operators is two events', async () => {
  const rig = await start({
    publishTokens: [tokenOf('old', 'acme'), tokenOf('new', 'acme'), tokenOf('theirs', 'other')],
  });
  for (const token of ['old', 'new', 'theirs'])
    expect((await publish(rig, one('e'), { authorization: `Bearer ${token}` })).status).toBe(202);
  expect(rig.events.map(({ operator }) => operator)).toEqual(['acme', 'acme', 'other']);
  for (const token of ['ol', 'old,new', 'OLD'])
    expect(codeOf(await publish(rig, one('e'), { authorization: `Bearer ${token}` }))).toBe('token_invalid');
});

test('a wrong event among good ones is refused by itself, with what to correct; the others are accepted', async () => {
  const rig = await start();
  const wrong: [string, string | null, RegExp][] = [
    ['{"type":"t","data":1}', null, /id: /],
    ['{"id":"","type":"t","data":1}', '', /id: /],
    ['{"id":7,"type":"t","data":1}', null, /id: /],
    ['{"id":"n","type":"t"}', 'n', /data: it is missing/],
    ['{"id":"n","data":1}', 'n', /type: /],
    ['{"id":"n","type":"t","data":1,"occuredAt":"2026-01-31T12:00:00Z"}', 'n', /occuredAt/],
    [
      '{"id":"n","type":"t","data":1,"occurredAt":"2026-01-31"}',
      'n',
      /occurredAt: expected a time with its zone/,
    ],
    ['{"id":"n","type":"t","data":1,"occurredAt":"2026-02-30T12:00:00Z"}', 'n', /occurredAt/],
    ['{"id":"n","type":"t","data":1,"__proto__":{"id":"x"}}', 'n', /__proto__/],
    ['{"id":"\\ud83d","type":"t","data":1}', '\ufffd', /surrogate/],
    ['null', null, /event: /],
    ['[]', null, /event: /],
    [`{"id":"n","type":"t","data":${'['.repeat(501)}${']'.repeat(501)}}`, 'n', /501 levels/],
  ];
  const answer = await publish(rig, batch(one('first'), ...wrong.map(([event]) => event), one('last')));
  expect(answer.status).toBe(202);
  const results = resultsOf(answer);
  expect(results.at(0)).toEqual({ eventId: 'first', deduped: false });
  expect(results.at(-1)).toEqual({ eventId: 'last', deduped: false });
  for (const [index, [, eventId, message]] of wrong.entries()) {
    expect(results[index + 1]).toEqual({
      eventId,
      error: { code: 'request_invalid', message: expect.stringMatching(message) },
    });
  }
  expect(rig.events.map(({ eventId }) => eventId)).toEqual(['first', 'last']);
  expect(await rig.metrics()).toContain(
    `webhooks_received_total{source="api",outcome="rejected"} ${wrong.length}`,
  );
});

test('when every event is refused the request is refused, so that a single publish never looks done', async () => {
  const rig = await start();
  const single = await publish(rig, '{"id":"n","type":"t"}');
  expect([single.status, codeOf(single), resultsOf(single)[0]?.eventId]).toEqual([
    400,
    'request_invalid',
    'n',
  ]);
  const many = await publish(rig, batch('{"id":"n","type":"t"}', 'null'));
  expect([many.status, codeOf(many), resultsOf(many).length]).toEqual([400, 'request_invalid', 2]);
});

test('a body that is no request is refused as a whole, and never quoted', async () => {
  const rig = await start();
  for (const [body, code] of [
    ['', 'body_unparsable'],
    ['{"secret":', 'body_unparsable'],
    [Buffer.from([0x22, 0xff, 0x22]), 'body_unparsable'],
    [`{"a":${'['.repeat(100_000)}`, 'body_unparsable'],
    ['[]', 'request_invalid'],
    ['"secret"', 'request_invalid'],
    ['{"events":{}}', 'request_invalid'],
    ['{"events":[]}', 'request_invalid'],
    [`{"events":[${one('e')}],"secret":1}`, 'request_invalid'],
  ] as const) {
    const answer = await publish(rig, body);
    expect([body, answer.status, codeOf(answer)]).toEqual([body, 400, code]);
    expect(answer.text).not.toContain('secret');
  }
  expect(rig.events).toEqual([]);
});

test('a thousand events are taken at once, and one more is not', async () => {
  const rig = await start();
  const events = Array.from({ length: PUBLISH_LIMITS.events }, (_, index) => one(`e${index}`, String(index)));
  const answer = await publish(rig, batch(...events));
  expect(answer.status).toBe(202);
  expect(resultsOf(answer).map(({ eventId }) => eventId)).toEqual(events.map((_, index) => `e${index}`));
  expect(rig.events.map(text)).toEqual(events.map((_, index) => String(index)));
  const tooMany = await publish(rig, batch(...events, one('more')));
  expect([tooMany.status, codeOf(tooMany)]).toEqual([400, 'request_invalid']);
  expect(rig.events).toHaveLength(events.length);
});

test('what is too large is refused: an event by itself, a request before it has been read', async () => {
  const rig = await start();
  const large = `"${'é'.repeat(PUBLISH_LIMITS.dataBytes / 2)}"`;
  const answer = await publish(rig, batch(one('large', large), one('fits', large.slice(0, -2) + '"')));
  expect(resultsOf(answer)).toMatchObject([{ error: { code: 'body_too_large' } }, { deduped: false }]);
  const alone = await publish(rig, one('large', large));
  expect([alone.status, codeOf(alone)]).toEqual([413, 'body_too_large']);

  const raw = await connectRaw(rig.port);
  raw.socket.write(
    `POST /v1/events HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: ${PUBLISH_LIMITS.requestBytes + 1}\r\n\r\n{`,
  );
  expect(await raw.until(/body_too_large/)).toMatch(/HTTP\/1\.1 413 [^]*connection: close/i);
  raw.socket.destroy();
  const encoded = await publish(rig, one('e'), { 'content-encoding': 'gzip' });
  expect([encoded.status, codeOf(encoded)]).toEqual([415, 'encoding_unsupported']);
});

test('the first of equal ids in one batch is the event, and the second a duplicate that may differ', async () => {
  const known = new Map<string, string>();
  let running = 0;
  let most = 0;
  const rig = await start({
    accept: async (event) => {
      most = Math.max(most, (running += 1));
      const first = known.get(event.eventId);
      // The longer one event takes, the sooner a later one of the same id would overtake it.
      await new Promise((resolve) => setTimeout(resolve, text(event) === '1' ? 50 : 0));
      running -= 1;
      if (first !== undefined) return { kind: 'duplicate', differs: first !== text(event) };
      known.set(event.eventId, text(event));
      return { kind: 'accepted' };
    },
  });
  const answer = await publish(rig, batch(one('a', '1'), one('a', '2'), one('a', '1'), one('b', '3')));
  expect(resultsOf(answer)).toEqual([
    { eventId: 'a', deduped: false },
    { eventId: 'a', deduped: true },
    { eventId: 'a', deduped: true },
    { eventId: 'b', deduped: false },
  ]);
  expect(known.get('a')).toBe('1');
  expect(most).toBeGreaterThan(1); // others do not wait
  const metrics = await rig.metrics();
  for (const [outcome, count] of [
    ['accepted', 2],
    ['differs', 1],
    ['deduped', 1],
  ])
    expect(metrics).toContain(`webhooks_received_total{source="api",outcome="${outcome}"} ${count}`);
  expect(metrics).toContain('ack_duration_seconds_count{source="api"} 1');
});

test('one event that cannot be stored makes the request a 503, ends the trying, and a repetition loses nothing', async () => {
  const stored = new Set<string>();
  let down = true;
  const rig = await start({
    accept: async ({ eventId }) => {
      if (stored.has(eventId)) return { kind: 'duplicate', differs: false };
      if (down && stored.size >= 40) return { kind: 'unavailable', message: 'Redis is not reachable' };
      stored.add(eventId);
      return { kind: 'accepted' };
    },
  });
  const body = batch(...Array.from({ length: 200 }, (_, index) => one(`e${index}`)), 'null');
  const answer = await publish(rig, body);
  expect([answer.status, codeOf(answer), answer.headers['retry-after']]).toEqual([503, 'unavailable', '5']);
  const results = resultsOf(answer);
  expect(results.filter(({ deduped }) => deduped === false).map(({ eventId }) => eventId)).toEqual([
    ...stored,
  ]);
  expect(results.filter(({ error }) => error?.code === 'unavailable')).toHaveLength(160);
  expect(results.at(-1)?.error?.code).toBe('request_invalid');
  expect(rig.events.length).toBeLessThan(40 + 40); // and not 200: each would wait for the same Redis
  down = false;
  const again = await publish(rig, body);
  expect([again.status, stored.size]).toEqual([202, 200]);
  expect(resultsOf(again).filter(({ deduped }) => deduped)).toHaveLength(40);
});

test('a fault of ours is a 503, never a 2xx and never a 4xx', async () => {
  const rig = await start({ accept: () => Promise.reject(new Error('a bug')) });
  const answer = await publish(rig, one('e'));
  expect([answer.status, codeOf(answer)]).toEqual([503, 'unavailable']);
  expect(answer.text).not.toContain('a bug');
  expect(await rig.metrics()).toContain('webhooks_received_total{source="api",outcome="unavailable"} 1');
});

test('other methods are refused, and the description is there for everybody', async () => {
  const rig = await start();
  const answer = await call(rig.port, { method: 'GET', path: '/v1/events' });
  expect([answer.status, answer.headers['allow']]).toEqual([405, 'POST']);
  const described = await call(rig.port, { method: 'GET', path: '/v1/openapi.json' });
  expect([described.status, described.headers['content-type']]).toEqual([
    200,
    'application/json; charset=utf-8',
  ]);
  const document = JSON.parse(described.text) as {
    openapi: string;
    paths: Record<string, { post: { responses: Record<string, unknown>; security: unknown } }>;
    components: { schemas: Record<string, unknown>; securitySchemes: unknown };
  };
  expect(document.openapi).toBe('3.1.0');
  expect(Object.keys(document.paths['/v1/events']!.post.responses)).toEqual([
    '202',
    '400',
    '401',
    '405',
    '413',
    '415',
    '503',
  ]);
  const refs = [...described.text.matchAll(/"\$ref":"([^"]+)"/g)].map((match) => match[1] ?? '');
  const known = Object.keys(document.components.schemas).map((name) => `#/components/schemas/${name}`);
  expect(refs.length).toBeGreaterThan(5);
  expect(refs.filter((ref) => !known.includes(ref))).toEqual([]);
  expect(document.components.schemas['Event']).toMatchObject({
    required: ['id', 'type', 'data'],
    additionalProperties: false,
  });
});
