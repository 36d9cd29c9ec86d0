import { hkdfSync } from 'node:crypto';
import { createSecretBox, type SecretBox } from '@breakwater/store/secret-box';

/** A box that only the bearer of `secret` (a token, the id of a session: random, 128 bits or more) opens. */
export const boxOf = (secret: string, purpose: 'idempotency' | 'session'): SecretBox =>
  createSecretBox([
    Buffer.from(hkdfSync('sha256', secret, '', `breakwater ${purpose}`, 32)).toString('base64'),
  ]);
