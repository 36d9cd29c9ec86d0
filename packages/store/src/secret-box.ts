import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { AppError } from '@breakwater/runtime/errors';

const NONCE_BYTES = 12; // what GCM is specified for (NIST SP 800-38D)
const TAG_BYTES = 16;

/** Seals secrets at rest: AES-256-GCM, `v1.<key id>.<base64 of nonce, tag, ciphertext>`. */
export interface SecretBox {
  readonly seal: (text: string) => string;
  readonly open: (sealed: string) => string;
}

/** `keys`: base64 of 32 bytes each, newest first; the newest seals, any may open. */
export function createSecretBox(keys: readonly string[]): SecretBox {
  const known = keys.map((text) => {
    const key = Buffer.from(text, 'base64');
    return { key, id: createHash('sha256').update(key).digest('hex').slice(0, 8) };
  });
  return {
    seal(text) {
      const newest = known[0];
      if (!newest)
        throw new AppError('encryption_keys_missing', 'Secrets cannot be stored without an encryption key.');
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', newest.key, nonce);
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return `v1.${newest.id}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')}`;
    },
    open(sealed) {
      const [version, id, data] = sealed.split('.');
      const match = known.find((each) => each.id === id);
      if (version !== 'v1' || data === undefined || !match) {
        throw new AppError(
          'encryption_keys_missing',
          `A stored secret was sealed with key ${id ?? '?'}, which is not among the encryption keys.`,
        );
      }
      const bytes = Buffer.from(data, 'base64');
      const decipher = createDecipheriv('aes-256-gcm', match.key, bytes.subarray(0, NONCE_BYTES));
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      return Buffer.concat([
        decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)),
        decipher.final(),
      ]).toString('utf8');
    },
  };
}
