import type { Preset } from './preset.ts';

/**
 * CloudEvents 1.0.2: HTTP protocol binding and web hooks (github.com/cloudevents/spec). Structured, binary and batched
 * mode, bearer token in the header or in the query. See docs/providers/cloudevents.md.
 */
export const cloudevents: Preset = {
  source: {
    auth: [
      { kind: 'sharedSecret', in: 'bearer' },
      { kind: 'sharedSecret', in: 'query', name: 'access_token' },
    ],
    authMode: 'any',
    parse: {
      // In binary mode the body is the event's data, whatever that is.
      contentTypes: ['application/cloudevents+json', 'application/cloudevents-batch+json'],
    },
    batch: {
      pointer: '',
      contentTypes: ['application/cloudevents-batch+json'],
      max: 1000,
      empty: 'ack',
    },
    // source and id together are unique; a URI holds no bar.
    eventId: [
      { concat: [{ header: 'ce-source' }, { header: 'ce-id' }], separator: '|' },
      { concat: [{ pointer: '/source' }, { pointer: '/id' }], separator: '|' },
    ],
    type: [{ header: 'ce-type' }, { pointer: '/type' }],
    entity: [{ header: 'ce-subject' }, { pointer: '/subject' }],
    replayKey: 'none',
    // Accepted and not processed yet, as the specification says.
    answers: { accepted: { status: 202 } },
  },
};
