import { afterEach, describe, expect, test } from '@jest/globals';
import type { AcceptResult } from '@breakwater/core/accept';
import { createLogger } from '@breakwater/runtime/logger';
import type { IngestMetrics } from '@breakwater/runtime/metrics-ingest';
import { call, codeOf, deliver, type Rig, sign, SIGNATURE, sourceWith, startIngest } from './support.ts';

const BODY = '{"id":"evt_1"}';

let rig: Rig | undefined;
afterEach(async () => {
  await rig?.close();
  rig = undefined;
});

async function startWith(result: AcceptResult | Error, changes: Record<string, unknown> = {}): Promise<Rig> {
  rig = await startIngest(
    { demo: sourceWith(changes) },
    { accept: async () => (result instanceof Error ? Promise.reject(result) : result) },
  );
  return rig;
}

const counted = async (source: string, outcome: string): Promise<string | undefined> =>
  new RegExp(
    `^breakwater_webhooks_received_total\\{source="${source}",outcome="${outcome}"\\} (\\d+)$`,
    'm',
  ).exec((await rig?.metrics()) ?? '')?.[1];

const DUPLICATES: [string, AcceptResult][] = [
  ['deduped', { kind: 'duplicate', differs: false }],
  ['differs', { kind: 'duplicate', differs: true }],
  ['replayed', { kind: 'replayed' }],
];

test.each(DUPLICATES)(
  'a duplicate is acknowledged like the first delivery and counted as %s',
  async (outcome, result) => {
    const { port } = await startWith(result);
    const answer = await deliver(port, BODY);
    expect([answer.status, answer.text]).toEqual([200, '{"ok":true,"eventId":"evt_1","deduped":true}']);
    expect(await counted('demo', outcome)).toBe('1');
    expect(await rig?.metrics()).toContain('breakwater_ack_duration_seconds_count{source="demo"} 1');
  },
);

test.each<[string, AcceptResult | Error]>([
  ['cannot accept', { kind: 'unavailable', message: 'Redis does not answer.' }],
  ['fails in a way nobody expected', new Error('WRONGTYPE at /srv/secret/path')],
])(
  'when the acceptor %s the provider is asked to come again, and nothing inside is shown',
  async (_, result) => {
    const { port } = await startWith(result);
    const answer = await deliver(port, BODY);
    expect([answer.status, answer.headers['retry-after'], codeOf(answer)]).toEqual([503, '5', 'unavailable']);
    expect(answer.text).not.toMatch(/WRONGTYPE|secret|at .*:\d+/);
    expect(await counted('demo', 'unavailable')).toBe('1');
    expect(await rig?.metrics()).not.toContain('breakwater_ack_duration_seconds_count{source="demo"} 1');
  },
);

test('a refused webhook is counted under the code of its error, and alerts find their series before the first one', async () => {
  const { port } = await startWith({ kind: 'accepted' });
  const refused = async (source: string, code: string): Promise<string | undefined> =>
    new RegExp(`^breakwater_webhooks_refused_total\\{source="${source}",code="${code}"\\} (\\d+)$`, 'm').exec(
      (await rig?.metrics()) ?? '',
    )?.[1];
  expect(await refused('demo', 'signature_invalid')).toBe('0');
  await deliver(port, BODY, { [SIGNATURE]: sign('another body') });
  await call(port, { body: BODY, path: '/webhooks/nobody' });
  expect([await refused('demo', 'signature_invalid'), await refused('unknown', 'source_unknown')]).toEqual([
    '1',
    '1',
  ]);
});

test('a source may have its own words for every answer', async () => {
  const answers = {
    accepted: { status: 202, body: '[accepted]' },
    signature: { status: 403, body: 'no' },
    rejected: { status: 422, body: '<no/>', contentType: 'text/xml' },
  };
  const { port } = await startWith({ kind: 'accepted' }, { answers });
  const seen = [await deliver(port, BODY), await call(port, { body: BODY }), await deliver(port, '{}')];
  expect(seen.map(({ status, text, headers }) => [status, text, headers['content-type']])).toEqual([
    [202, '[accepted]', 'text/plain; charset=utf-8'],
    [403, 'no', 'text/plain; charset=utf-8'],
    [422, '<no/>', 'text/xml'],
  ]);
});

test('a duplicate is answered as accepted, unless the source tells them apart', async () => {
  const accepted = { status: 201, body: 'taken' };
  const same = await startWith({ kind: 'duplicate', differs: false }, { answers: { accepted } });
  expect(await deliver(same.port, BODY)).toMatchObject({ status: 201, text: 'taken' });
  await same.close();
  const apart = await startWith({ kind: 'replayed' }, { answers: { accepted, duplicate: { status: 208 } } });
  expect(await deliver(apart.port, BODY)).toMatchObject({
    status: 208,
    text: '{"ok":true,"eventId":"evt_1","deduped":true}',
  });
});

