import type { Preset } from './preset.ts';

/** docs.gitlab.com, Webhooks: the token as it is in X-Gitlab-Token. See docs/providers/gitlab.md. */
export const gitlab: Preset = {
  source: {
    auth: {
      kind: 'sharedSecret',
      in: 'header',
      name: 'X-Gitlab-Token',
    },
    eventId: {
      header: 'idempotency-key',
    },
    replayKey: 'none',
    type: {
      header: 'x-gitlab-event',
    },
    maxBodyBytes: 26214400,
  },
  unverified: ['the type is in X-Gitlab-Event'],
};
