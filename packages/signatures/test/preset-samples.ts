import { createHmac, generateKeyPairSync, sign as signWith } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { expect } from '@jest/globals';
import type { PRESET_NAMES } from '@breakwater/contracts/presets/all';
import { Source } from '@breakwater/contracts/source-config';
import { headerLines } from '../src/headers.ts';
import type { createVerifier } from '../src/verify.ts';

/*
 * One request for each preset, signed here as its provider's documentation says, with node:crypto and not with the code
 * under test. Where signatures were published, vectors.test.ts checks those as well.
 */

export const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5);
const SECONDS = String(NOW_MS / 1_000);
const SECRET = 'preset-test-secret';

const mac = (content: string, encoding: 'hex' | 'base64', key: string | Buffer = SECRET): string =>
  createHmac('sha256', key).update(content).digest(encoding);
const ed25519 = generateKeyPairSync('ed25519');
const p256 = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const ed25519Raw = ed25519.publicKey.export({ type: 'spki', format: 'der' }).subarray(-32).toString('base64');

export interface Sample {
  readonly body: string;
  readonly headers: (body: string) => Record<string, string>;
  readonly secret?: object;
  readonly settings?: object;
  readonly query?: string;
  /** Of every event, in order. */
  readonly ids: readonly unknown[];
  readonly type: string;
  /** `for days`: retries may bear the time of the first attempt. */
  readonly timed?: true | 'for days';
  /** Nothing signs the body. */
  readonly unsigned?: true;
}

const KEY = Buffer.alloc(32, 7);
const CERT_URL = 'https://api.paypal.com/v1/notifications/certs/CERT-1';
const BODY_ID: unknown = expect.stringMatching(/^hash-[A-Za-z0-9]{22}$/);

const adyenItem = {
  additionalData: { hmacSignature: mac('psp1::merchant:order 1:1000:EUR:AUTHORISATION:true', 'base64', KEY) },
  amount: { value: 1000, currency: 'EUR' },
  pspReference: 'psp1',
  merchantAccountCode: 'merchant',
  merchantReference: 'order 1',
  eventCode: 'AUTHORISATION',
  success: 'true',
};

const standard =
  (name: string, signature: (content: string) => string) =>
  (body: string): Record<string, string> => ({
    'webhook-id': 'msg_1',
    'webhook-timestamp': SECONDS,
    'webhook-signature': `${name},${signature(`msg_1.${SECONDS}.${body}`)}`,
  });

