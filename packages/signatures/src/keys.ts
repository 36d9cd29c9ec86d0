import { createSecretKey, type KeyObject } from 'node:crypto';
import type { SignatureCheck, Source } from '@breakwater/contracts/source-config';
import { AppError } from '@breakwater/runtime/errors';

/** As a KeyObject: given bytes, createHmac spends ten times the time of the hash on looking at them. */
export interface SigningKey {
  readonly secretId: string;
  readonly key: KeyObject;
}

/**
 * Key bytes of a source's secrets. Throws AppError config_invalid that lists every secret that cannot be decoded or is
 * empty once decoded (`Buffer.from('zz', 'hex')` is empty, and anybody can sign with an empty key). Never the secret.
 */
export function decodeKeys(source: Pick<Source, 'secrets' | 'auth'>): SigningKey[] {
  const keys: SigningKey[] = [];
  const mistakes: string[] = [];
  for (const secret of source.secrets) {
    const bytes = decodeKey(secret.value, source.auth.key);
    if (bytes === undefined)
      mistakes.push(`secret ${secret.id}: expected ${source.auth.key} text, as auth.key says`);
    else if (bytes.length === 0)
      mistakes.push(`secret ${secret.id}: the key is empty, so anybody could sign with it`);
    else keys.push({ secretId: secret.id, key: createSecretKey(bytes) });
  }
  if (mistakes.length > 0) throw new AppError('config_invalid', mistakes.join('; '));
  return keys;
}

/** Node's decoders skip what they do not know and yield a shorter key, hence the checks. */
function decodeKey(text: string, encoding: SignatureCheck['key']): Buffer | undefined {
  switch (encoding) {
    case 'utf8':
      return Buffer.from(text, 'utf8');
    case 'hex':
      return /^(?:[0-9a-f]{2})*$/i.test(text) ? Buffer.from(text, 'hex') : undefined;
    case 'base64':
      return decodeBase64(text);
  }
}

/** Standard alphabet; padding may be left out, as some dashboards do. Undefined for anything else. */
export function decodeBase64(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '') ? bytes : undefined;
}
