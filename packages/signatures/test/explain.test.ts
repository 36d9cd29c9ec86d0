import { expect, test } from '@jest/globals';
import type { Source } from '@breakwater/contracts/source-config';
import { explainRequest } from '../src/explain.ts';
import { authWith, hexSignature, hmacOf, requestOf, SECRET, sourceWith } from './support.ts';

const NOW = Date.parse('2026-06-01T12:00:00Z');
const BODY = '{"id":"e1","url":"https://a.example/b"}';
const WRONG = 'never configured';

function explain(
  source: Source,
  body: string | Buffer,
  headers: readonly (readonly [string, string])[],
  others: Record<string, Source> = {},
) {
  const trial = { source, request: { ...requestOf(body, ...headers), nowMs: NOW } };
  const explanation = explainRequest({ shop: source, ...others }, 'shop', trial);
  // Whatever is asked, what comes back is safe to paste into a ticket.
  const text = JSON.stringify(explanation);
  for (const { secrets } of [source, ...Object.values(others)])
    for (const { value } of secrets) expect(text).not.toContain(JSON.stringify(value.trim()).slice(1, -1));
  for (const encoding of ['hex', 'base64'] as const)
    expect(text).not.toContain(hmacOf(body).toString(encoding));
  return explanation;
}

const slipsOf = (...args: Parameters<typeof explain>): string[] =>
  explain(...args).slips.map(({ kind, says }) => `${kind}: ${says}`);

test('what verifies needs no explanation, and shows the bytes that were signed', () => {
  const { verdict, slips, checks } = explain(sourceWith(), BODY, [['x-signature', hexSignature(BODY)]]);
  expect(verdict).toEqual({ ok: true, secretId: 'first' });
  expect(slips).toEqual([]);
  expect(checks).toMatchObject([
    {
      result: 'passed',
      signed: [{ sizeBytes: BODY.length, first: BODY, last: '' }],
      secrets: [{ id: 'first', inForce: true }],
    },
  ]);
});

test.each([
  ['a newline that was added', `${BODY}\n`, BODY, 'without the newline at the end'],
  ['a newline that was lost', BODY, `${BODY}\n`, 'with a newline at the end'],
  ['CRLF that became LF', '{"id":\n"e1"}', '{"id":\r\n"e1"}', 'CRLF instead of LF'],
  ['LF that became CRLF', '{"id":\r\n"e1"}', '{"id":\n"e1"}', 'LF instead of CRLF'],
  ['JSON that was compacted', BODY, JSON.stringify(JSON.parse(BODY), null, 2), 'indented by 2 spaces'],
  ['JSON that was indented', JSON.stringify(JSON.parse(BODY), null, 2), BODY, 'as compact JSON'],
  ['slashes that PHP escapes', BODY, BODY.replaceAll('/', '\\/'), 'as PHP writes it'],
  ['a body that was read already', BODY, '', 'of an empty body'],
  ['a byte order mark', `\uFEFF${BODY}`, BODY, 'byte order mark'],
])('%s is recognised', (_name, arrived, signed, says) => {
  expect(slipsOf(sourceWith(), arrived, [['x-signature', hexSignature(signed)]])).toContainEqual(
    expect.stringMatching(new RegExp(`^body: .*${says}`)),
  );
});

test.each([
  [
    'base64 instead of hex',
    'x-signature',
    `sha256=${hmacOf(BODY).toString('base64')}`,
    'encoding: The signature is base64',
  ],
  ['no prefix', 'x-signature', hmacOf(BODY).toString('hex'), 'encoding: The signature begins with no prefix'],
  [
    'another prefix',
    'x-signature',
    `v1:${hmacOf(BODY).toString('hex')}`,
    'encoding: The signature begins with "v1:"',
  ],
  [
    'another header',
    'x-hub-signature',
    hexSignature(BODY),
    'header: The signature is in the header x-hub-signature',
  ],
  [
    'another header and base64',
    'x-hub',
    hmacOf(BODY).toString('base64'),
    'header: The signature is in the header x-hub',
  ],
  [
    'another hash',
    'x-signature',
    `sha256=${hmacOf(BODY, SECRET, 'sha512').toString('hex')}`,
    'algorithm: .*hmac-sha512',
  ],
  [
    'a newline in the sender’s secret',
    'x-signature',
    hexSignature(BODY, `${SECRET}\n`),
    'secret: .*first with a newline',
  ],
])('%s is recognised', (_name, header, value, says) => {
  expect(slipsOf(sourceWith(), BODY, [[header, value]])).toContainEqual(expect.stringMatching(says));
});

