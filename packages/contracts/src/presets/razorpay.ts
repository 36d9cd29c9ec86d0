import type { Preset } from './preset.ts';

/** razorpay-node, validateWebhookSignature: hex HMAC-SHA256 of the body. See docs/providers/razorpay.md. */
export const razorpay: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'x-razorpay-signature',
        encoding: 'hex',
      },
    },
    eventId: {
      header: 'x-razorpay-event-id',
    },
    replayKey: 'signature',
    type: {
      pointer: '/event',
    },
  },
};
