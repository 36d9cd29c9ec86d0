import { expect, test } from '@jest/globals';
import type { HttpResponse } from '../src/outcome.ts';
import { createRedaction } from '../src/redaction.ts';
import { SAMPLE_READ_BYTES, redacted, sampleOf } from '../src/sample.ts';

function textOf(body: string, secrets: readonly string[] = [], rest: Partial<HttpResponse> = {}): string {
  const bytes = Buffer.from(body).subarray(0, SAMPLE_READ_BYTES);
  const truncated = bytes.length < Buffer.byteLength(body);
  return sampleOf(
    { kind: 'response', status: 400, headers: {}, body: bytes, truncated, durationMs: 1, ...rest },
    secrets,
  ).text;
}

const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U';

test.each([
  ['Authorization: Bearer abcdefghij0123456789', 'Authorization: Bearer [redacted]'],
  ['got basic dXNlcjpwYXNzd29yZDE=, not right', 'got basic [redacted], not right'],
  [`token ${JWT} expired`, 'token [redacted] expired'],
  ['{"password":"hunter2","user":"ann"}', '{"password":"[redacted]","user":"ann"}'],
  ['{"API_KEY": "a\\"b", "n": 1}', '{"API_KEY": "[redacted]", "n": 1}'],
  ['grant=x&client_secret=s3cr3t&y=1', 'grant=x&client_secret=[redacted]&y=1'],
  ['<user>ann</user><password>hunter2</password>', '<user>ann</user><password>[redacted]</password>'],
  ['<w:Password Type="t">hunter2</w:Password>', '<w:Password Type="t">[redacted]</w:Password>'],
  ['<secret><![CDATA[hunter2]]></secret>', '<secret><![CDATA[[redacted]</secret>'],
  ['at postgres://app:hunter2@db:5432/x?a=1', 'at postgres://app:[redacted]@db:5432/x?a=1'],
  ['redis://:hunt@er2@cache', 'redis://:[redacted]@cache'],
  ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw is old', '[redacted] is old'],
  ['expected v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=', 'expected [redacted]'],
  [['key sk', 'live', '0123456789abcdef'].join('_'), 'key [redacted]'],
  ['id AKIAIOSFODNN7EXAMPLE.', 'id [redacted].'],
  ['-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----\nok', '[redacted]\nok'],
  ['-----BEGIN PRIVATE KEY-----\nMHcCAQEE', '[redacted]'],
  ['card 4111 1111 1111 1111 declined', 'card [redacted] declined'],
  ['card 378282246310005, 5555-5555-5555-4444', 'card [redacted], [redacted]'],
])('%j is kept as %j', (body, kept) => {
  expect(textOf(body)).toBe(kept);
});

test.each([
  'Bearer authentication required',
  'WWW-Authenticate: Basic realm="a"',
  '{"id":"evt_1234567890","at":1772323200000,"ok":true}',
  '4111 1111 1111 1112 is no card, its check digit is wrong',
  'order 1234567890123456 of 2026-03-01 12:00:00',
  'the secret does not match, the token is too old',
  'password too short',
  '<passwordPolicy>eight letters</passwordPolicy>',
  'https://example.com:8080/a@b see mailto:ann@example.com',
])('%j is no secret and is kept', (body) => {
  expect(textOf(body)).toBe(body);
});

const SECRET = 'whsec_ab/cd+ef0123456789abcdef01234567==';

test.each([
  ['as it is', SECRET],
  ['as PHP writes JSON', SECRET.replaceAll('/', '\\/')],
  ['in a URL', encodeURIComponent(SECRET)],
  ['without its prefix', SECRET.slice('whsec_'.length)],
])('a secret is masked %s', (_how, echo) => {
  expect(textOf(`it said <${echo}>.`, [SECRET])).toBe('it said <[redacted]>.');
});

test('each signature of a rotation is masked alone, and short values cut up no words', () => {
  const signatures = 'v1,firstsignature000 v1,secondsignature00';
  expect(textOf('expected firstsignature000', [signatures, 'a', 'on'])).toBe('expected [redacted]');
  expect(textOf('an opinion', ['a', 'on'])).toBe('an opinion');
});

test('patterns of the configuration mask as well: all of the match, or its group', () => {
  const redaction = createRedaction(['cust-\\d+', '"iban":"([^"]*)']);
  expect(textOf('{"iban":"DE02 1203","of":"cust-77"}', [], { redaction })).toBe(
    '{"iban":"[redacted]","of":"[redacted]"}',
  );
});

test('nothing from behind the first KiB moves up into the room that masking makes', () => {
  const body = `${SECRET.repeat(25)}${'.'.repeat(24)}4111 1111 1111 1111 ${'x'.repeat(5_000)}`;
  expect(textOf(body, [SECRET])).toBe(`[redacted]${'.'.repeat(24)}`);
});

test('no well-known secret is half kept where the sample or what was read of the body ends', () => {
  for (const secret of [
    '4111111111111111',
    JWT,
    'Bearer abcdefghij0123456789',
    '"password":"hunter2hunter2"',
    '<password>hunter2hunter2</password>',
    'amqp://a:hunter2hunter2@b',
  ]) {
    for (const end of [1_024, SAMPLE_READ_BYTES]) {
      for (let before = end - secret.length - 1; before <= end; before += 1) {
        const text = textOf(`${'.'.repeat(before - 1)} ${secret} ${'.'.repeat(4_000)}`);
        expect(text).not.toMatch(/4111|eyJ|abcde|hunter/);
      }
    }
  }
});

test('a body in another charset is read in it, so that nothing hides between zero bytes', () => {
  const headers = { 'content-type': 'text/plain; charset="UTF-16LE"' };
  const body = Buffer.from(`is ${SECRET} ü`, 'utf16le');
  expect(textOf('', [SECRET], { headers, body })).toBe('is [redacted] ü');
  const latin = {
    headers: { 'content-type': 'text/plain; charset=iso-8859-1' },
    body: Buffer.from([0x66, 0xfc]),
  };
  expect(textOf('', [], latin)).toBe('fü');
  const odd = { headers: { 'content-type': 'text/plain; charset=klingon' }, body: Buffer.from('fü') };
  expect(textOf('', [], odd)).toBe('fü');
});

test('a packed body is no text and is not unpacked', () => {
  const headers = { 'content-encoding': 'gzip' };
  expect(textOf('\u001F\u0000', [], { headers })).toBe('[packed (gzip), not shown]');
  expect(textOf('plain', [], { headers: { 'content-encoding': 'identity' } })).toBe('plain');
});

test('patterns and bodies that make a backtracking matcher hang take no time', () => {
  const redaction = createRedaction(['(a+)+$', '(a|a)*b', '(?:a?){1000}b', '(.*)(.*)(.*)(.*)x']);
  const started = performance.now();
  textOf('a'.repeat(5_000), [], { redaction });
  for (const body of ['"password":"\\', 'eyJ', '----- BEGIN PRIVATE KEY', '4111 ', 'Bearer ', '&secret='])
    textOf(body.repeat(1_000), []);
  // With backtracking the first alone takes longer than anybody lives.
  expect(performance.now() - started).toBeLessThan(10_000);
});

test('a message is masked like an answer', () => {
  expect(redacted(`refused: ${SECRET} and ${JWT}`, [SECRET])).toBe('refused: [redacted] and [redacted]');
});
