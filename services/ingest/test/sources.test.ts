import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from '@jest/globals';
import { Source } from '@breakwater/contracts/source-config';
import type { AcceptResult, IncomingEvent } from '@breakwater/core/accept';
import { call, codeOf, deliver, type Rig, sign, SIGNATURE, sourceWith, startIngest } from './support.ts';

let rig: Rig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

async function startWith(
  changes: Record<string, unknown>,
  accept?: (event: IncomingEvent) => Promise<AcceptResult>,
): Promise<Rig> {
  rig = await startIngest({ demo: sourceWith(changes) }, accept === undefined ? {} : { accept });
  return rig;
}

const counted = async (outcome: string): Promise<string | undefined> =>
  new RegExp(`^breakwater_webhooks_received_total\\{source="demo",outcome="${outcome}"\\} (\\d+)$`, 'm').exec(
    (await rig?.metrics()) ?? '',
  )?.[1];

describe('a batch', () => {
  const batch = { pointer: '/items' };
  const two = '{"items":[ {"id":"a","n":1.10},\r\n{"id":"b"} ]}';

  test('is as many events as it has items, each with its own bytes', async () => {
    const { port, events } = await startWith({ batch });
    const answer = await deliver(port, two);
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      200,
      {
        ok: true,
        results: [
          { eventId: 'a', deduped: false },
          { eventId: 'b', deduped: false },
        ],
      },
    ]);
    expect(events.map(({ eventId, bytes }) => [eventId, bytes.toString()])).toEqual([
      ['a', '{"id":"a","n":1.10}'],
      ['b', '{"id":"b"}'],
    ]);
    expect(await counted('accepted')).toBe('1');
  });

  test('of which one event cannot be stored is repeated whole: nothing else would bring that one back', async () => {
    const { port } = await startWith({ batch }, async ({ eventId }) =>
      eventId === 'b' ? { kind: 'unavailable', message: 'full' } : { kind: 'accepted' },
    );
    const answer = await deliver(port, two);
    expect([answer.status, codeOf(answer), answer.headers['retry-after']]).toEqual([503, 'unavailable', '5']);
  });

  test('counts as accepted while any of it is new, and as deduped when nothing is', async () => {
    const seen = new Set(['a']);
    const { port } = await startWith({ batch }, async ({ eventId }) =>
      seen.has(eventId) ? { kind: 'duplicate', differs: false } : { kind: 'accepted' },
    );
    await deliver(port, two);
    seen.add('b');
    await deliver(port, two);
    expect([await counted('accepted'), await counted('deduped')]).toEqual(['1', '1']);
  });

  test('with one item that has no id is refused before any is taken', async () => {
    const { port, events } = await startWith({ batch });
    expect(codeOf(await deliver(port, '{"items":[{"id":"a"},{}]}'))).toBe('event_id_missing');
    expect(events).toEqual([]);
  });

  test.each([
    ['nothing in it', '{"items":[]}', 'event_id_missing'],
    ['no list', '{}', 'body_unparsable'],
    [
      'more items than the source takes',
      `{"items":[${'{"id":"a"},'.repeat(100)}{"id":"b"}]}`,
      'body_unparsable',
    ],
  ])('with %s is refused', async (_, body, code) => {
    const { port } = await startWith({ batch });
    const answer = await deliver(port, body);
    expect([answer.status, codeOf(answer)]).toEqual([400, code]);
  });

  test('with nothing in it is acknowledged where the source says so, signed or not at all', async () => {
    const { port, events } = await startWith({ batch: { ...batch, empty: 'ack' } });
    expect(await deliver(port, '{"items":[]}')).toMatchObject({
      status: 200,
      text: '{"ok":true,"results":[]}',
    });
    expect((await call(port, { body: '{"items":[]}' })).status).toBe(401);
    expect(events).toEqual([]);
  });

  test('whose ids are unsigned has a replay key for each item', async () => {
    const { port, events } = await startWith({ batch, eventIdSigned: false });
    await deliver(port, two);
    await deliver(port, two);
    const keys = events.map(({ replayKey }) => replayKey);
    expect(new Set(keys).size).toBe(2);
    expect(keys.slice(0, 2)).toEqual(keys.slice(2));
  });
});

