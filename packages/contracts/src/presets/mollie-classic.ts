import type { Preset } from './preset.ts';

/** docs.mollie.com: the form `id=tr_...`, unsigned by design; fetch the resource. See docs/providers/mollie-classic.md. */
export const mollieClassic: Preset = {
  source: {
    auth: {
      kind: 'sharedSecret',
      in: 'query',
      name: 'token',
    },
    request: {
      contentTypes: ['application/x-www-form-urlencoded'],
    },
    parse: {
      format: 'form',
    },
    eventId: {
      pointer: '/id',
    },
    entity: {
      pointer: '/id',
    },
    dedupe: 'coalesce',
  },
};
