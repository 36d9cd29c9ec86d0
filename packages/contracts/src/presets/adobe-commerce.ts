import type { Preset } from './preset.ts';

/** developer.adobe.com, Commerce webhooks: RSA-SHA256 over the base64 of the body. See docs/providers/adobe-commerce.md. */
export const adobeCommerce: Preset = {
  source: {
    auth: {
      kind: 'signature',
      algorithm: 'rsa-sha256',
      key: 'spki-pem',
      signature: {
        header: 'x-adobe-commerce-webhook-signature',
        encoding: 'base64',
      },
      signed: [
        {
          body: 'base64',
        },
      ],
    },
    eventId: {
      sha256: ['body'],
    },
    answers: {
      accepted: {
        status: 200,
        body: '{"op":"success"}',
        contentType: 'application/json',
      },
    },
  },
  unverified: ['the signature is in base64', 'two calls with the same body are the same fact'],
};