describe('a compressed body', () => {
  const body = '{"id":"evt_1"}';
  const packed = gzipSync(body);
  const gzip = (signedBytes: string) => ({ request: { encodings: ['gzip'], signedBytes } });
  const send = (port: number, bytes: Buffer, signed: Buffer | string) =>
    call(port, { body: bytes, headers: { 'content-encoding': 'gzip', [SIGNATURE]: sign(signed) } });

  test.each([
    ['decoded', body, packed],
    ['received', packed, body],
  ])('is verified over the bytes %s, and goes on decoded', async (signedBytes, right, wrong) => {
    const { port, events } = await startWith(gzip(signedBytes));
    expect((await send(port, packed, right)).status).toBe(200);
    expect((await send(port, packed, wrong)).status).toBe(401);
    expect(events.map(({ bytes }) => bytes.toString())).toEqual([body]);
  });

  test.each(['decoded', 'received'])('that inflates beyond the limit is refused: %s', async (signedBytes) => {
    const { port } = await startWith({ ...gzip(signedBytes), maxBodyBytes: 50_000 });
    const bomb = gzipSync(Buffer.alloc(20_000_000));
    expect(bomb.length).toBeLessThan(50_000);
    expect(codeOf(await send(port, bomb, signedBytes === 'received' ? bomb : ''))).toBe('body_too_large');
    expect((await send(port, packed, signedBytes === 'received' ? packed : body)).status).toBe(200);
  });

  test('that is no gzip is refused, and a plain one is still taken', async () => {
    const { port } = await startWith(gzip('decoded'));
    expect(codeOf(await send(port, Buffer.from('junk'), 'junk'))).toBe('body_unparsable');
    expect(codeOf(await send(port, packed.subarray(0, 12), body))).toBe('body_unparsable');
    expect((await deliver(port, body)).status).toBe(200);
    const answer = await call(port, { body, headers: { 'content-encoding': 'br', [SIGNATURE]: sign(body) } });
    expect([answer.status, codeOf(answer)]).toEqual([415, 'encoding_unsupported']);
  });

  test('that is authentic and no gzip is parked where the source says accept, as it came', async () => {
    const request = { encodings: ['gzip'], signedBytes: 'received' };
    const { port, events } = await startWith({ request, onUnparsable: 'accept' });
    const broken = gzipSync('{"id":"1"}').subarray(0, 20);
    const headers = { 'content-encoding': 'gzip' };
    expect((await deliver(port, broken, headers)).status).toBe(200);
    expect(events).toMatchObject([{ parked: true, bytes: broken }]);
    expect((await call(port, { body: broken, headers })).status).toBe(401);
  });

  test('gives its share of the memory back, whatever came of it', async () => {
    rig = await startIngest(
      { demo: sourceWith({ ...gzip('decoded'), maxBodyBytes: 1_000 }) },
      { maxBufferedBytes: 1_500 },
    );
    for (let round = 0; round < 5; round += 1) {
      expect((await send(rig.port, packed, body)).status).toBe(200);
      expect((await send(rig.port, Buffer.from('junk'), body)).status).toBe(400);
      expect((await send(rig.port, packed, 'other')).status).toBe(401);
    }
  });
});

describe('a handshake', () => {
  const challenges = [
    {
      when: { method: 'GET', query: { name: 'challenge' } },
      verified: false,
      token: { query: 'token', value: 'seekrit' },
      echo: { query: 'challenge' },
      json: 'challenge',
    },
    { when: { pointer: { at: '/type', equals: 'hello' } }, verified: true, echo: { pointer: '/say' } },
  ];

  test('is answered, is no event, and counts as no webhook', async () => {
    const { port, events } = await startWith({ challenges });
    const asked = await call(port, { method: 'GET', path: '/webhooks/demo?challenge=%3Cb%3E&token=seekrit' });
    expect([asked.status, asked.text, asked.headers['x-content-type-options']]).toEqual([
      200,
      '{"challenge":"<b>"}',
      'nosniff',
    ]);
    expect(await deliver(port, '{"type":"hello","say":"42"}')).toMatchObject({ status: 200, text: '42' });
    expect(events).toEqual([]);
    expect([await counted('accepted'), await counted('rejected')]).toEqual(['0', '0']);
  });

  test('is refused without the token, and without the signature that it needs', async () => {
    const { port } = await startWith({ challenges });
    const asked = await call(port, { method: 'GET', path: '/webhooks/demo?challenge=1&token=guess' });
    expect(asked.status).toBe(403);
    expect(asked.text).not.toContain('seekrit');
    expect((await call(port, { body: '{"type":"hello","say":"42"}' })).status).toBe(401);
  });

  test('opens its method for nothing else', async () => {
    const { port, events } = await startWith({ challenges });
    expect((await call(port, { method: 'GET' })).status).toBe(401);
    const signed = await call(port, {
      method: 'GET',
      body: '{"id":"1"}',
      headers: { [SIGNATURE]: sign('{"id":"1"}'), 'content-length': '10' },
    });
    expect([signed.status, codeOf(signed)]).toEqual([400, 'request_invalid']);
    expect(events).toEqual([]);
    const put = await call(port, { method: 'PUT' });
    expect([put.status, put.headers.allow]).toEqual([405, 'POST, GET']);
  });
});

