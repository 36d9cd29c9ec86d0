import type { Preset } from './preset.ts';
import { standardScheme } from './standard-scheme.ts';

/** developer.bigcommerce.com: Standard Webhooks with the client secret as raw text. See docs/providers/bigcommerce.md. */
export const bigcommerce: Preset = {
  source: {
    ...standardScheme({ algorithm: 'hmac-sha256', version: 'v1', key: 'utf8' }),
    type: { pointer: '/scope' },
    entity: { pointer: '/data/id' },
  },
};
