import type { Preset } from './preset.ts';

/** @sendgrid/eventwebhook: ECDSA P-256 with SHA-256 over timestamp and body. See docs/providers/sendgrid.md. */
export const sendgrid: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'ecdsa-p256-sha256',
      key: 'spki-base64',
      signature: {
        header: 'x-twilio-email-event-webhook-signature',
        encoding: 'base64',
      },
      timestamp: {
        header: 'x-twilio-email-event-webhook-timestamp',
      },
      signed: ['timestamp', 'body'],
    },
    batch: {
      pointer: '',
      max: 1000,
    },
    eventId: {
      pointer: '/sg_event_id',
    },
    type: {
      pointer: '/event',
    },
    entity: {
      pointer: '/sg_message_id',
    },
  },
};
