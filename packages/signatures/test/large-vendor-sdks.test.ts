import { createHmac, hash } from 'node:crypto';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { testUnless } from '../../../test/support/test-unless.ts';
import { expectAgreement, type JudgedRequest } from './vendor-judges.ts';

/*
 * Vendors' libraries that bring 12 to 80 MB each, which is too much for everybody who runs the tests. Install them into a folder
 * and name it:
 *   npm install --prefix DIR @adyen/api-library@32.1.0 square@46.0.0 twilio@6.3.1 @shopify/shopify-api@15.0.0 @linear/sdk@98.0.0
 *   VENDOR_SDKS=DIR npm test -- packages/signatures/test/large-vendor-sdks.test.ts
 */

const DIRECTORY = process.env['VENDOR_SDKS'];
const testWithSdks = testUnless(
  DIRECTORY === undefined ? 'VENDOR_SDKS names no folder with the large SDKs of vendors' : undefined,
);
const load = (name: string): unknown => createRequire(join(DIRECTORY ?? '', 'package.json'))(name);

const SECRET = 'a secret';
const BODY = Buffer.from('{\n  "event_id": "1", "amount": 1.10, "name": "caf\u00e9 \u2615"\n}\n');
const base64 = (content: string | Buffer, algorithm = 'sha256', key: string | Buffer = SECRET): string =>
  createHmac(algorithm, key).update(content).digest('base64');
const source = (preset: string, more: object = {}): Record<string, unknown> => ({
  preset,
  secrets: [{ id: 'a', value: SECRET }],
  ...more,
});

interface AdyenItem {
  readonly NotificationRequestItem: { additionalData?: Record<string, string> };
}

testWithSdks('adyen', async () => {
  const { hmacValidator: Validator } = load('@adyen/api-library') as {
    hmacValidator: new () => {
      calculateHmac: (item: object, key: string) => string;
      validateHMAC: (item: object, key: string) => boolean;
    };
  };
  const [validator, key] = [
    new Validator(),
    '44782DEF547AAA06C910C43932B1EB0C71FC68D9D0C057550C48EC2ACF6BA056',
  ];
  const item = {
    pspReference: '7914073381342284',
    originalReference: null,
    merchantAccountCode: 'Test:Merchant',
    merchantReference: 'order caf\u00e9 \\ 1',
    amount: { value: 1130, currency: 'EUR' },
    eventCode: 'AUTHORISATION',
    success: 'true',
  };
  const others = [
    item,
    { ...item, originalReference: 'x:y', success: 'false', amount: { value: 0, currency: 'JPY' } },
    { ...item, merchantReference: '', originalReference: undefined },
  ];
  const judge = ({ body }: JudgedRequest): boolean =>
    (JSON.parse(body.toString()) as { notificationItems: AdyenItem[] }).notificationItems.every((each) =>
      validator.validateHMAC(each.NotificationRequestItem, key),
    );
  for (const each of others) {
    const signed = { additionalData: { hmacSignature: validator.calculateHmac(each, key) }, ...each };
    const body = Buffer.from(
      JSON.stringify({ live: 'false', notificationItems: [{ NotificationRequestItem: signed }] }),
    );
    const from = body.indexOf('"pspReference"');
    await expectAgreement({
      source: source('adyen', { secrets: [{ id: 'a', value: key }] }),
      request: { headers: {}, body },
      judge,
      // Names of members, and what surrounds the eight values, may change into what says the same.
      unsigned: (at) => at < from || !isValueByte(body, at),
    });
  }
});

/** Inside a text or a number of the item, and not the last byte that decides how JSON reads it. */
function isValueByte(body: Buffer, at: number): boolean {
  return (
    /(?::"[^"\\]*|:\d*)$/.test(body.toString('latin1', 0, at)) &&
    /[A-Za-z0-9 ]/.test(String.fromCharCode(body.readUInt8(at)))
  );
}

testWithSdks('square', async () => {
  const { WebhooksHelper } = load('square') as {
    WebhooksHelper: { verifySignature: (request: Record<string, string>) => Promise<boolean> };
  };
  const notificationUrl = 'https://hooks.example.com/webhooks/square?a=1';
  await expectAgreement({
    source: source('square', { request: { publicUrl: notificationUrl } }),
    request: {
      headers: {
        'x-square-hmacsha256-signature': base64(Buffer.concat([Buffer.from(notificationUrl), BODY])),
      },
      body: BODY,
    },
    signature: 'x-square-hmacsha256-signature',
    judge: ({ headers, body }) =>
      WebhooksHelper.verifySignature({
        requestBody: body.toString(),
        signatureHeader: headers['x-square-hmacsha256-signature'] ?? '',
        signatureKey: SECRET,
        notificationUrl,
      }),
  });
});

