import type { Preset } from './preset.ts';

/** standardwebhooks.com, symmetric scheme. See docs/providers/standard-webhooks.md. */
export const standardWebhooks: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'webhook-signature',
        list: {
          separator: ' ',
          keyValue: ',',
          pick: 'v1',
        },
        encoding: 'base64',
      },
      key: 'base64',
      keyPrefix: 'whsec_',
      timestamp: {
        header: 'webhook-timestamp',
      },
      join: '.',
      signed: [
        {
          header: 'webhook-id',
        },
        'timestamp',
        'body',
      ],
    },
    eventId: {
      header: 'webhook-id',
    },
    type: {
      pointer: '/type',
    },
  },
};
