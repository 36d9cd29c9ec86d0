import type { Preset } from './preset.ts';

/** docs.klarna.com: HMAC-SHA256 of the JSON, key chosen by Klarna-Signing-Key-Id. See docs/providers/klarna.md. */
export const klarna: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'klarna-signature',
        encoding: 'hex',
      },
      keyId: {
        header: 'klarna-signing-key-id',
      },
    },
    eventId: {
      pointer: '/metadata/event_id',
    },
    type: {
      pointer: '/metadata/event_type',
    },
    entity: {
      pointer: '/metadata/recipient_account_id',
    },
    answers: {
      signature: {
        status: 400,
      },
    },
  },
  unverified: ['the signature is in hexadecimal', 'the signing key is used as text'],
};
