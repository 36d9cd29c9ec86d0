import { expect, test } from '@jest/globals';
import { createVerifier } from '../src/verify.ts';
import { authWith, requestOf, sourceWith } from './support.ts';

/* Signatures that others published, so that the verifier is not only measured against itself. */

interface Vector {
  readonly from: string;
  readonly auth: Record<string, unknown>;
  readonly secrets: readonly string[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly nowMs?: number;
}

const hex = (header: string, prefix = ''): Record<string, unknown> => ({
  signature: { header, prefix, encoding: 'hex' },
});
const base64 = (header: string, prefix = ''): Record<string, unknown> => ({
  signature: { header, prefix, encoding: 'base64' },
});

const VECTORS: readonly Vector[] = [
  {
    from: 'docs.github.com, validating webhook deliveries',
    auth: hex('X-Hub-Signature-256', 'sha256='),
    secrets: ["It's a Secret to Everybody"],
    headers: {
      'X-Hub-Signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    },
    body: 'Hello, World!',
  },
  {
    from: 'octokit/webhooks-methods.js, second of two secrets',
    auth: hex('X-Hub-Signature-256', 'sha256='),
    secrets: ['foo', 'mysecret'],
    headers: {
      'X-Hub-Signature-256': 'sha256=4864d2759938a15468b5df9ade20bf161da9b4f737ea61794142f3484236bda3',
    },
    body: '{"foo":"bar"}',
  },
  {
    from: 'octokit/webhooks-methods.js, an escape that a re-serialised body would change',
    auth: hex('X-Hub-Signature-256', 'sha256='),
    secrets: ['development'],
    headers: {
      'X-Hub-Signature-256': 'sha256=afecc3caa27548bb90d51a50384cb2868b9a3327b4ad6a01c9bd4ed0f8b0b12c',
    },
    body: String.raw`{"foo":"Foo\n\u001B[34mbar: ♥♥♥♥♥♥♥♥\nthis-is-lost\u001B[0m\u001B[2K"}`,
  },
  {
    from: 'standard-webhooks/standard-webhooks, JavaScript tests',
    auth: {
      ...base64('webhook-signature', 'v1,'),
      key: 'base64',
      timestamp: { header: 'webhook-timestamp' },
      signed: [{ header: 'webhook-id' }, { literal: '.' }, 'timestamp', { literal: '.' }, 'body'],
    },
    secrets: ['MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
    headers: {
      'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
      'webhook-timestamp': '1614265330',
      'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    },
    body: '{"test": 2432232314}',
    nowMs: 1_614_265_330_000,
  },
  {
    from: 'square/square-nodejs-sdk: the configured URL is signed too',
    auth: {
      ...base64('x-square-hmacsha256-signature'),
      signed: [{ literal: 'https://webhook.site/679a4f3a-dcfa-49ee-bac5-9d0edad886b9' }, 'body'],
    },
    secrets: ['Ibxx_5AKakO-3qeNVR61Dw'],
    headers: { 'x-square-hmacsha256-signature': 'GF4YkrJgGBDZ9NIYbNXBnMzqb2HoL4RW/S6vkZ9/2N4=' },
    body: '{"merchant_id":"MLEFBHHSJGVHD","type":"webhooks.test_notification","event_id":"ac3ac95b-f97d-458c-a6e6-18981597e05f","created_at":"2022-07-13T20:30:59.037339943Z","data":{"type":"webhooks","id":"bc368e64-01aa-407e-b46e-3231809b1129"}}',
  },
  {
    from: 'frain-dev/convoy, SHA-512 in hexadecimal',
    auth: { ...hex('X-Convoy-Signature'), algorithm: 'hmac-sha512' },
    secrets: ['convoy-webhook-secret'],
    headers: {
      'X-Convoy-Signature':
        '6cc772dc81942ae1b5ffa91c3a6a07b0d37edc8dc6bd83e3518a219f1f19ff71ae1b76d6b320940d414c236a1aad7f7930b63e0f1928951955d31219545e1b66',
    },
    body: '{"event":"charge.success","amount":1000,"currency":"NGN"}',
  },
  {
    from: 'frain-dev/convoy, SHA-512 in base64',
    auth: { ...base64('X-Convoy-Signature'), algorithm: 'hmac-sha512' },
    secrets: ['convoy-webhook-secret'],
    headers: {
      'X-Convoy-Signature':
        'bMdy3IGUKuG1/6kcOmoHsNN+3I3GvYPjUYohnx8Z/3GuG3bWsyCUDUFMI2oarX95MLY+DxkolRlV0xIZVF4bZg==',
    },
    body: '{"event":"charge.success","amount":1000,"currency":"NGN"}',
  },
  {
    from: 'grnhse/greenhouse-api-docs issue 276: the prefix ends in a space',
    auth: hex('Signature', 'sha256 '),
    secrets: ['1uSUju2H6AohOE7OQVaxeLT3O8Uxxuas'],
    headers: { Signature: 'sha256 395b1309fd37f0732d1ed11c15e03edd61b818918df6bf93be7c71bafb09c877' },
    body: '{"action":"ping","payload":{"web_hook_id":4001693002,"endpoint_url":"https://67e09e60.ngrok.io/webhooks","created_at":"2018-12-20T15:43:12Z","updated_at":"2018-12-27T09:40:14Z","name":"Job Post Create","event":"Job Post Created","active":true,"content-type":"application/json"}}',
  },
];

test.each(VECTORS)(
  'a published signature is verified: $from',
  ({ auth, secrets, headers, body, nowMs = 0 }) => {
    const source = sourceWith({
      auth: authWith(auth),
      secrets: secrets.map((value, index) => ({ id: `s${index}`, value })),
    });
    const verify = createVerifier(source);
    const request = requestOf(body, ...Object.entries(headers));
    expect(verify({ ...request, nowMs })).toEqual({ ok: true, secretId: `s${secrets.length - 1}` });
    const longer = Buffer.concat([request.body, Buffer.from('\n')]);
    expect(verify({ ...request, body: longer, nowMs })).toMatchObject({
      ok: false,
      code: 'signature_invalid',
    });
  },
);
