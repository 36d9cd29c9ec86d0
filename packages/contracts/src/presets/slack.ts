import type { Preset } from './preset.ts';

/** docs.slack.dev, "Verifying requests from Slack". See docs/providers/slack.md. */
export const slack: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'x-slack-signature',
        prefix: 'v0=',
        encoding: 'hex',
      },
      timestamp: {
        header: 'x-slack-request-timestamp',
      },
      join: ':',
      signed: [
        {
          literal: 'v0',
        },
        'timestamp',
        'body',
      ],
    },
    eventId: {
      pointer: '/event_id',
    },
    type: [
      {
        pointer: '/event/type',
      },
      {
        pointer: '/type',
      },
    ],
    entity: {
      pointer: '/team_id',
    },
    challenges: [
      {
        when: {
          pointer: {
            at: '/type',
            equals: 'url_verification',
          },
        },
        verified: true,
        echo: {
          pointer: '/challenge',
        },
      },
    ],
  },
};
