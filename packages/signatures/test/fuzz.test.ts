import { generateKeyPairSync } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { PRESET_NAMES } from '@breakwater/contracts/presets/all';
import { Source } from '@breakwater/contracts/source-config';
import * as fc from 'fast-check';
import { handshakeOf } from '../src/handshake.ts';
import { headerLines } from '../src/headers.ts';
import { locateEvents } from '../src/locate.ts';
import { replayKeyOf } from '../src/signed-content.ts';
import { createVerifier } from '../src/verify.ts';

/* Strangers' requests: whatever they hold, there is a verdict, it is never "ok", and nothing throws. */

const SEED = 20_260_102; // fixed, so that a failure here is the same failure everywhere
const RUNS = 150; // for each preset: some 4,000 requests

const RSA_KEY = generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey.export({
  type: 'spki',
  format: 'pem',
}) as string;
/** Keys of the right kind that nobody has the other half of. */
const SECRETS: Readonly<Partial<Record<(typeof PRESET_NAMES)[number], string>>> = {
  adyen: 'ab'.repeat(32),
  'adyen-platform': 'ab'.repeat(32),
  'standard-webhooks': 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  'standard-webhooks-ed25519': 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=',
  sendgrid:
    'MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE83T4O/n84iotIvIW4mdBgQ/7dAfSmpqIM8kF9mN1flpVKS3GRqe62gw+2fNNRaINXvVpiglSI8eNEc6wEA3F+g==',
  'adobe-commerce': RSA_KEY,
  paypal: RSA_KEY,
};

/** Of the kinds that a parser could trip over. */
const signatureLike = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 200 }),
  fc.uint8Array({ maxLength: 80 }).map((bytes) => Buffer.from(bytes).toString('base64')),
  fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex')),
  fc
    .array(
      fc.tuple(
        fc.constantFrom('t', 'ts', 'v1', 'v1a', 'h1', '1', '', 'v0', '__proto__'),
        fc.constantFrom('=', ',', '/'),
        fc.oneof(
          fc.constantFrom('', '1700000000', 'abc', 'SHA256/', '-1', '9'.repeat(30)),
          fc
            .uint8Array({ minLength: 32, maxLength: 32 })
            .map((bytes) => Buffer.from(bytes).toString('base64')),
          fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes).toString('hex')),
        ),
      ),
      { maxLength: 40 },
    )
    .chain((entries) =>
      fc
        .constantFrom(',', ';', ' ')
        .map((separator) => entries.map((entry) => entry.join('')).join(separator)),
    ),
  fc.constantFrom(
    'sha256=',
    'v0=',
    'Bearer ',
    'Basic ====',
    `sha256=${'z'.repeat(64)}`,
    `sha256=${'é'.repeat(64)}`,
  ),
);

const bodyLike = fc.oneof(
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  fc.json().map((text) => Buffer.from(text)),
  fc.string({ unit: 'binary' }).map((text) => Buffer.from(text)),
  fc
    .array(fc.record({ id: fc.jsonValue(), sg_event_id: fc.jsonValue(), event: fc.jsonValue() }), {
      maxLength: 5,
    })
    .map((items) => Buffer.from(JSON.stringify(items))),
  fc
    .array(fc.record({ NotificationRequestItem: fc.jsonValue() }, { requiredKeys: [] }), { maxLength: 5 })
    .map((notificationItems) => Buffer.from(JSON.stringify({ notificationItems }))),
  fc
    .array(
      fc.record(
        { realmId: fc.jsonValue(), dataChangeEvent: fc.jsonValue(), changes: fc.jsonValue() },
        { requiredKeys: [] },
      ),
      { maxLength: 5 },
    )
    .map((list) => Buffer.from(JSON.stringify({ eventNotifications: list, entry: list }))),
  fc.constantFrom(
    Buffer.alloc(0),
    Buffer.from('\uFEFF{"id":"a"}'),
    Buffer.from('{"id":"a","id":"b"}'),
    Buffer.from(`{"notificationItems":${'['.repeat(5_000)}${']'.repeat(5_000)}}`),
    Buffer.from('{"__proto__":{"id":1},"constructor":{"prototype":{}}}'),
    Buffer.from('id=1&id=2&%=&%zz=%'),
  ),
);

