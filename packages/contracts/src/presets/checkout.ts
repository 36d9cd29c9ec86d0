import type { Preset } from './preset.ts';

/** checkout.com documentation: hex HMAC-SHA256 of the body. See docs/providers/checkout.md. */
export const checkout: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'cko-signature',
        encoding: 'hex',
      },
    },
    eventId: {
      pointer: '/id',
    },
    type: {
      pointer: '/type',
    },
    onUnparsable: 'accept',
  },
};
