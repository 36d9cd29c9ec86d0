import type { Preset } from './preset.ts';

/** developer.intuit.com, Webhooks. See docs/providers/quickbooks.md. */
export const quickbooks: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'intuit-signature',
        encoding: 'base64',
      },
    },
    eventId: {
      sha256: ['body'],
    },
  },
  unverified: [
    'the signature is base64 HMAC-SHA256 of the body under the verifier token',
    'retries have the same bytes',
  ],
};
