import type { Preset } from './preset.ts';

/** standardwebhooks.com, asymmetric scheme. See docs/providers/standard-webhooks-ed25519.md. */
export const standardWebhooksEd25519: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'ed25519',
      signature: {
        header: 'webhook-signature',
        list: {
          separator: ' ',
          keyValue: ',',
          pick: 'v1a',
        },
        encoding: 'base64',
      },
      key: 'ed25519-base64',
      keyPrefix: 'whpk_',
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
