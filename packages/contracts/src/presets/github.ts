import type { Preset } from './preset.ts';

/** docs.github.com, "Validating webhook deliveries". See docs/providers/github.md. */
export const github: Preset = {
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
      header: 'x-github-delivery',
    },
    replayKey: 'signature',
    type: {
      header: 'x-github-event',
    },
    maxBodyBytes: 26214400,
    pings: [
      {
        when: {
          header: {
            name: 'x-github-event',
            equals: 'ping',
          },
        },
      },
    ],
  },
  unverified: ['a manual redelivery carries the delivery id of the first one'],
};
