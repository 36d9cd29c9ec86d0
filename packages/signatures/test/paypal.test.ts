import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { expect, test } from '@jest/globals';
import { Source } from '@breakwater/contracts/source-config';
import { headerLines } from '../src/headers.ts';
import { locateEvents } from '../src/locate.ts';
import { replayKeyOf } from '../src/signed-content.ts';
import { createVerifier, type Verdict } from '../src/verify.ts';

/* The preset `paypal`, whose key is pinned. The certificate that PayPal itself published is in vectors.test.ts. */

const [first, second] = [1, 2].map(() => generateKeyPairSync('rsa', { modulusLength: 2_048 }));
const urlOf = (name: string): string => `https://api.paypal.com/v1/notifications/certs/${name}`;
const pem = (pair = first): unknown => pair?.publicKey.export({ type: 'spki', format: 'pem' });
const source = Source.parse({
  preset: 'paypal',
  values: { webhookId: 'WEBHOOK1' },
  secrets: [
    { id: 'current', value: pem(), keyId: urlOf('CERT-1') },
    { id: 'next', value: pem(second), keyId: urlOf('CERT-2') },
  ],
});
const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5);
const BODY = '{"id":"WH-1","event_type":"PAYMENT.SALE.COMPLETED","amount":"1.00"}';

function requestOf(
  headers: Record<string, string> = {},
  body: string | Buffer = BODY,
  key: KeyObject | undefined = first?.privateKey,
): Parameters<ReturnType<typeof createVerifier>>[0] {
  const [id, time] = ['tx-1', '2026-01-02T03:04:05Z'];
  const signature = sign('sha256', Buffer.from(`${id}|${time}|WEBHOOK1|${crc32(body)}`), key ?? '');
  const all = {
    'PAYPAL-TRANSMISSION-ID': id,
    'PAYPAL-TRANSMISSION-TIME': time,
    'PAYPAL-TRANSMISSION-SIG': signature.toString('base64'),
    'PAYPAL-CERT-URL': urlOf('CERT-1'),
    ...headers,
  };
  return { headers: headerLines(Object.entries(all).flat()), body: Buffer.from(body), nowMs: NOW_MS };
}

const verify = createVerifier(source);
const outcome = (verdict: Verdict): string => (verdict.ok ? `ok by ${verdict.secretId}` : verdict.code);

test('each certificate vouches under its own URL, so that PayPal can change from one to the next', () => {
  expect(outcome(verify(requestOf()))).toBe('ok by current');
  const next = requestOf({ 'PAYPAL-CERT-URL': urlOf('CERT-2') }, BODY, second?.privateKey);
  expect(outcome(verify(next))).toBe('ok by next');
});

test.each([
  ['another certificate of ours', urlOf('CERT-2')],
  ['a certificate of somebody else', 'https://api.paypal.com.evil.example/CERT-1'],
  ['a certificate of PayPal that is not configured', urlOf('CERT-3')],
])('a request that names %s is refused, and nothing is fetched to find out', (_, url) => {
  const verdict = verify(requestOf({ 'PAYPAL-CERT-URL': url }));
  expect(outcome(verdict)).toBe('signature_invalid');
  const isConfigured = url === urlOf('CERT-2');
  expect(verdict).toMatchObject({
    message: expect.stringMatching(isConfigured ? /does not match the bytes/ : /names a key that no secret/),
  });
});

test('another webhook, another key and a changed time are refused', () => {
  const other = Source.parse({
    preset: 'paypal',
    values: { webhookId: 'WEBHOOK2' },
    secrets: [{ id: 'a', value: pem(), keyId: urlOf('CERT-1') }],
  });
  expect(outcome(createVerifier(other)(requestOf()))).toBe('signature_invalid');
  expect(outcome(verify(requestOf({}, BODY, second?.privateKey)))).toBe('signature_invalid');
  const later = { 'PAYPAL-TRANSMISSION-TIME': '2026-01-02T03:04:06Z' };
  expect(outcome(verify(requestOf(later)))).toBe('signature_invalid');
  expect(() => Source.parse({ preset: 'paypal', secrets: [{ id: 'a', value: pem() }] })).toThrow(/webhookId/);
});

/**
 * `body` with blanks and tabs behind it that make its CRC-32 `wanted`: the sum is linear in each choice, so whoever has
 * 32 independent ones solves for it.
 */
function withCrc(body: string, wanted: number): Buffer {
  const choices = 64;
  const textOf = (tabs: bigint): string =>
    body +
    Array.from({ length: choices }, (_, index) => ((tabs >> BigInt(index)) & 1n ? '\t' : ' ')).join('');
  const base = crc32(textOf(0n));
  const rows: { readonly sum: number; readonly tabs: bigint }[] = [];
  const reduce = (sum: number, tabs: bigint): { sum: number; tabs: bigint } =>
    rows.reduce(
      (left, row) =>
        (left.sum ^ row.sum) >>> 0 < left.sum
          ? { sum: (left.sum ^ row.sum) >>> 0, tabs: left.tabs ^ row.tabs }
          : left,
      { sum, tabs },
    );
  for (let index = 0; index < choices; index += 1) {
    const row = reduce((crc32(textOf(1n << BigInt(index))) ^ base) >>> 0, 1n << BigInt(index));
    if (row.sum === 0) continue;
    rows.push(row);
    rows.sort((one, other) => other.sum - one.sum);
  }
  const { sum, tabs } = reduce((base ^ wanted) >>> 0, 0n);
  if (sum !== 0) throw new Error('not solved');
  return Buffer.from(textOf(tabs));
}

test('a body that was forged to the same CRC-32 passes once at most: it shares the replay key of the genuine one', () => {
  const genuine = requestOf();
  const forged = {
    ...genuine,
    body: withCrc(BODY.replace('WH-1', 'WH-2').replace('1.00', '9.99'), crc32(BODY)),
  };
  expect(outcome(verify(forged))).toBe('ok by current'); // as with PayPal's own check
  expect(locateEvents(source, forged)).toMatchObject({ ok: true, events: [{ eventId: 'WH-2' }] });
  expect(source).toMatchObject({ eventIdSigned: false, replayKey: 'signature' });
  expect(replayKeyOf(source, forged)).toBe(replayKeyOf(source, genuine));
  const another = requestOf({}, BODY.replace('WH-1', 'WH-3'));
  expect(replayKeyOf(source, another)).not.toBe(replayKeyOf(source, genuine));
});
