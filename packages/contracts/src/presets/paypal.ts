import type { Preset } from './preset.ts';

/**
 * developer.paypal.com, Webhooks: RSA-SHA256 over id, time, webhook id and CRC-32 of the body. The certificate is pinned:
 * nothing is fetched. See docs/providers/paypal.md.
 */
export const paypal: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'rsa-sha256',
      key: 'spki-pem',
      keyId: { header: 'paypal-cert-url' },
      signature: { header: 'paypal-transmission-sig', encoding: 'base64' },
      // A retry may bear the time of the first attempt, and PayPal tries for three days. Whoever sends a captured request
      // again in that time meets the replay key.
      timestamp: {
        header: 'paypal-transmission-time',
        unit: 'iso',
        tolerance: '4d',
        futureTolerance: '5m',
      },
      signed: [{ header: 'paypal-transmission-id' }, 'timestamp', { config: 'webhookId' }, { body: 'crc32' }],
      join: '|',
    },
    eventId: { pointer: '/id' },
    type: { pointer: '/event_type' },
    entity: { pointer: '/resource/id' },
  },
  unverified: [
    'the event id stays the same in retries',
    'whether a retry has a transmission id and time of its own',
    'the URL of the certificate stays the same until PayPal changes the certificate',
  ],
};
