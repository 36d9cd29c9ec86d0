import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import { AppError, invariant } from '@breakwater/runtime/errors';
import { decodeBase64 } from './encodings.ts';

/*
 * Signing of outbound requests as Standard Webhooks describes it (standardwebhooks.com, symmetric scheme v1):
 * base64(HMAC-SHA256(key, id + "." + timestamp + "." + body)), the key being the base64 after `whsec_`.
 */

const SECRET_PREFIX = 'whsec_';
/** The specification allows keys of 24 to 64 bytes. */
const KEY_BYTES = { min: 24, max: 64, fresh: 32 };

export interface StandardMessage {
  /**
   * The `webhook-id` header as it is sent: visible ASCII. Receivers read id and time from their headers, so a dot in the
   * id changes nothing for them, although the specification advises against one.
   */
  readonly id: string;
  /** The `webhook-timestamp` header: seconds since the epoch. */
  readonly timestampS: number;
  /** The exact bytes of the body. */
  readonly body: Buffer;
  /** Each `whsec_…`; two during a rotation. */
  readonly secrets: readonly string[];
}

/**
 * The `webhook-signature` header: one `v1,<base64>` per secret, in their order, separated by spaces. Throws AppError
 * config_invalid when a secret is not one (without naming it).
 */
export function signStandard(message: StandardMessage): string {
  const { id, timestampS, body, secrets } = message;
  invariant(/^[\u0021-\u007e]+$/.test(id), 'a webhook id is visible ASCII');
  invariant(
    Number.isSafeInteger(timestampS) && timestampS >= 0,
    'a webhook timestamp is a whole number of seconds',
  );
  invariant(secrets.length > 0, 'a webhook is signed with at least one secret');
  return secrets
    .map((secret) => {
      const hmac = createHmac('sha256', secretKey(secret))
        .update(`${id}.${timestampS}.`, 'utf8')
        .update(body);
      return `v1,${hmac.digest('base64')}`;
    })
    .join(' ');
}

/** A fresh secret of 32 random bytes. */
export function newWebhookSecret(): string {
  return `${SECRET_PREFIX}${randomBytes(KEY_BYTES.fresh).toString('base64')}`;
}

/** Is this `whsec_` and the base64 of 24 to 64 bytes? For secrets that a person brings along. */
export function isWebhookSecret(secret: string): boolean {
  return decodeSecret(secret) !== undefined;
}

function secretKey(secret: string): KeyObject {
  const key = decodeSecret(secret);
  if (key !== undefined) return createSecretKey(key);
  const { min, max } = KEY_BYTES;
  throw new AppError(
    'config_invalid',
    `A webhook secret is not ${SECRET_PREFIX} and the base64 of ${min} to ${max} bytes.`,
  );
}

function decodeSecret(secret: string): Buffer | undefined {
  if (!secret.startsWith(SECRET_PREFIX)) return undefined;
  const key = decodeBase64(secret.slice(SECRET_PREFIX.length));
  return key !== undefined && key.length >= KEY_BYTES.min && key.length <= KEY_BYTES.max ? key : undefined;
}
