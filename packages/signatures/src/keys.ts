import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import type { SignatureCheck } from '@breakwater/contracts/source-check';
import type { Secret, Source } from '@breakwater/contracts/source-config';
import { AppError } from '@breakwater/runtime/errors';
import { decodeBase64 } from './encodings.ts';

/** As a KeyObject: given bytes, createHmac spends ten times the time of the hash on looking at them. */
export interface SigningKey {
  readonly secretId: string;
  /** What a request calls the key, where it names one. */
  readonly keyId: string;
  readonly key: KeyObject;
  /** ms since the epoch; the key counts in between. */
  readonly notBefore: number;
  readonly notAfter: number;
}

/** Those of a source's secrets that a check may use. */
export const secretsOf = (
  source: Pick<Source, 'secrets'>,
  check: { readonly secrets?: readonly string[] | undefined },
): Secret[] => source.secrets.filter(({ id }) => check.secrets?.includes(id) ?? true);

/** Is the secret within its window? */
export const isCurrent = (
  secret: { readonly notBefore?: number | undefined; readonly notAfter?: number | undefined },
  nowMs: number,
): boolean => nowMs >= (secret.notBefore ?? -Infinity) && nowMs < (secret.notAfter ?? Infinity);

/**
 * Keys of one check of a source. Throws AppError config_invalid that lists every secret that cannot be decoded or is
 * empty once decoded (`Buffer.from('zz', 'hex')` is empty, and anybody can sign with an empty key). Never the secret.
 */
export function decodeKeys(source: Pick<Source, 'secrets'>, check: SignatureCheck): SigningKey[] {
  const keys: SigningKey[] = [];
  const mistakes: string[] = [];
  for (const secret of secretsOf(source, check)) {
    const decoded = decodeKey(secret.value, check);
    if (typeof decoded === 'string') {
      mistakes.push(`secret ${secret.id}: ${decoded}`);
      continue;
    }
    keys.push({
      secretId: secret.id,
      keyId: secret.keyId ?? secret.id,
      key: decoded,
      notBefore: secret.notBefore ?? -Infinity,
      notAfter: secret.notAfter ?? Infinity,
    });
  }
  if (mistakes.length > 0) throw new AppError('config_invalid', mistakes.join('; '));
  return keys;
}

/** The key, or what is wrong with it. */
function decodeKey(
  value: string,
  { key: encoding, keyPrefix, algorithm }: SignatureCheck,
): KeyObject | string {
  if (!value.startsWith(keyPrefix)) return `expected it to start with ${keyPrefix}, as auth.keyPrefix says`;
  const text = value.slice(keyPrefix.length);
  switch (encoding) {
    case 'utf8':
    case 'hex':
    case 'base64': {
      const bytes = decodeText(text, encoding);
      if (bytes === undefined) return `expected ${encoding} text, as auth.key says`;
      if (bytes.length === 0) return 'the key is empty, so anybody could sign with it';
      return createSecretKey(bytes);
    }
    case 'ed25519-base64':
    case 'spki-base64':
    case 'spki-pem':
      return publicKey(text, encoding, algorithm) ?? `expected a public key for ${algorithm} as ${encoding}`;
  }
}

/** Node's decoders skip what they do not know and yield a shorter key, hence the checks. */
function decodeText(text: string, encoding: 'utf8' | 'hex' | 'base64'): Buffer | undefined {
  if (encoding === 'utf8') return Buffer.from(text, 'utf8');
  if (encoding === 'base64') return decodeBase64(text);
  return /^(?:[0-9a-f]{2})*$/i.test(text) ? Buffer.from(text, 'hex') : undefined;
}

/** DER in front of the 32 bytes of an ed25519 key (RFC 8410), which is how createPublicKey takes them. */
const ED25519_SPKI = Buffer.from('302a300506032b6570032100', 'hex');

function publicKey(
  text: string,
  encoding: 'ed25519-base64' | 'spki-base64' | 'spki-pem',
  algorithm: SignatureCheck['algorithm'],
): KeyObject | undefined {
  try {
    const key = encoding === 'spki-pem' ? createPublicKey(text) : keyOfDer(text, encoding);
    return key !== undefined && isFor(algorithm, key) ? key : undefined;
  } catch {
    return undefined; // OpenSSL's message says nothing that a person could use, and may quote the text
  }
}

function keyOfDer(text: string, encoding: 'ed25519-base64' | 'spki-base64'): KeyObject | undefined {
  const bytes = decodeBase64(text);
  if (bytes === undefined || (encoding === 'ed25519-base64' && bytes.length !== 32)) return undefined;
  const der = encoding === 'ed25519-base64' ? Buffer.concat([ED25519_SPKI, bytes]) : bytes;
  return createPublicKey({ key: der, format: 'der', type: 'spki' });
}

/** A key of another kind would verify by another algorithm than the source says; RSA below 2048 bits can be broken. */
function isFor(algorithm: SignatureCheck['algorithm'], key: KeyObject): boolean {
  const details = key.asymmetricKeyDetails;
  if (algorithm === 'ed25519') return key.asymmetricKeyType === 'ed25519';
  if (algorithm === 'ecdsa-p256-sha256')
    return key.asymmetricKeyType === 'ec' && details?.namedCurve === 'prime256v1';
  return key.asymmetricKeyType === 'rsa' && (details?.modulusLength ?? 0) >= 2_048;
}
