import type { Preset } from './preset.ts';

/** developer.intuit.com, Webhooks. See docs/providers/quickbooks.md. */
export const quickbooks: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        header: 'intuit-signature',
        encoding: 'base64',
      },
    },
    batch: {
      pointer: '/eventNotifications',
      nested: ['/dataChangeEvent/entities'],
      max: 1000,
      empty: 'ack',
    },
    onUnparsable: 'accept', // A refusal would hold up everything behind it.
    eventId: {
      concat: [
        { pointer: '/realmId', in: 'element' },
        { pointer: '/name' },
        { pointer: '/id' },
        { pointer: '/operation' },
        { pointer: '/lastUpdated' },
      ],
    },
    // What has none of these is taken too, once for the same signed bytes.
    onMissingId: 'undeduped',
    replayKey: 'signature',
    type: [{ concat: [{ pointer: '/name' }, { pointer: '/operation' }], separator: '.' }],
    entity: {
      concat: [{ pointer: '/realmId', in: 'element' }, { pointer: '/name' }, { pointer: '/id' }],
    },
  },
  unverified: [
    'changes are in eventNotifications[].dataChangeEvent.entities[]',
    'the signature is base64 HMAC-SHA256 of the body under the verifier token',
    'company, entity, operation and time of the change name it, and stay the same in retries',
  ],
};
