import { afterEach, describe, expect, test } from '@jest/globals';
import { Source } from '@breakwater/contracts/source-config';
import { type Answer, call, codeOf, connectRaw, type Rig, startIngest } from './support.ts';

const TOKEN = 'the-token';
const STRUCTURED = 'application/cloudevents+json';
const BATCHED = 'application/cloudevents-batch+json';

let rig: Rig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

async function start(changes: object = {}): Promise<Rig> {
  const source = Source.parse({
    preset: 'cloudevents',
    secrets: [{ id: 'current', value: TOKEN }],
    ...changes,
  });
  rig = await startIngest({ demo: source });
  return rig;
}

const send = async (
  { port }: Rig,
  body: string | Buffer,
  headers: Record<string, string>,
  path = '/webhooks/demo',
): Promise<Answer> => call(port, { body, headers: { authorization: `Bearer ${TOKEN}`, ...headers }, path });

const taken = ({ events }: Rig): unknown[] =>
  events.map(({ eventId, type, entity, bytes }) => [eventId, type, entity, bytes.toString()]);

const envelope = (id: string, more = ''): string =>
  `{"specversion":"1.0","id":"${id}","source":"/orders","type":"order.paid","subject":"o7"${more}}`;

describe('an event', () => {
  test('in structured mode is the whole envelope', async () => {
    const ingest = await start();
    const body = envelope('1', ',"data":{"total":1.10}');
    const answer = await send(ingest, body, { 'content-type': `${STRUCTURED}; charset=utf-8` });
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      202,
      { ok: true, eventId: '/orders|1', deduped: false },
    ]);
    expect(taken(ingest)).toEqual([['/orders|1', 'order.paid', 'o7', body]]);
  });

  test('in binary mode is the body, whatever that is, and the attributes are in headers', async () => {
    const ingest = await start();
    const attributes = { 'ce-id': '1', 'ce-source': '/orders', 'ce-type': 'order.paid' };
    const bodies: (readonly [string, string | Buffer])[] = [
      ['application/json', '{"id":"not this","subject":"nor this"}'],
      ['text/plain', 'no JSON'],
      ['application/octet-stream', Buffer.from([0xff, 0x00])],
      ['application/json', ''],
    ];
    for (const [index, [type, body]] of bodies.entries()) {
      const headers = { ...attributes, 'ce-id': String(index), 'content-type': type };
      expect((await send(ingest, body, headers)).status).toBe(202);
    }
    expect(taken(ingest)).toEqual(
      bodies.map(([, body], index) => [`/orders|${index}`, 'order.paid', '', body.toString()]),
    );
    expect(
      codeOf(await send(ingest, '{"id":"1","source":"/x"}', { 'content-type': 'application/json' })),
    ).toBe('event_id_missing');
  });

  test('in batched mode is each element, under its own id whatever the headers say', async () => {
    const ingest = await start();
    const [one, two] = [envelope('1', ',"data":1.10'), envelope('2')];
    const headers = { 'content-type': BATCHED, 'ce-id': 'same', 'ce-source': '/same' };
    const answer = await send(ingest, `[${one}, ${two}]`, headers);
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([
      202,
      { results: [{ eventId: '/orders|1' }, { eventId: '/orders|2' }] },
    ]);
    expect(taken(ingest).map((event) => (event as string[])[3])).toEqual([one, two]);
    expect((await send(ingest, '[]', { 'content-type': BATCHED })).status).toBe(202);
    expect(codeOf(await send(ingest, one, { 'content-type': BATCHED }))).toBe('body_unparsable');
  });

  test('comes with the token in the header or in the query, and with no other', async () => {
    const ingest = await start();
    const type = { 'content-type': STRUCTURED };
    const without = { ...type, authorization: '' };
    expect((await send(ingest, envelope('1'), without, `/webhooks/demo?access_token=${TOKEN}`)).status).toBe(
      202,
    );
    for (const [headers, path] of [
      [without, '/webhooks/demo'],
      [without, '/webhooks/demo?access_token=guess'],
      [{ ...type, authorization: 'Bearer guess' }, '/webhooks/demo'],
    ] as const)
      expect((await send(ingest, envelope('2'), headers, path)).status).toBe(401);
    expect(ingest.events).toHaveLength(1);
  });
});

describe('the handshake before deliveries', () => {
  const ask = async ({ port }: Rig, headers: Record<string, string | string[]> = {}): Promise<Answer> =>
    call(port, { method: 'OPTIONS', headers });
  const consent = ({ status, headers }: Answer): unknown[] => [
    status,
    headers['webhook-allowed-origin'],
    headers['webhook-allowed-rate'],
  ];
  const NONE = [403, undefined, undefined];

  test('gets consent for the senders that the source names, and nobody else does', async () => {
    const ingest = await start({
      abuseProtection: { origins: ['eventemitter.example.com', 'other.example.com'], rate: 120 },
    });
    const agreed = await ask(ingest, {
      'WebHook-Request-Origin': 'EventEmitter.example.com',
      'WebHook-Request-Rate': '1000',
      'WebHook-Request-Callback': 'http://127.0.0.1:9/confirm',
    });
    expect([...consent(agreed), agreed.headers.allow, agreed.text]).toEqual([
      200,
      'eventemitter.example.com',
      '120',
      'POST',
      '',
    ]);
    for (const headers of [
      {},
      { 'WebHook-Request-Origin': '' },
      { 'WebHook-Request-Origin': 'evil.example.com' },
      { 'WebHook-Request-Origin': 'eventemitter.example.com, evil.example.com' },
      { 'WebHook-Request-Origin': ['eventemitter.example.com', 'other.example.com'] },
    ])
      expect(consent(await ask(ingest, headers))).toEqual(NONE);
    expect(ingest.events).toEqual([]);
    expect(await ingest.metrics()).toContain('outcome="rejected"} 5');
  });

  test('may be open to any sender', async () => {
    const ingest = await start({ abuseProtection: { origins: '*' } });
    const asked = { 'WebHook-Request-Origin': 'anybody.example.com' };
    expect(consent(await ask(ingest, asked))).toEqual([200, '*', '*']);
    expect(consent(await ask(ingest))).toEqual(NONE);
  });

  test('is 405 for a source that did not ask for it', async () => {
    const ingest = await start();
    const answer = await ask(ingest, { 'WebHook-Request-Origin': 'eventemitter.example.com' });
    expect([...consent(answer), answer.headers.allow]).toEqual([405, undefined, undefined, 'POST']);
  });

  test('waits for no body: the answer comes before the upload', async () => {
    const ingest = await start({ abuseProtection: { origins: '*' } });
    const raw = await connectRaw(ingest.port);
    raw.socket.write(
      'OPTIONS /webhooks/demo HTTP/1.1\r\nHost: x\r\nWebHook-Request-Origin: a.example\r\nContent-Length: 1000000\r\n\r\n',
    );
    expect(await raw.until(/webhook-allowed-origin: \*/i)).toMatch(/^HTTP\/1\.1 200 /);
    await raw.closed;
  });
});
