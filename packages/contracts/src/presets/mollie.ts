import type { Preset } from './preset.ts';

/** mollie-api-typescript: hex HMAC-SHA256 of the body. See docs/providers/mollie.md. */
export const mollie: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'x-mollie-signature',
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
  unverified: ['the id of the event is at /id'],
};
