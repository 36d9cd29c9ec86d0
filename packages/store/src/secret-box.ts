import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { AppError } from '@breakwater/runtime/errors';

const NONCE_BYTES = 12; // what GCM is specified for (NIST SP 800-38D)
const TAG_BYTES = 16;

/**
 * Seals secrets at rest: AES-256-GCM, `v2.<key id>.<base64 of nonce, tag, ciphertext>`. `identity` says what the secret
 * belongs to and is authenticated with it, so that a sealed text which was copied to another record does not open there.
 * (`v1`, from before there were identities, opens under any; re-encryption turns it into `v2`.)
 */
export interface SecretBox {
  /** Id of the key that seals, undefined when there is none. */
  readonly newestKey: string | undefined;
  /** Throws AppError encryption_keys_missing. */
  readonly seal: (text: string, identity: string) => string;
  /** Throws AppError encryption_keys_missing, secret_unreadable. Neither holds anything of the secret. */
  readonly open: (sealed: string, identity: string) => string;
}

/** `keys`: base64 of 32 bytes each, newest first; the newest seals, any may open. */
export function createSecretBox(keys: readonly string[]): SecretBox {
  const known = keys.map((text) => {
    const key = Buffer.from(text, 'base64');
    return { key, id: createHash('sha256').update(key).digest('hex').slice(0, 8) };
  });
  return {
    newestKey: known[0]?.id,
    seal(text, identity) {
      const newest = known[0];
      if (!newest)
        throw new AppError('encryption_keys_missing', 'Secrets cannot be stored without an encryption key.');
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', newest.key, nonce).setAAD(Buffer.from(identity));
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return `v2.${newest.id}.${Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64')}`;
    },
    open(sealed, identity) {
      const [version, id = '?', data] = sealed.split('.');
      if ((version !== 'v1' && version !== 'v2') || data === undefined) throw unreadable(identity);
      const match = known.find((each) => each.id === id);
      if (!match) {
        throw new AppError(
          'encryption_keys_missing',
          `A stored secret was sealed with key ${id}, which is not among the encryption keys.`,
          {
            remedy: `Put the key ${id} back into ENCRYPTION_KEYS, behind the newest. If it is lost, give the endpoint a new secret (endpoints rotate-secret <id> --overlap 0s) and its headers again.`,
            details: { key: id },
          },
        );
      }
      const bytes = Buffer.from(data, 'base64');
      try {
        const decipher = createDecipheriv('aes-256-gcm', match.key, bytes.subarray(0, NONCE_BYTES), {
          authTagLength: TAG_BYTES,
        });
        if (version === 'v2') decipher.setAAD(Buffer.from(identity));
        decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
        return Buffer.concat([
          decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)),
          decipher.final(),
        ]).toString('utf8');
      } catch (error) {
        throw unreadable(identity, error);
      }
    },
  };
}

/** Id of the key that a text was sealed with. */
export const keyOfSealed = (sealed: string): string => sealed.split('.')[1] ?? '?';

/** How long the text is that was sealed, without opening it; its characters are ASCII. */
export const sealedChars = (sealed: string): number =>
  Buffer.from(sealed.split('.')[2] ?? '', 'base64').length - NONCE_BYTES - TAG_BYTES;

/** Must this text be sealed again before every key but `newest` can be dropped? */
export const isOutdated = (sealed: string, newest: string | undefined): boolean =>
  !sealed.startsWith(`v2.${newest}.`);

const unreadable = (identity: string, cause?: unknown): AppError =>
  new AppError(
    'secret_unreadable',
    `The stored secret of ${identity} is damaged, or was copied from another record.`,
    {
      cause,
    },
  );
