import type { Preset } from './preset.ts';

/** adyen-node-api-library, hmacValidator.ts: eight fields of each item, joined by colons without escaping. See docs/providers/adyen.md. */
export const adyen: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      key: 'hex',
      signature: {
        pointer: '/additionalData/hmacSignature',
        encoding: 'base64',
      },
      join: ':',
      signed: [
        {
          pointer: '/pspReference',
          or: '',
        },
        {
          pointer: '/originalReference',
          or: '',
        },
        {
          pointer: '/merchantAccountCode',
          or: '',
        },
        {
          pointer: '/merchantReference',
          or: '',
        },
        {
          pointer: '/amount/value',
          or: '',
        },
        {
          pointer: '/amount/currency',
          or: '',
        },
        {
          pointer: '/eventCode',
          or: '',
        },
        {
          pointer: '/success',
          or: '',
        },
      ],
    },
    batch: {
      pointer: '/notificationItems',
      item: '/NotificationRequestItem',
      signature: 'perItem',
    },
    eventId: {
      concat: [
        {
          pointer: '/merchantAccountCode',
        },
        {
          pointer: '/pspReference',
        },
        {
          pointer: '/eventCode',
        },
        {
          pointer: '/success',
        },
      ],
    },
    type: {
      pointer: '/eventCode',
    },
    entity: {
      pointer: '/merchantReference',
    },
  },
  unverified: ['a repeated event code and outcome for one payment is always a retry, never a new fact'],
};
