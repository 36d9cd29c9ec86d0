import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { test } from '@jest/globals';
import { Paddle } from '@paddle/paddle-node-sdk';
import { EventWebhook, EventWebhookHeader } from '@sendgrid/eventwebhook';
import Razorpay from 'razorpay';
import { expectAgreement } from './vendor-judges.ts';

/* Vendors' libraries that can only verify, beside the presets of their names: signed here with node:crypto. */

const SECRET = 'a secret';
const BODY = Buffer.from('{\n  "event_id": "1", "amount": 1.10, "name": "caf\u00e9 \u2615"\n}\n');
const mac = (content: string | Buffer): string => createHmac('sha256', SECRET).update(content).digest('hex');
const source = (preset: string, value = SECRET): Record<string, unknown> => ({
  preset,
  secrets: [{ id: 'a', value }],
});

test('paddle', async () => {
  const webhooks = new Paddle('unused').webhooks;
  // Its library takes 5 s by its own clock, and a slow machine may need longer than that for this test.
  const time = Math.floor(Date.now() / 1_000) + 50;
  await expectAgreement({
    source: source('paddle'),
    request: {
      headers: { 'paddle-signature': `ts=${time};h1=${mac(`${time}:${BODY.toString()}`)}` },
      body: BODY,
    },
    signature: 'paddle-signature',
    judge: ({ headers, body }) =>
      webhooks.isSignatureValid(body.toString(), SECRET, headers['paddle-signature'] ?? ''),
  });
});

test('razorpay', () =>
  expectAgreement({
    source: source('razorpay'),
    request: { headers: { 'x-razorpay-signature': mac(BODY) }, body: BODY },
    signature: 'x-razorpay-signature',
    judge: ({ headers, body }) =>
      Razorpay.validateWebhookSignature(body.toString(), headers['x-razorpay-signature'] ?? '', SECRET),
  }));

test('sendgrid', async () => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
  const key = publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  const [signature, timestamp] = [EventWebhookHeader.SIGNATURE(), EventWebhookHeader.TIMESTAMP()];
  const time = String(Math.floor(Date.now() / 1_000));
  const events = new EventWebhook();
  const theirKey = events.convertPublicKeyToECDSA(key);
  await expectAgreement({
    source: source('sendgrid', key),
    request: {
      headers: {
        [signature]: sign('sha256', Buffer.from(`${time}${BODY.toString()}`), privateKey).toString('base64'),
        [timestamp]: time,
      },
      body: BODY,
    },
    signature,
    step: 9, // its arithmetic is JavaScript's own
    judge: ({ headers, body }) =>
      events.verifySignature(theirKey, body, headers[signature] ?? '', headers[timestamp] ?? ''),
  });
});
