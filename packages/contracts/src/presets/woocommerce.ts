import type { Preset } from './preset.ts';

/** woocommerce, class-wc-webhook.php: base64 HMAC-SHA256 of the body. See docs/providers/woocommerce.md. */
export const woocommerce: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'x-wc-webhook-signature',
        encoding: 'base64',
      },
    },
    eventId: {
      sha256: ['body'],
    },
    type: {
      header: 'x-wc-webhook-topic',
    },
    entity: {
      pointer: '/id',
    },
    pings: [
      {
        when: {
          formFields: ['webhook_id'],
        },
        verified: false,
      },
    ],
  },
};
