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
    batch: {
      pointer: '/entry',
      nested: ['/changes', '/messaging', '/standby'],
      max: 1000,
      empty: 'ack',
    },
    eventId: {
      sha256: [{ pointer: '/id', in: 'element' }, { pointer: '/time', in: 'element' }, 'body'],
    },
    // Two changes without id or time may be alike and are two all the same.
    onMissingId: 'undeduped',
    replayKey: 'signature',
    type: [
      { concat: [{ pointer: '/object', in: 'delivery' }, { pointer: '/field' }], separator: '.' },
      { pointer: '/object', in: 'delivery' },
    ],
    entity: { pointer: '/id', in: 'element' },
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
  unverified: [
    'retries have the same bytes',
    'a delivery has at most 1,000 changes',
    'an entry has its events in changes, messaging or standby, or is one itself',
  ],
};
