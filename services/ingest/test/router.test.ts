import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createRouter } from '../src/router.ts';
import { call, deliver, type Rig, SECRET, sign, SIGNATURE, sourceWith, startIngest } from './support.ts';

const NOW_MS = 1_700_000_000_000;
const BODY = '{"id":"evt_1","type":"paid","order":"o-7","amount":1.10}';

const timed = {
  kind: 'signature',
  algorithm: 'hmac-sha256',
  signature: { header: SIGNATURE, prefix: 'sha256=', encoding: 'hex' },
  timestamp: { header: 'x-time' },
  signed: ['timestamp', { literal: '.' }, 'body'],
};
const sources = {
  demo: sourceWith({ operator: 'acme', type: { pointer: '/type' }, entity: { pointer: '/order' } }),
  rotating: sourceWith({
    secrets: [
      { id: 'old', value: 'old' },
      { id: 'new', value: 'new' },
    ],
  }),
  timed: sourceWith({ auth: timed }),
  'unsigned-id': sourceWith({ eventId: { header: 'x-id' } }),
  'unsigned-too': sourceWith({ eventId: { header: 'x-id' } }),
};

let rig: Rig;
beforeAll(async () => {
  rig = await startIngest(sources, { now: () => NOW_MS });
});
afterAll(() => rig.close());

/** What reached the acceptor while `action` ran. */
async function acceptedDuring(action: () => Promise<unknown>): Promise<Rig['events']> {
  const before = rig.events.length;
  await action();
  return rig.events.slice(before);
}

/** A webhook with its id in a header, which nothing signs. */
async function deliverAs(source: string, id: string): Promise<void> {
  const headers = { [SIGNATURE]: sign(BODY), 'x-id': id };
  await call(rig.port, { path: `/webhooks/${source}`, body: BODY, headers });
}

describe('an accepted webhook', () => {
  test('is acknowledged with its event id', async () => {
    const answer = await deliver(rig.port, BODY);
    expect(answer.status).toBe(200);
    expect(answer.text).toBe('{"ok":true,"eventId":"evt_1","deduped":false}');
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(answer.text.length),
    });
    expect(answer.headers).not.toHaveProperty('x-powered-by');
  });

  test('reaches the acceptor with the bytes as they were sent', async () => {
    const body = ' {"id":"evt_2","type":"paid","order":"o-7","amount":1.10}\r\n';
    const [event] = await acceptedDuring(() =>
      deliver(rig.port, body, { 'content-type': 'application/json' }),
    );
    expect(event).toEqual({
      operator: 'acme',
      source: 'demo',
      eventId: 'evt_2',
      type: 'paid',
      entity: 'o-7',
      contentType: 'application/json',
      bytes: Buffer.from(body),
      receivedAt: NOW_MS,
    });
  });

  test('may be signed with either secret during a rotation', async () => {
    for (const secret of ['old', 'new']) {
      const answer = await call(rig.port, {
        path: '/webhooks/rotating',
        body: BODY,
        headers: { [SIGNATURE]: sign(BODY, secret) },
      });
      expect(answer.status).toBe(200);
    }
  });

  test('needs no content type, and any will do', async () => {
    for (const headers of [
      {},
      { 'content-type': 'text/plain' },
      { 'content-type': 'application/x-www-form-urlencoded' },
    ]) {
      expect((await deliver(rig.port, BODY, headers)).status).toBe(200);
    }
  });

  test('keeps numeric ids apart that JavaScript would round to one', async () => {
    const events = await acceptedDuring(async () => {
      await deliver(rig.port, '{"id":12345678901234567890}');
      await deliver(rig.port, '{"id":12345678901234567891}');
    });
    expect(events.map(({ eventId }) => eventId)).toEqual(['12345678901234567890', '12345678901234567891']);
  });

  test('may begin with a byte order mark, which stays in its bytes', async () => {
    const body = `\uFEFF${BODY}`;
    const [event] = await acceptedDuring(() => deliver(rig.port, body));
    expect(event).toMatchObject({ eventId: 'evt_1', bytes: Buffer.from(body) });
  });

  test('may hold names of object members', async () => {
    const answer = await deliver(
      rig.port,
      '{"__proto__":{"id":"polluted","isAdmin":true},"constructor":1,"id":"own"}',
    );
    expect(answer.text).toContain('"eventId":"own"');
    expect(({} as Record<string, unknown>)['isAdmin']).toBeUndefined();
  });

  test('may be a megabyte of nested brackets', async () => {
    const deep = `{"id":"deep","x":${'['.repeat(500_000)}${']'.repeat(500_000)}}`;
    expect((await deliver(rig.port, deep)).status).toBe(200);
    const numeric = await deliver(rig.port, deep.replace('"deep"', '1.50'));
    expect(JSON.parse(numeric.text)).toMatchObject({ ok: true, eventId: '1.50' });
  });

  test('has a replay key of its source and signed bytes exactly where its id is not signed', async () => {
    const [first, second, elsewhere, signed] = await acceptedDuring(async () => {
      await deliverAs('unsigned-id', 'first');
      await deliverAs('unsigned-id', 'second');
      await deliverAs('unsigned-too', 'first');
      await deliverAs('demo', 'first');
    });
    expect([first?.eventId, second?.eventId]).toEqual(['first', 'second']);
    expect(first?.replayKey).toMatch(/^[A-Za-z0-9]{22}$/);
    expect(second?.replayKey).toBe(first?.replayKey);
    expect(elsewhere?.replayKey).not.toBe(first?.replayKey);
    expect(signed).not.toHaveProperty('replayKey');
  });
});

