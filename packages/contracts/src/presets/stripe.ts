import type { Preset } from './preset.ts';

/** stripe-node, Webhooks.js: HMAC-SHA256 over `t.body`, the whole `whsec_...` text being the key. See docs/providers/stripe.md. */
export const stripe: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'stripe-signature',
        list: {
          separator: ',',
          keyValue: '=',
          pick: 'v1',
        },
        encoding: 'hex',
      },
      timestamp: {
        field: 't',
      },
      join: '.',
      signed: ['timestamp', 'body'],
    },
    eventId: {
      pointer: '/id',
    },
    type: {
      pointer: '/type',
    },
    entity: {
      pointer: '/data/object/id',
    },
  },
};
