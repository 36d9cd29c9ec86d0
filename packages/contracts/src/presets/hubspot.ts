import type { Preset } from './preset.ts';

/** @hubspot/api-client, signature.js: base64 HMAC-SHA256 over method, URL, body and timestamp. See docs/providers/hubspot.md. */
export const hubspot: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'x-hubspot-signature-v3',
        encoding: 'base64',
      },
      timestamp: {
        header: 'x-hubspot-request-timestamp',
        unit: 'ms',
      },
      signed: [
        'method',
        {
          url: 'requested',
        },
        'body',
        'timestamp',
      ],
    },
    batch: {
      pointer: '',
    },
    onUnparsable: 'accept', // HubSpot repeats nothing that got a 400.
    eventId: {
      concat: [
        {
          pointer: '/appId',
        },
        {
          pointer: '/subscriptionId',
        },
        {
          pointer: '/portalId',
        },
        {
          pointer: '/objectId',
        },
        {
          pointer: '/occurredAt',
        },
        {
          pointer: '/subscriptionType',
        },
        {
          pointer: '/eventId',
        },
      ],
    },
    type: {
      pointer: '/subscriptionType',
    },
    entity: {
      pointer: '/objectId',
    },
  },
  unverified: [
    'app, subscription, portal, object, time, type and event id together name an event',
    'the URL is signed as it was requested, with its escapes',
  ],
};
