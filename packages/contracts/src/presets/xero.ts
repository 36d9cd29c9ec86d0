import type { Preset } from './preset.ts';

/** developer.xero.com: base64 HMAC-SHA256 of the body. See docs/providers/xero.md. */
export const xero: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'x-xero-signature',
        encoding: 'base64',
      },
    },
    batch: {
      pointer: '/events',
      empty: 'ack',
    },
    eventId: {
      concat: [
        {
          pointer: '/tenantId',
        },
        {
          pointer: '/resourceId',
        },
        {
          pointer: '/eventType',
        },
        {
          pointer: '/eventDateUtc',
        },
      ],
    },
    type: {
      pointer: '/eventType',
    },
    entity: {
      pointer: '/resourceId',
    },
    answers: {
      accepted: {
        status: 200,
        body: '',
      },
      signature: {
        status: 401,
        body: '',
      },
    },
  },
  unverified: ['tenant, resource, event type and date name the event'],
};