export const SAMPLES: Readonly<Record<(typeof PRESET_NAMES)[number], Sample>> = {
  'adobe-commerce': {
    body: '{"order":1}',
    secret: { value: rsa.publicKey.export({ type: 'spki', format: 'pem' }) },
    headers: (body) => ({
      'x-adobe-commerce-webhook-signature': signWith(
        'sha256',
        Buffer.from(Buffer.from(body).toString('base64')),
        rsa.privateKey,
      ).toString('base64'),
    }),
    ids: [BODY_ID],
    type: '',
  },
  adyen: {
    body: JSON.stringify({ live: 'false', notificationItems: [{ NotificationRequestItem: adyenItem }] }),
    secret: { value: KEY.toString('hex') },
    headers: () => ({}),
    ids: ['merchant:psp1:AUTHORISATION:true'],
    type: 'AUTHORISATION',
  },
  'adyen-platform': {
    body: '{"type":"balancePlatform.accountHolder.created","data":{}}',
    secret: { value: KEY.toString('hex') },
    headers: (body) => ({ hmacsignature: mac(body, 'base64', KEY) }),
    ids: [BODY_ID],
    type: 'balancePlatform.accountHolder.created',
  },
  bigcommerce: {
    body: '{"scope":"store/order/created","data":{"id":7}}',
    headers: standard('v1', (content) => mac(content, 'base64')),
    ids: ['msg_1'],
    type: 'store/order/created',
    timed: true,
  },
  checkout: {
    body: '{"id":"evt_1","type":"payment_captured"}',
    headers: (body) => ({ 'cko-signature': mac(body, 'hex') }),
    ids: ['evt_1'],
    type: 'payment_captured',
  },
  cloudevents: {
    body: '[{"specversion":"1.0","source":"https://x.example/a","id":"1","type":"order.paid"},{"specversion":"1.0","source":"/b","id":"1","type":"order.paid"}]',
    headers: () => ({
      authorization: `Bearer ${SECRET}`,
      'content-type': 'application/cloudevents-batch+json; charset=UTF-8',
    }),
    ids: ['https://x.example/a|1', '/b|1'],
    type: 'order.paid',
    unsigned: true,
  },
  docusign: {
    body: '{"event":"envelope-completed","generatedDateTime":"2026-01-02T03:04:05Z","data":{"envelopeId":"e1"}}',
    headers: (body) => ({
      'x-docusign-signature-1': mac(body, 'base64', 'an older key'),
      'x-docusign-signature-2': mac(body, 'base64'),
    }),
    ids: ['envelope-completed:e1:2026-01-02T03%3A04%3A05Z'],
    type: 'envelope-completed',
  },
  'generic-hmac': {
    body: '{"id":"1","type":"paid"}',
    headers: (body) => ({ 'x-signature': `sha256=${mac(body, 'hex')}` }),
    ids: ['1'],
    type: 'paid',
  },
  github: {
    body: '{"action":"opened"}',
    headers: (body) => ({
      'x-hub-signature-256': `sha256=${mac(body, 'hex')}`,
      'x-github-delivery': 'guid-1',
      'x-github-event': 'issues',
    }),
    ids: ['guid-1'],
    type: 'issues',
  },
  gitlab: {
    body: '{"object_kind":"push"}',
    headers: () => ({ 'x-gitlab-token': SECRET, 'idempotency-key': 'g1', 'x-gitlab-event': 'Push Hook' }),
    ids: ['g1'],
    type: 'Push Hook',
    unsigned: true,
  },
  hubspot: {
    body: '[{"eventId":1,"subscriptionId":2,"portalId":3,"occurredAt":1564113600000,"subscriptionType":"contact.creation","attemptNumber":0,"objectId":4,"appId":5}]',
    settings: { request: { publicUrl: 'https://hooks.example.com/hubspot' } },
    query: 'a=1',
    headers: (body) => ({
      'x-hubspot-signature-v3': mac(`POSThttps://hooks.example.com/hubspot?a=1${body}${NOW_MS}`, 'base64'),
      'x-hubspot-request-timestamp': String(NOW_MS),
    }),
    ids: ['5:2:3:4:1564113600000:contact.creation:1'],
    type: 'contact.creation',
    timed: true,
  },
  quickbooks: {
    body: '{"eventNotifications":[{"realmId":"r1","dataChangeEvent":{"entities":[{"name":"Customer","id":"1","operation":"Create","lastUpdated":"2026-01-02T03:04:05Z"},{"name":"Invoice","id":"7","operation":"Delete","lastUpdated":"t2"}]}},{"realmId":"r2","dataChangeEvent":{"entities":[{"name":"Customer","id":"1","operation":"Create","lastUpdated":"t3"}]}}]}',
    headers: (body) => ({ 'intuit-signature': mac(body, 'base64') }),
    ids: [
      'r1:Customer:1:Create:2026-01-02T03%3A04%3A05Z',
      'r1:Invoice:7:Delete:t2',
      'r2:Customer:1:Create:t3',
    ],
    type: 'Customer.Create',
  },
  twilio: {
    body: 'MessageStatus=sent&MessageSid=SM1',
    settings: { request: { publicUrl: 'https://hooks.example.com/twilio' } },
    headers: () => ({
      'x-twilio-signature': createHmac('sha1', SECRET)
        .update('https://hooks.example.com/twilioMessageSidSM1MessageStatussent')
        .digest('base64'),
    }),
    ids: ['SM1:sent'],
    type: 'sent',
  },
  klarna: {
    body: '{"metadata":{"event_id":"k1","event_type":"payment.request"}}',
    secret: { value: SECRET, keyId: 'krn:key:1' },
    headers: (body) => ({ 'klarna-signature': mac(body, 'hex'), 'klarna-signing-key-id': 'krn:key:1' }),
    ids: ['k1'],
    type: 'payment.request',
  },
  linear: {
    body: `{"type":"Issue","webhookTimestamp":${NOW_MS}}`,
    headers: (body) => ({ 'linear-signature': mac(body, 'hex'), 'linear-delivery': 'd1' }),
    ids: ['d1'],
    type: 'Issue',
    timed: true,
  },
  meta: {
    body: '{"object":"page","entry":[{"id":"p1","time":1767323045,"changes":[{"field":"feed","value":{}},{"field":"feed","value":{"n":1.10}}]},{"id":"p1","time":1767323046,"messaging":[{"message":{"mid":"m1"}}]}]}',
    settings: { values: { verifyToken: 'agreed' } },
    headers: (body) => ({ 'x-hub-signature-256': `sha256=${mac(body, 'hex')}` }),
    ids: [BODY_ID, BODY_ID, BODY_ID],
    type: 'page.feed',
  },
  mollie: {
    body: '{"id":"event_1","type":"payment-link.paid"}',
    headers: (body) => ({ 'x-mollie-signature': `sha256=${mac(body, 'hex')}` }),
    ids: ['event_1'],
    type: 'payment-link.paid',
  },
  'mollie-classic': {
    body: 'id=tr_1',
    headers: () => ({ 'content-type': 'application/x-www-form-urlencoded' }),
    query: `token=${SECRET}`,
    ids: ['tr_1'],
    type: '',
    unsigned: true,
  },
  paypal: {
    body: '{"id":"WH-1","event_type":"PAYMENT.SALE.COMPLETED","resource":{"id":"S1"}}',
    secret: { value: rsa.publicKey.export({ type: 'spki', format: 'pem' }), keyId: CERT_URL },
    settings: { values: { webhookId: 'WEBHOOK1' } },
    headers: (body) => ({
      'paypal-transmission-id': 'tx-1',
      'paypal-transmission-time': '2026-01-02T03:04:05Z',
      'paypal-cert-url': CERT_URL,
      'paypal-auth-algo': 'SHA256withRSA',
      'paypal-transmission-sig': signWith(
        'sha256',
        Buffer.from(`tx-1|2026-01-02T03:04:05Z|WEBHOOK1|${crc32(body)}`),
        rsa.privateKey,
      ).toString('base64'),
    }),
    ids: ['WH-1'],
    type: 'PAYMENT.SALE.COMPLETED',
    timed: 'for days',
  },
  paddle: {
    body: '{"event_id":"evt_1","event_type":"transaction.paid"}',
    headers: (body) => {
      const right = mac(`${SECONDS}:${body}`, 'hex');
      return { 'paddle-signature': `ts=${SECONDS};h1=${right};h1=${mac('another key', 'hex')}` };
    },
    ids: ['evt_1'],
    type: 'transaction.paid',
    timed: true,
  },
  razorpay: {
    body: '{"event":"payment.captured"}',
    headers: (body) => ({ 'x-razorpay-signature': mac(body, 'hex'), 'x-razorpay-event-id': 'r1' }),
    ids: ['r1'],
    type: 'payment.captured',
  },
  sendgrid: {
    body: '[{"sg_event_id":"a","event":"bounce"},\r\n{"sg_event_id":"b","event":"open"}]\r\n',
    secret: { value: p256.publicKey.export({ type: 'spki', format: 'der' }).toString('base64') },
    headers: (body) => ({
      'x-twilio-email-event-webhook-signature': signWith(
        'sha256',
        Buffer.from(SECONDS + body),
        p256.privateKey,
      ).toString('base64'),
      'x-twilio-email-event-webhook-timestamp': SECONDS,
    }),
    ids: ['a', 'b'],
    type: 'bounce',
    timed: true,
  },
  shopify: {
    body: '{"id":820982911946154508}',
    headers: (body) => ({
      'x-shopify-hmac-sha256': mac(body, 'base64'),
      'x-shopify-webhook-id': 's1',
      'x-shopify-topic': 'orders/create',
    }),
    ids: ['s1'],
    type: 'orders/create',
  },
  slack: {
    body: '{"event_id":"Ev1","type":"event_callback","event":{"type":"message"}}',
    headers: (body) => ({
      'x-slack-signature': `v0=${mac(`v0:${SECONDS}:${body}`, 'hex')}`,
      'x-slack-request-timestamp': SECONDS,
    }),
    ids: ['Ev1'],
    type: 'message',
    timed: true,
  },
  square: {
    body: '{"event_id":"q1","type":"payment.updated"}',
    settings: { request: { publicUrl: 'https://hooks.example.com/square' } },
    headers: (body) => ({
      'x-square-hmacsha256-signature': mac(`https://hooks.example.com/square${body}`, 'base64'),
    }),
    ids: ['q1'],
    type: 'payment.updated',
  },
  'standard-webhooks': {
    body: '{"type":"invoice.paid"}',
    secret: { value: `whsec_${KEY.toString('base64')}` },
    headers: standard('v1', (content) => mac(content, 'base64', KEY)),
    ids: ['msg_1'],
    type: 'invoice.paid',
    timed: true,
  },
  'standard-webhooks-ed25519': {
    body: '{"type":"invoice.paid"}',
    secret: { value: `whpk_${ed25519Raw}` },
    headers: standard('v1a', (content) =>
      signWith(null, Buffer.from(content), ed25519.privateKey).toString('base64'),
    ),
    ids: ['msg_1'],
    type: 'invoice.paid',
    timed: true,
  },
  stripe: {
    body: '{"id":"evt_1","type":"charge.succeeded"}\n',
    headers: (body) => ({
      'stripe-signature': `t=${SECONDS},v1=${mac('old secret', 'hex')},v1=${mac(`${SECONDS}.${body}`, 'hex')},v0=00`,
    }),
    ids: ['evt_1'],
    type: 'charge.succeeded',
    timed: true,
  },
  woocommerce: {
    body: '{"id":7,"status":"paid"}',
    headers: (body) => ({
      'x-wc-webhook-signature': mac(body, 'base64'),
      'x-wc-webhook-topic': 'order.updated',
      'x-wc-webhook-delivery-id': 'the same within a second',
    }),
    ids: [BODY_ID],
    type: 'order.updated',
  },
  worldpay: {
    body: '{"eventId":"w1","eventDetails":{"type":"authorized"}}',
    secret: { value: SECRET, keyId: '2' },
    headers: (body) => ({ 'event-signature': `1/SHA256/${mac('x', 'hex')},2/SHA256/${mac(body, 'hex')}` }),
    ids: ['w1'],
    type: 'authorized',
  },
  xero: {
    body: '{"events":[{"tenantId":"t","resourceId":"r","eventType":"UPDATE","eventDateUtc":"d"}],"entropy":"X"}',
    headers: (body) => ({ 'x-xero-signature': mac(body, 'base64') }),
    ids: ['t:r:UPDATE:d'],
    type: 'UPDATE',
  },
  zendesk: {
    body: 'whatever an administrator typed',
    headers: (body) => {
      const time = new Date(NOW_MS).toISOString();
      return {
        'x-zendesk-webhook-signature': mac(time + body, 'base64'),
        'x-zendesk-webhook-signature-timestamp': time,
        'x-zendesk-webhook-invocation-id': 'z1',
      };
    },
    ids: ['z1'],
    type: '',
    timed: true,
  },
};

export function sourceOf(preset: (typeof PRESET_NAMES)[number], changes: object = {}): Source {
  const { secret, settings } = SAMPLES[preset];
  return Source.parse({
    preset,
    secrets: [{ id: 'current', value: SECRET, ...secret }],
    ...settings,
    ...changes,
  });
}

export const requestOf = (
  { body, headers, query = '' }: Sample,
  change: { body?: string } = {},
): Parameters<ReturnType<typeof createVerifier>>[0] => ({
  headers: headerLines(Object.entries(headers(body)).flat()),
  body: Buffer.from(change.body ?? body),
  query,
  nowMs: NOW_MS,
});
