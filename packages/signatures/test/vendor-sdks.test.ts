import { expect, test } from '@jest/globals';
import { sign as signGithub } from '@octokit/webhooks-methods';
import { Source } from '@breakwater/contracts/source-config';
import { Webhook } from 'standardwebhooks';
import { Stripe } from 'stripe';
import { headerLines } from '../src/headers.ts';
import { createVerifier } from '../src/verify.ts';

/* What the vendors' own libraries sign is accepted by the preset of their name, and nothing next to it is. */

const NOW_MS = Date.UTC(2026, 0, 2, 3, 4, 5);
/** Bytes that a re-serialisation would change, and more than ASCII. */
const BODY = '{\n  "id": "evt_1", "amount": 1.10, "name": "caf\u00e9 \u2615", "e": "\\u001B"\n}\n';
const STANDARD_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

const SIGNED: readonly [string, string, () => Promise<Record<string, string>>][] = [
  [
    'github',
    'a secret',
    async () => ({ 'x-hub-signature-256': await signGithub('a secret', BODY), 'x-github-delivery': '1' }),
  ],
  [
    'stripe',
    'whsec_test',
    async () => ({
      'stripe-signature': await new Stripe('sk_test_unused').webhooks.generateTestHeaderStringAsync({
        payload: BODY,
        secret: 'whsec_test',
        timestamp: NOW_MS / 1_000,
      }),
    }),
  ],
  [
    'standard-webhooks',
    STANDARD_SECRET,
    async () => ({
      'webhook-id': 'msg_1',
      'webhook-timestamp': String(NOW_MS / 1_000),
      'webhook-signature': new Webhook(STANDARD_SECRET).sign('msg_1', new Date(NOW_MS), BODY),
    }),
  ],
];

test.each(SIGNED)('%s', async (preset, value, headers) => {
  const verify = createVerifier(Source.parse({ preset, secrets: [{ id: 'a', value }] }));
  const request = { headers: headerLines(Object.entries(await headers()).flat()), nowMs: NOW_MS };
  expect(verify({ ...request, body: Buffer.from(BODY) })).toEqual({ ok: true, secretId: 'a' });
  for (const body of [BODY.trimEnd(), `\uFEFF${BODY}`, JSON.stringify(JSON.parse(BODY))])
    expect(verify({ ...request, body: Buffer.from(body) })).toMatchObject({ code: 'signature_invalid' });
});