describe('a webhook that is refused', () => {
  const seconds = NOW_MS / 1_000;
  const time = (value: string, signed = value): Record<string, string> => ({
    'x-time': value,
    [SIGNATURE]: sign(`${signed}.${BODY}`),
  });
  const right = sign(BODY);

  test.each([
    ['no signature', 401, 'signature_missing', {}],
    [
      'a signature of other bytes',
      401,
      'signature_invalid',
      { headers: { [SIGNATURE]: sign(BODY.replace('1.10', '1.11')) } },
    ],
    [
      'the signature of another secret',
      401,
      'signature_invalid',
      { headers: { [SIGNATURE]: sign(BODY, 'wrong') } },
    ],
    [
      'a signature without its prefix',
      401,
      'signature_invalid',
      { headers: { [SIGNATURE]: right.slice(7) } },
    ],
    [
      'a signature of the wrong length',
      401,
      'signature_invalid',
      { headers: { [SIGNATURE]: 'sha256=abcd' } },
    ],
    ['two signature headers', 401, 'signature_invalid', { headers: { [SIGNATURE]: [right, right] } }],
    [
      'a stale timestamp',
      401,
      'timestamp_out_of_tolerance',
      { path: '/webhooks/timed', headers: time(String(seconds - 301)) },
    ],
    [
      'a timestamp in the future',
      401,
      'timestamp_out_of_tolerance',
      { path: '/webhooks/timed', headers: time(String(seconds + 301)) },
    ],
    [
      'a timestamp that is no number',
      401,
      'timestamp_out_of_tolerance',
      { path: '/webhooks/timed', headers: time('abc') },
    ],
    [
      'a timestamp other than the signed one',
      401,
      'signature_invalid',
      { path: '/webhooks/timed', headers: time(String(seconds), String(seconds - 900)) },
    ],
    ['no timestamp', 401, 'signature_missing', { path: '/webhooks/timed', headers: { [SIGNATURE]: right } }],
    ['no event id', 400, 'event_id_missing', { body: '{}', headers: { [SIGNATURE]: sign('{}') } }],
    [
      'no event id header',
      400,
      'event_id_missing',
      { path: '/webhooks/unsigned-id', headers: { [SIGNATURE]: right } },
    ],
    [
      'two event id headers',
      400,
      'event_id_missing',
      { path: '/webhooks/unsigned-id', headers: { [SIGNATURE]: right, 'X-Id': ['a', 'a'] } },
    ],
    ['an empty body', 400, 'body_unparsable', { body: '', headers: { [SIGNATURE]: sign('') } }],
    [
      'a body that is no JSON',
      400,
      'body_unparsable',
      { body: 'id=1', headers: { [SIGNATURE]: sign('id=1') } },
    ],
    [
      'a body that is no UTF-8',
      400,
      'body_unparsable',
      { body: Buffer.from([0xff]), headers: { [SIGNATURE]: sign(Buffer.from([0xff])) } },
    ],
    [
      'a gzip body',
      415,
      'encoding_unsupported',
      { headers: { [SIGNATURE]: right, 'content-encoding': 'gzip' } },
    ],
    ['an unknown source', 404, 'source_unknown', { path: '/webhooks/other' }],
  ])('for %s is answered with %d %s and reaches nobody', async (_, status, code, request) => {
    let answer: Awaited<ReturnType<typeof call>> | undefined;
    const events = await acceptedDuring(async () => {
      answer = await call(rig.port, { body: BODY, ...request });
    });
    expect([answer?.status, JSON.parse(answer?.text ?? '')]).toEqual([
      status,
      { ok: false, error: { code, message: expect.any(String) } },
    ]);
    expect(answer?.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(answer?.text).not.toContain(SECRET);
    expect(answer?.text).not.toContain(right.slice(7));
    expect(events).toEqual([]);
  });

  test.each(['GET', 'PUT', 'HEAD', 'OPTIONS', 'DELETE', 'PATCH', 'PROPFIND'])(
    'for being a %s is told to use POST',
    async (method) => {
      const answer = await call(rig.port, { method });
      expect([answer.status, answer.headers.allow]).toEqual([405, 'POST']);
      const body =
        '{"ok":false,"error":{"code":"method_not_allowed","message":"Webhooks are taken by POST only."}}';
      expect(answer.text).toBe(method === 'HEAD' ? '' : body);
    },
  );

  test('has a request id, by which its log line is found', async () => {
    expect((await call(rig.port, { body: BODY })).headers['x-request-id']).toMatch(/^[A-Za-z0-9]{22}$/);
  });

  test('is not refused for the encoding identity', async () => {
    expect((await deliver(rig.port, BODY, { 'content-encoding': 'Identity' })).status).toBe(200);
  });
});

test('sources whose secrets cannot be used stop the start, all of them named', () => {
  const auth = { ...timed, key: 'hex' };
  const broken = {
    one: sourceWith({ auth, secrets: [{ id: 'a', value: 'zz' }] }),
    two: sourceWith({ auth, secrets: [{ id: 'b', value: 'z' }] }),
  };
  const create = (): unknown =>
    createRouter({ sources: broken } as unknown as Parameters<typeof createRouter>[0]);
  expect(create).toThrow(/secret a[^]*sources\.one[^]*secret b[^]*sources\.two/);
});
