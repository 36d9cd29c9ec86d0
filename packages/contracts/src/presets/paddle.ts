import type { Preset } from './preset.ts';

/** paddle-node-sdk, webhooks-validator: HMAC-SHA256 hex over `ts:body`. See docs/providers/paddle.md. */
export const paddle: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'paddle-signature',
        list: {
          separator: ';',
          keyValue: '=',
          pick: 'h1',
        },
        encoding: 'hex',
      },
      timestamp: {
        field: 'ts',
        tolerance: '60s',
      },
      join: ':',
      signed: ['timestamp', 'body'],
    },
    eventId: {
      pointer: '/event_id',
    },
    type: {
      pointer: '/event_type',
    },
    entity: {
      pointer: '/data/id',
    },
  },
};