test('an overridden 503 still says when to come again', async () => {
  const { port } = await startWith(
    { kind: 'unavailable', message: 'x' },
    { answers: { unavailable: { status: 500, body: 'later' } } },
  );
  const answer = await deliver(port, BODY);
  expect([answer.status, answer.text, answer.headers['retry-after']]).toEqual([500, 'later', '5']);
});

test('a 204 has neither a body nor a length', async () => {
  const { port } = await startWith(
    { kind: 'accepted' },
    { answers: { accepted: { status: 204, body: 'ignored' } } },
  );
  const answer = await deliver(port, BODY);
  expect([
    answer.status,
    answer.text,
    answer.headers['content-length'],
    answer.headers['content-type'],
  ]).toEqual([204, '', undefined, undefined]);
});

test('an event id is escaped in the answer', async () => {
  const { port } = await startWith({ kind: 'accepted' });
  const answer = await deliver(port, String.raw`{"id":"a\"b\n<c>"}`);
  expect(JSON.parse(answer.text)).toEqual({ ok: true, eventId: 'a"b\n<c>', deduped: false });
});

test('every source and outcome is counted from zero, and names from outside make no series', async () => {
  const { port } = await startWith({ kind: 'accepted' });
  expect(await counted('demo', 'unavailable')).toBe('0');
  await call(port, { path: '/webhooks/made-up', body: BODY });
  await call(port, { body: BODY });
  expect(await counted('unknown', 'rejected')).toBe('1');
  expect(await counted('demo', 'rejected')).toBe('1');
  expect(await rig?.metrics()).not.toContain('made-up');
});

test('the bounds that are promised are bounds of the histogram', async () => {
  const { port } = await startWith({ kind: 'accepted' });
  await deliver(port, BODY);
  expect(await rig?.metrics()).toMatch(
    /le="0\.01",source="demo"[^]*le="0\.15",source="demo"[^]*le="2",source="demo"/,
  );
});

const faultIn = (what: 'received' | 'acknowledged'): IngestMetrics => ({
  received: (): void => undefined,
  refused: (): void => undefined,
  acknowledged: (): void => undefined,
  acknowledgements: async () => [],
  quarantined: (): void => undefined,
  watchDurable: (): void => undefined,
  [what]: (): void => {
    throw new Error('inner detail');
  },
});

// The second spelling goes another way (see router.ts).
describe.each(['/webhooks/demo', '/webhooks/%64emo'])('a fault of our own, at %s,', (path) => {
  const headers = { [SIGNATURE]: sign(BODY) };

  test('is a 500 that shows nothing of itself, and can be found by its request id', async () => {
    rig = await startIngest({ demo: sourceWith() }, { metrics: faultIn('received') });
    const answer = await call(rig.port, { path, body: BODY, headers });
    expect([answer.status, codeOf(answer)]).toEqual([500, 'internal']);
    expect(answer.headers['x-request-id']).toMatch(/^\w{22}$/);
    expect(answer.text).not.toContain('inner detail');
  });

  test('leaves the answer as it is when that has gone out, and the next request gets one too', async () => {
    rig = await startIngest({ demo: sourceWith() }, { metrics: faultIn('acknowledged') });
    for (let time = 0; time < 2; time += 1)
      expect((await call(rig.port, { path, body: BODY, headers })).status).toBe(200);
  });
});

test('while the process is closing every answer ends its connection', async () => {
  let closing = false;
  rig = await startIngest({ demo: sourceWith() }, { isClosing: () => closing });
  const keepAlive = { [SIGNATURE]: sign(BODY), connection: 'keep-alive' };
  expect((await call(rig.port, { body: BODY, headers: keepAlive })).headers.connection).toBe('keep-alive');
  closing = true;
  expect((await call(rig.port, { body: BODY, headers: keepAlive })).headers.connection).toBe('close');
});

test('neither payloads nor secrets are logged', async () => {
  const lines: string[] = [];
  const logger = createLogger({ service: 'ingest-test', level: 'silent' });
  const spy = (...line: unknown[]): void => void lines.push(JSON.stringify(line));
  const recording = Object.assign(Object.create(logger) as typeof logger, {
    warn: spy,
    error: spy,
    info: spy,
    debug: spy,
  });
  rig = await startIngest(
    { demo: sourceWith() },
    { logger: recording, accept: () => Promise.reject(new Error('down')) },
  );
  await deliver(rig.port, '{"id":"evt_1","card":"4111111111111111"}');
  await deliver(rig.port, '{"card":"4111111111111111",}');
  await call(rig.port, {
    body: '{"card":"4111111111111111"}',
    headers: { [SIGNATURE]: 'sha256=4111111111111111' },
  });
  expect(lines).toHaveLength(3);
  expect(lines.join('\n')).toMatch(/"requestId":"[A-Za-z0-9]{22}"/);
  expect(lines.join('\n')).not.toMatch(/4111|a secret for tests/);
});