test('white space around a configured secret is recognised', () => {
  const source = sourceWith({ secrets: [{ id: 'pasted', value: ` ${SECRET}\n` }] });
  expect(slipsOf(source, BODY, [['x-signature', hexSignature(BODY)]])).toContainEqual(
    expect.stringContaining('Secret pasted is configured with white space'),
  );
});

test('a key that is used as another encoding is recognised', () => {
  const source = sourceWith({ secrets: [{ id: 'hex', value: 'deadbeefdeadbeef' }] });
  const signature = hexSignature(BODY, Buffer.from('deadbeefdeadbeef', 'hex'));
  expect(slipsOf(source, BODY, [['x-signature', signature]])).toContainEqual(
    expect.stringContaining('uses secret hex as hex'),
  );
});

test('the secret of another source is recognised, by name alone', () => {
  const other = sourceWith({ secrets: [{ id: 'theirs', value: 'their secret' }] });
  const slips = slipsOf(sourceWith(), BODY, [['x-signature', hexSignature(BODY, 'their secret')]], { other });
  expect(slips).toContainEqual(expect.stringContaining('secret theirs of source other'));
  expect(slips).toContainEqual(expect.stringContaining('It verifies as source other'));
});

test('a secret that is out of force is named', () => {
  const source = sourceWith({
    secrets: [
      { id: 'old', value: SECRET, notAfter: '2026-01-01T00:00:00Z' },
      { id: 'new', value: 'other' },
    ],
  });
  const { slips, checks } = explain(source, BODY, [['x-signature', hexSignature(BODY)]]);
  expect(slips[0]?.says).toContain('secret old, which is not in force');
  expect(checks[0]?.secrets).toEqual([
    { id: 'old', inForce: false },
    { id: 'new', inForce: true },
  ]);
});

test('two mistakes at once are recognised: the capture added a newline, and the secret is another', () => {
  const other = sourceWith({ secrets: [{ id: 'theirs', value: 'their secret' }] });
  const [slip] = slipsOf(sourceWith(), `${BODY}\n`, [['x-signature', hexSignature(BODY, 'their secret')]], {
    other,
  });
  expect(slip).toMatch(/without the newline.* And: .*source other/);
});

test('a wrong clock is told apart from a wrong signature, with the time that was signed', () => {
  const source = sourceWith({
    auth: authWith({ timestamp: { header: 'x-time' }, signed: ['timestamp', { literal: '.' }, 'body'] }),
  });
  const at = NOW / 1_000 - 3_600;
  const { verdict, slips, checks } = explain(source, BODY, [
    ['x-time', String(at)],
    ['x-signature', hexSignature(`${at}.${BODY}`)],
  ]);
  expect(verdict).toMatchObject({ code: 'timestamp_out_of_tolerance' });
  expect(slips).toEqual([{ kind: 'timestamp', says: expect.stringContaining('3600 s before') }]);
  expect(checks[0]?.signedAt).toBe(at * 1_000);
});

test('a signature of a secret that nobody has configured is explained by nothing', () => {
  const { verdict, slips } = explain(sourceWith(), BODY, [['x-signature', hexSignature(BODY, WRONG)]]);
  expect(verdict.ok).toBe(false);
  expect(slips).toEqual([]);
});

test('a secret that is part of the signed bytes is masked, also where the shown bytes end inside of it', () => {
  const body = `{"id":"e1","pad":"${'x'.repeat(14)}","echo":"${SECRET}","more":"${'y'.repeat(200)}"}`;
  const { checks } = explain(sourceWith(), body, [['x-signature', hexSignature(body, WRONG)]]);
  expect(checks[0]?.signed[0]?.first).toContain('[sec');
  expect(checks[0]?.signed[0]?.first).not.toContain(SECRET.slice(0, 6));
});

test('the secret of another source is masked too, in the forms that it may have', () => {
  const value = 'whsec_c29tZWJvZHkgZWxzZSdz';
  const bank = sourceWith({
    secrets: [{ id: 'a', value }],
    auth: authWith({ keyPrefix: 'whsec_', key: 'base64' }),
  });
  const forms = [value, value.slice(6), encodeURIComponent(value), Buffer.from(value).toString('base64')];
  for (const form of forms) {
    const body = `${'-'.repeat(40)}${form}${'-'.repeat(200)}`;
    const [check] = explain(sourceWith(), body, [['x-signature', 'sha256=00']], { bank }).checks;
    expect(check?.signed[0]?.first).toBe(`${'-'.repeat(40)}[secret]${'-'.repeat(12)}`);
  }
});
