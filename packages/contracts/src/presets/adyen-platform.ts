import type { Preset } from './preset.ts';

/** adyen-node-api-library, hmacValidator.ts, validateHMACSignature. See docs/providers/adyen-platform.md. */
export const adyenPlatform: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'hmacsignature',
        encoding: 'base64',
      },
      key: 'hex',
    },
    eventId: {
      sha256: ['body'],
    },
    type: {
      pointer: '/type',
    },
  },
  unverified: ['retries have the same bytes'],
};
