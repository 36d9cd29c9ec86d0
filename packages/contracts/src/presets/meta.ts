import type { Preset } from './preset.ts';

/** developers.facebook.com, Webhooks: HMAC-SHA256 hex of the body under the app secret. See docs/providers/meta.md. */
export const meta: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'x-hub-signature-256',
        prefix: 'sha256=',
        encoding: 'hex',
      },
    },
    eventId: {
      sha256: ['body'],
    },
    type: {
      pointer: '/object',
    },
    challenges: [
      {
        when: {
          method: 'GET',
          query: {
            name: 'hub.mode',
            equals: 'subscribe',
          },
        },
        verified: false,
        token: {
          query: 'hub.verify_token',
          config: 'verifyToken',
        },
        echo: {
          query: 'hub.challenge',
        },
      },
    ],
  },
  unverified: ['retries have the same bytes'],
};
