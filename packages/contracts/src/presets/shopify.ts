import type { Preset } from './preset.ts';

/** shopify.dev, HTTPS deliveries: base64 HMAC-SHA256 of the body under the client secret of the app. See docs/providers/shopify.md. */
export const shopify: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'x-shopify-hmac-sha256',
        encoding: 'base64',
      },
    },
    eventId: {
      header: 'x-shopify-webhook-id',
    },
    replayKey: 'signature',
    type: {
      header: 'x-shopify-topic',
    },
    entity: {
      header: 'x-shopify-shop-domain',
    },
  },
};