testWithSdks('twilio', async () => {
  const sdk = load('twilio') as {
    getExpectedTwilioSignature: (token: string, url: string, params: object) => string;
    validateRequest: (token: string, signature: string, url: string, params: object) => boolean;
    validateRequestWithBody: (token: string, signature: string, url: string, body: string) => boolean;
  };
  const header = 'x-twilio-signature';
  const paramsOf = (body: Buffer): Record<string, string | string[]> => {
    const fields = new URLSearchParams(body.toString());
    return Object.fromEntries(
      [...new Set(fields.keys())].map((name) => {
        const values = [...fields.getAll(name)]; // an Array of this realm, by which the library knows a list
        return [name, values.length > 1 ? values : (values[0] ?? '')];
      }),
    );
  };
  const publicUrl = 'https://hooks.example.com/webhooks/twilio';
  const body = Buffer.from('MessageSid=SM1&Body=caf%C3%A9+%E2%98%95&Zeta=&alpha=2&alpha=1&alpha=2&Tag=b');
  for (const query of ['', 'foo=bar&x=%20y']) {
    const url = query === '' ? publicUrl : `${publicUrl}?${query}`;
    for (const signed of [url, url.replace('.com', '.com:443')]) {
      await expectAgreement({
        source: source('twilio', { request: { publicUrl } }),
        request: {
          headers: { [header]: sdk.getExpectedTwilioSignature(SECRET, signed, paramsOf(body)) },
          body,
          query,
        },
        signature: header,
        judge: ({ headers, body: bytes }) =>
          sdk.validateRequest(SECRET, headers[header] ?? '', url, paramsOf(bytes)),
        // A form has several spellings of one value: "+" and "%20", and the digits of an escape.
        unsigned: (at) => /[%+]|%.|%../.test(body.toString('latin1', Math.max(0, at - 2), at + 1)),
      });
    }
  }
  const withHash = `bodySHA256=${hash('sha256', BODY)}`;
  await expectAgreement({
    source: source('twilio', { request: { publicUrl } }),
    request: {
      headers: { [header]: sdk.getExpectedTwilioSignature(SECRET, `${publicUrl}?${withHash}`, {}) },
      body: BODY,
      query: withHash,
    },
    signature: header,
    judge: ({ headers, body: bytes }) =>
      sdk.validateRequestWithBody(
        SECRET,
        headers[header] ?? '',
        `${publicUrl}?${withHash}`,
        bytes.toString(),
      ),
  });
});

testWithSdks('shopify', async () => {
  load('@shopify/shopify-api/adapters/node');
  const { shopifyApi, ApiVersion, LogSeverity } = load('@shopify/shopify-api') as {
    shopifyApi: (config: object) => {
      webhooks: { validate: (request: object) => Promise<{ valid: boolean }> };
    };
    ApiVersion: Record<string, string>;
    LogSeverity: Record<string, number>;
  };
  const shopify = shopifyApi({
    apiKey: 'unused',
    apiSecretKey: SECRET,
    hostName: 'hooks.example.com',
    apiVersion: Object.values(ApiVersion)[0],
    isEmbeddedApp: false,
    logger: { level: LogSeverity['Error'] },
  });
  const header = 'x-shopify-hmac-sha256';
  await expectAgreement({
    source: source('shopify'),
    request: {
      headers: {
        [header]: base64(BODY),
        'x-shopify-topic': 'orders/create',
        'x-shopify-shop-domain': 'shop.example.com',
        'x-shopify-api-version': '2026-01',
        'x-shopify-webhook-id': '1',
      },
      body: BODY,
    },
    signature: header,
    judge: async ({ headers, body }) => {
      const rawRequest = { method: 'POST', url: '/', headers };
      return (await shopify.webhooks.validate({ rawBody: body.toString(), rawRequest })).valid;
    },
  });
});

testWithSdks('linear', async () => {
  const path = join(DIRECTORY ?? '', 'node_modules/@linear/sdk/dist/webhooks/index.mjs');
  const { LinearWebhookClient } = (await import(pathToFileURL(path).href)) as {
    LinearWebhookClient: new (secret: string) => {
      verify: (body: Buffer, signature: string, timestamp: number) => boolean;
    };
  };
  const client = new LinearWebhookClient(SECRET);
  const webhookTimestamp = Date.now();
  const body = Buffer.from(`{"name":"caf\u00e9","webhookTimestamp":${webhookTimestamp}}`);
  await expectAgreement({
    source: source('linear'),
    request: {
      headers: { 'linear-signature': createHmac('sha256', SECRET).update(body).digest('hex') },
      body,
    },
    signature: 'linear-signature',
    nowMs: webhookTimestamp,
    judge: ({ headers, body: bytes }) =>
      client.verify(bytes, headers['linear-signature'] ?? '', webhookTimestamp),
  });
});