describe('request rules', () => {
  test('name the methods of events', async () => {
    const { port, events } = await startWith({ request: { methods: ['PUT', 'POST'] } });
    const body = '{"id":"1"}';
    expect((await call(port, { method: 'PUT', body, headers: { [SIGNATURE]: sign(body) } })).status).toBe(
      200,
    );
    expect(events).toHaveLength(1);
  });

  test('name the content types, whatever their parameters and case', async () => {
    const { port } = await startWith({ request: { contentTypes: ['application/json'] } });
    const type = (value: string) => deliver(port, '{"id":"1"}', { 'content-type': value });
    expect((await type('Application/JSON; charset=utf-8')).status).toBe(200);
    expect(codeOf(await type('text/plain'))).toBe('request_invalid');
    expect(codeOf(await deliver(port, '{"id":"1"}'))).toBe('request_invalid');
  });
});

describe('a body that cannot be read', () => {
  test('is parked where the source says accept: acknowledged, kept, and a retry of it is the same event', async () => {
    const { port, events } = await startWith({ onUnparsable: 'accept' });
    const body = Buffer.from([0x7b, 0xff]);
    const answer = await deliver(port, body);
    await deliver(port, body);
    expect(answer.status).toBe(200);
    expect(events[0]).toMatchObject({ parked: true, type: '', bytes: body });
    expect(events[1]?.eventId).toBe(events[0]?.eventId);
    expect((await call(port, { body })).status).toBe(401); // only an authentic one
  });
});

describe('an event without an id', () => {
  const body = '{"amount":1}';

  test('is known by its hash, or is an event each time, as the source says', async () => {
    const hashed = await startWith({ onMissingId: 'hash' });
    await deliver(hashed.port, body);
    await deliver(hashed.port, body);
    const [first, second] = hashed.events.map(({ eventId }) => eventId);
    expect([first, second]).toEqual([expect.stringMatching(/^body-[A-Za-z0-9]{22}$/), first]);
    await hashed.close();
    const each = await startWith({ onMissingId: 'undeduped', replayKey: 'none' });
    await deliver(each.port, body);
    await deliver(each.port, body);
    expect(new Set(each.events.map(({ eventId }) => eventId)).size).toBe(2);
  });

  test('of a source without dedupe is an event each time, also when its bytes are the same', async () => {
    const mollie = Source.parse({ preset: 'mollie-classic', secrets: [{ id: 'url', value: 'T' }] });
    rig = await startIngest({ demo: mollie });
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    for (let round = 0; round < 2; round += 1) {
      const answer = await call(rig.port, { path: '/webhooks/demo?token=T', body: 'id=tr_1', headers });
      expect(answer.status).toBe(200);
    }
    const ids = rig.events.map(({ eventId }) => eventId);
    expect(ids[0]).toMatch(/^tr_1-/);
    expect(ids[1]).not.toBe(ids[0]);
    expect((await call(rig.port, { path: '/webhooks/demo', body: 'id=tr_1', headers })).status).toBe(401);
  });
});

test('a replay is answered with the id of the event that its bytes were, not with one that names nothing', async () => {
  const { port } = await startWith({ onMissingId: 'undeduped', replayKey: 'signature' }, async () => ({
    kind: 'replayed',
    eventId: 'body-1-first',
  }));
  expect(JSON.parse((await deliver(port, '{}')).text)).toEqual({
    ok: true,
    eventId: 'body-1-first',
    deduped: true,
  });
  expect(await counted('replayed')).toBe('1');
});

test('an expired secret is answered with 503: the provider must come again, and not give up', async () => {
  const { port } = await startWith({ secrets: [{ id: 'a', value: 'x', notAfter: '2020-01-01' }] });
  expect((await deliver(port, '{"id":"1"}')).status).toBe(503);
});
