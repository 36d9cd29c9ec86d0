import type { Preset } from './preset.ts';

/** twilio-node, webhooks.js: base64 HMAC-SHA1 over the URL and the sorted form fields. See docs/providers/twilio.md. */
export const twilio: Preset = {
  source: {
    auth: [
      {
        kind: 'signature',
        algorithm: 'hmac-sha1',
        signature: {
          header: 'x-twilio-signature',
          encoding: 'base64',
        },
        when: {
          query: 'bodySHA256',
          present: false,
        },
        signed: [
          [
            {
              url: 'requested',
            },
            {
              body: 'sortedForm',
            },
          ],
          [
            {
              url: 'requestedWithPort',
            },
            {
              body: 'sortedForm',
            },
          ],
        ],
      },
      {
        kind: 'signature',
        algorithm: 'hmac-sha1',
        signature: {
          header: 'x-twilio-signature',
          encoding: 'base64',
        },
        when: {
          query: 'bodySHA256',
          present: true,
        },
        signed: [
          [
            {
              url: 'requested',
            },
          ],
          [
            {
              url: 'requestedWithPort',
            },
          ],
        ],
      },
      {
        kind: 'queryEquals',
        name: 'bodySHA256',
        to: {
          body: 'sha256hex',
        },
        when: {
          query: 'bodySHA256',
          present: true,
        },
      },
    ],
    parse: {
      format: 'form',
    },
    eventId: [
      {
        concat: [
          {
            pointer: '/MessageSid',
          },
          {
            pointer: '/MessageStatus',
          },
        ],
      },
      {
        concat: [
          {
            pointer: '/CallSid',
          },
          {
            pointer: '/CallStatus',
          },
        ],
      },
    ],
    entity: [
      {
        pointer: '/MessageSid',
      },
      {
        pointer: '/CallSid',
      },
    ],
    type: [
      {
        pointer: '/MessageStatus',
      },
      {
        pointer: '/CallStatus',
      },
    ],
  },
  unverified: ['a message or call reports each status once'],
};
