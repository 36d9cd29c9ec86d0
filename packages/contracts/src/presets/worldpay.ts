import type { Preset } from './preset.ts';

/** developer.worldpay.com: `{keyId}/{hash}/{hmac}`, several in one header. See docs/providers/worldpay.md. */
export const worldpay: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'event-signature',
        list: {
          separator: ',',
          keyValue: '/',
          trim: true,
        },
        prefix: 'SHA256/',
        encoding: 'hex',
      },
      keyId: 'list',
    },
    eventId: {
      pointer: '/eventId',
    },
    type: {
      pointer: '/eventDetails/type',
    },
    entity: {
      pointer: '/eventDetails/transactionReference',
    },
    onUnparsable: 'accept', // A refusal would hold up everything behind it.
    answers: {
      signature: {
        status: 400,
      },
    },
  },
  unverified: ['the signature is in hexadecimal', 'the shared secret is used as text'],
};
