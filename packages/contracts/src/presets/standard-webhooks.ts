import type { Preset } from './preset.ts';
import { standardScheme } from './standard-scheme.ts';

/** standardwebhooks.com, symmetric scheme. See docs/providers/standard-webhooks.md. */
export const standardWebhooks: Preset = {
  source: {
    ...standardScheme({ algorithm: 'hmac-sha256', version: 'v1', key: 'base64', keyPrefix: 'whsec_' }),
    type: { pointer: '/type' },
  },
};