const requestLike = (names: readonly string[]) =>
  fc.record({
    headers: fc
      .array(fc.tuple(fc.constantFrom(...names, '__proto__', 'authorization'), signatureLike), {
        maxLength: 8,
      })
      .map((pairs) => headerLines(pairs.flat())),
    body: bodyLike,
    method: fc.constantFrom('POST', 'GET', 'PUT'),
    query: fc.oneof(
      fc.string(),
      fc.constantFrom('token=x', 'a=1&a=2', 'hub.mode=subscribe&hub.verify_token=x', '%'),
    ),
    nowMs: fc.integer({ min: 0, max: 4_000_000_000_000 }),
  });

/** Names of the headers that a source reads. */
const headersOf = (source: Source): string[] =>
  [...JSON.stringify(source).matchAll(/"(?:header|headerPattern|name)":"([a-z0-9-]+)(?:\*)?"/g)].map(
    (match) => match[1]!.replace(/-$/, '-1'),
  );

test.each(PRESET_NAMES)('no request of a stranger throws or passes: %s', (preset) => {
  const source = Source.parse({
    preset,
    secrets: [{ id: 'a', value: SECRETS[preset] ?? 'nobody knows this' }],
    request: { publicUrl: 'https://hooks.example.com/in' },
    values: { verifyToken: 'nobody knows this either', webhookId: 'WH' },
  });
  const verify = createVerifier(source);
  fc.assert(
    fc.property(requestLike(headersOf(source)), (request) => {
      expect(verify(request)).toMatchObject({ ok: false, message: expect.any(String) });
      handshakeOf(source, request, false);
      handshakeOf(source, request, true);
      // What is only reached after a signature must stand any body too: providers sign strange ones.
      const located = locateEvents(source, request);
      if (!located.ok) return;
      for (const [index, { eventId, document }] of located.events.entries()) {
        expect(eventId.length).toBeGreaterThan(0);
        replayKeyOf(source, request, document, index);
      }
    }),
    { seed: SEED, numRuns: RUNS },
  );
  expect(Reflect.get({}, 'id')).toBeUndefined();
});

test('the items of a batch are the bytes that were sent, whatever is in them', () => {
  const source = Source.parse({
    secrets: [{ id: 'a', value: 'x' }],
    auth: { kind: 'signature', algorithm: 'hmac-sha256', signature: { header: 'x', encoding: 'hex' } },
    batch: { pointer: '/items', max: 1_000 },
    eventId: { sha256: ['body'] },
  });
  fc.assert(
    fc.property(fc.array(fc.json(), { maxLength: 20 }), fc.constantFrom('', ' ', '\r\n'), (items, space) => {
      const text = `{"a":"]}\\"","items":[${space}${items.join(`${space},${space}`)}${space}],"z":[1]}`;
      const located = locateEvents(
        { ...source, batch: { ...source.batch!, empty: 'ack' } },
        {
          headers: {},
          body: Buffer.from(text),
        },
      );
      expect(located.ok && located.events.map(({ document }) => document.bytes.toString())).toEqual(items);
    }),
    { seed: SEED, numRuns: 500 },
  );
});

test('the items of lists in lists are the bytes that were sent, all of them, in their order', () => {
  const source = Source.parse({
    secrets: [{ id: 'a', value: 'x' }],
    auth: { kind: 'signature', algorithm: 'hmac-sha256', signature: { header: 'x', encoding: 'hex' } },
    batch: { pointer: '', nested: ['/a', '/b/c'], max: 1_000, empty: 'ack' },
    eventId: { sha256: ['body', { pointer: '/id', in: 'element' }] },
  });
  const list = fc.option(fc.array(fc.json(), { maxLength: 5 }), { nil: undefined });
  fc.assert(
    fc.property(fc.array(fc.record({ a: list, c: list })), fc.constantFrom('', ' \n'), (elements, space) => {
      const texts = elements.map(({ a, c }, index) => {
        const members = [
          `"id":${index}`,
          ...(a === undefined ? [] : [`"a":${space}[${a.join(`,${space}`)}]`]),
          ...(c === undefined ? [] : [`"b":{"c":[${c.join(`${space},`)}]}`]),
        ];
        return `{${members.join(`${space},`)}}`;
      });
      const body = Buffer.from(`[${texts.join()}]`);
      const located = locateEvents(source, { headers: {}, body });
      const expected = elements.flatMap(({ a, c }, index) =>
        a === undefined && c === undefined ? [texts[index]] : [...(a ?? []), ...(c ?? [])],
      );
      expect(located.ok && located.events.map(({ document }) => document.bytes.toString())).toEqual(expected);
    }),
    { seed: SEED, numRuns: 300 },
  );
});
