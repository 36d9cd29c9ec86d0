import { adobeCommerce } from './adobe-commerce.ts';
import { adyen } from './adyen.ts';
import { adyenPlatform } from './adyen-platform.ts';
import { bigcommerce } from './bigcommerce.ts';
import { checkout } from './checkout.ts';
import { cloudevents } from './cloudevents.ts';
import { docusign } from './docusign.ts';
import { genericHmac } from './generic-hmac.ts';
import { github } from './github.ts';
import { gitlab } from './gitlab.ts';
import { hubspot } from './hubspot.ts';
import { klarna } from './klarna.ts';
import { linear } from './linear.ts';
import { meta } from './meta.ts';
import { mollie } from './mollie.ts';
import { mollieClassic } from './mollie-classic.ts';
import { paddle } from './paddle.ts';
import { paypal } from './paypal.ts';
import type { Preset } from './preset.ts';
import { quickbooks } from './quickbooks.ts';
import { razorpay } from './razorpay.ts';
import { sendgrid } from './sendgrid.ts';
import { shopify } from './shopify.ts';
import { slack } from './slack.ts';
import { square } from './square.ts';
import { standardWebhooks } from './standard-webhooks.ts';
import { standardWebhooksEd25519 } from './standard-webhooks-ed25519.ts';
import { stripe } from './stripe.ts';
import { twilio } from './twilio.ts';
import { woocommerce } from './woocommerce.ts';
import { worldpay } from './worldpay.ts';
import { xero } from './xero.ts';
import { zendesk } from './zendesk.ts';

export const PRESET_NAMES = [
  'adobe-commerce',
  'adyen',
  'adyen-platform',
  'bigcommerce',
  'checkout',
  'cloudevents',
  'docusign',
  'generic-hmac',
  'github',
  'gitlab',
  'hubspot',
  'klarna',
  'linear',
  'meta',
  'mollie',
  'mollie-classic',
  'paddle',
  'paypal',
  'quickbooks',
  'razorpay',
  'sendgrid',
  'shopify',
  'slack',
  'square',
  'standard-webhooks',
  'standard-webhooks-ed25519',
  'stripe',
  'twilio',
  'woocommerce',
  'worldpay',
  'xero',
  'zendesk',
] as const;

/** Every preset by its name in `preset:`. */
export const PRESETS: Readonly<Record<(typeof PRESET_NAMES)[number], Preset>> = {
  'adobe-commerce': adobeCommerce,
  adyen: adyen,
  'adyen-platform': adyenPlatform,
  bigcommerce: bigcommerce,
  checkout: checkout,
  cloudevents: cloudevents,
  docusign: docusign,
  'generic-hmac': genericHmac,
  github: github,
  gitlab: gitlab,
  hubspot: hubspot,
  klarna: klarna,
  linear: linear,
  meta: meta,
  mollie: mollie,
  'mollie-classic': mollieClassic,
  paddle: paddle,
  paypal: paypal,
  quickbooks: quickbooks,
  razorpay: razorpay,
  sendgrid: sendgrid,
  shopify: shopify,
  slack: slack,
  square: square,
  'standard-webhooks': standardWebhooks,
  'standard-webhooks-ed25519': standardWebhooksEd25519,
  stripe: stripe,
  twilio: twilio,
  woocommerce: woocommerce,
  worldpay: worldpay,
  xero: xero,
  zendesk: zendesk,
};
