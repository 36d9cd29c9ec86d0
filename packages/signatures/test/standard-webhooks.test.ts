import { expect, test } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { isWebhookSecret, newWebhookSecret, signStandard } from '../src/standard-webhooks.ts';

const now = (): number => Math.floor(Date.now() / 1_000);

/** Throws unless the reference library accepts the message. */
function verifyByReference(
  secret: string,
  id: string,
  timestampS: number,
  body: Buffer,
  signature: string,
): void {
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signature,
  };
  new Webhook(secret).verify(body, headers);
}

test('what is signed here is accepted by the reference library', () => {
  const secret = newWebhookSecret();
  const body = Buffer.from('{"type":"order.paid","data":{"amount":1.10,"name":"Zoë ☕"}}');
  const timestampS = now();
  const signature = signStandard({ id: 'evt_1', timestampS, body, secrets: [secret] });
  expect(() => verifyByReference(secret, 'evt_1', timestampS, body, signature)).not.toThrow();
  expect(() => verifyByReference(secret, 'evt_2', timestampS, body, signature)).toThrow(
    'No matching signature',
  );
  expect(() => verifyByReference(secret, 'evt_1', timestampS + 1, body, signature)).toThrow(
    'No matching signature',
  );
});

test('during a rotation a receiver with either secret accepts', () => {
  const secrets = [newWebhookSecret(), newWebhookSecret()];
  const body = Buffer.from('{}');
  const timestampS = now();
  const signature = signStandard({ id: 'evt_1', timestampS, body, secrets });
  expect(signature).toMatch(/^v1,[A-Za-z0-9+/]{43}= v1,[A-Za-z0-9+/]{43}=$/);
  for (const secret of secrets) {
    expect(() => verifyByReference(secret, 'evt_1', timestampS, body, signature)).not.toThrow();
  }
  expect(() => verifyByReference(newWebhookSecret(), 'evt_1', timestampS, body, signature)).toThrow(
    'No matching signature',
  );
});

test('the published example has the published signature', () => {
  const signature = signStandard({
    id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    timestampS: 1_614_265_330,
    body: Buffer.from('{"test": 2432232314}'),
    secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
  });
  expect(signature).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
});

test('bytes that are no text are signed as they are', () => {
  const [one, other] = [0xff, 0xfe].map((byte) =>
    signStandard({
      id: 'a',
      timestampS: 1,
      body: Buffer.from([byte]),
      secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    }),
  );
  expect(one).not.toBe(other);
});

test('a new secret is 32 random bytes', () => {
  const secret = newWebhookSecret();
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(newWebhookSecret()).not.toBe(secret);
  expect(isWebhookSecret(secret)).toBe(true);
});

test.each([
  '',
  'whsec_',
  'whsec_c2hvcnQ=',
  'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw',
  'whsec_not base64 not base64 not base64',
  `whsec_${'A'.repeat(88)}`,
])('nothing is signed with %j, and the secret is not shown', (secret) => {
  expect(isWebhookSecret(secret)).toBe(false);
  const sign = (): string =>
    signStandard({ id: 'a', timestampS: 1, body: Buffer.from(''), secrets: [secret] });
  expect(sign).toThrow('A webhook secret is not whsec_ and the base64 of 24 to 64 bytes.');
});

test('a line break in an id cannot forge a header', () => {
  const secrets = [newWebhookSecret()];
  expect(() => signStandard({ id: 'a\nb: c', timestampS: 1, body: Buffer.from(''), secrets })).toThrow(
    'visible ASCII',
  );
});
