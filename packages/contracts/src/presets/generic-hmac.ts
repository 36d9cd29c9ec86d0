import type { Preset } from './preset.ts';

/** the common form of home-made webhooks. See docs/providers/generic-hmac.md. */
export const genericHmac: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'x-signature',
        prefix: 'sha256=',
        encoding: 'hex',
      },
    },
    eventId: {
      pointer: '/id',
    },
    type: {
      pointer: '/type',
    },
  },
};
