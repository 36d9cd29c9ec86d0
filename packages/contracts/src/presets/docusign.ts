import type { Preset } from './preset.ts';

/** developers.docusign.com: one header for each active key, base64 HMAC-SHA256 of the body. See docs/providers/docusign.md. */
export const docusign: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'hmac-sha256',
      signature: {
        headerPattern: 'x-docusign-signature-*',
        encoding: 'base64',
      },
    },
    eventId: {
      concat: [
        {
          pointer: '/event',
        },
        {
          pointer: '/data/envelopeId',
        },
        {
          pointer: '/generatedDateTime',
        },
      ],
    },
    type: {
      pointer: '/event',
    },
    entity: {
      pointer: '/data/envelopeId',
    },
    maxBodyBytes: 26214400,
  },
  unverified: ['event, envelope and generation time name the fact and stay the same in retries'],
};
