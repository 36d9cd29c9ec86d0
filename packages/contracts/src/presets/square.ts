import type { Preset } from './preset.ts';

/** square-nodejs-sdk, webhooksHelper: base64 HMAC-SHA256 over the notification URL and the body. See docs/providers/square.md. */
export const square: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'x-square-hmacsha256-signature',
        encoding: 'base64',
      },
      signed: [
        {
          url: 'configured',
        },
        'body',
      ],
    },
    eventId: {
      pointer: '/event_id',
    },
    type: {
      pointer: '/type',
    },
    entity: {
      pointer: '/data/id',
    },
  },
};
