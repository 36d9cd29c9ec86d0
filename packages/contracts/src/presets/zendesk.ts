import type { Preset } from './preset.ts';

/** developer.zendesk.com: base64 HMAC-SHA256 over timestamp and body. See docs/providers/zendesk.md. */
export const zendesk: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'x-zendesk-webhook-signature',
        encoding: 'base64',
      },
      timestamp: {
        header: 'x-zendesk-webhook-signature-timestamp',
        unit: 'iso',
      },
      signed: ['timestamp', 'body'],
    },
    parse: {
      format: 'none',
    },
    eventId: {
      header: 'x-zendesk-webhook-invocation-id',
    },
    replayKey: 'signature',
  },
  unverified: ['the invocation id is the same in every retry'],
};
