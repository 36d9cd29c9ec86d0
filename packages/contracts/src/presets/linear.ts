import type { Preset } from './preset.ts';

/** @linear/sdk: hex HMAC-SHA256 of the body, time in the signed body. See docs/providers/linear.md. */
export const linear: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'linear-signature',
        encoding: 'hex',
      },
      timestamp: {
        pointer: '/webhookTimestamp',
        unit: 'ms',
        tolerance: '60s',
      },
    },
    eventId: {
      header: 'linear-delivery',
    },
    replayKey: 'signature',
    type: {
      pointer: '/type',
    },
  },
};
