import type { Preset } from './preset.ts';
import { standardScheme } from './standard-scheme.ts';

/** standardwebhooks.com, asymmetric scheme. See docs/providers/standard-webhooks-ed25519.md. */
export const standardWebhooksEd25519: Preset = {
  source: {
    ...standardScheme({ algorithm: 'ed25519', version: 'v1a', key: 'ed25519-base64', keyPrefix: 'whpk_' }),
    type: { pointer: '/type' },
  },
};
