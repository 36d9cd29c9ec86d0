import type { Preset } from './preset.ts';

/** developer.bigcommerce.com: Standard Webhooks with the client secret as raw text. See docs/providers/bigcommerce.md. */
export const bigcommerce: Preset = {
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
      key: 'utf8',
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
      pointer: '/scope',
    },
    entity: {
      pointer: '/data/id',
    },
  },
};
