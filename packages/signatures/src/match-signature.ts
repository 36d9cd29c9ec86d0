import { createHash, createHmac, timingSafeEqual, verify } from 'node:crypto';
import type { SignatureCheck } from '@breakwater/contracts/source-check';
import { MAX_VERIFICATIONS } from '@breakwater/contracts/source-check-rules';
import type { GivenSignature } from './given-signatures.ts';
import type { SigningKey } from './keys.ts';
import type { ContentPart } from './signed-content.ts';

/** Hashes of the HMACs. */
const HMAC_HASHES: Readonly<Partial<Record<SignatureCheck['algorithm'], string>>> = {
  'hmac-sha1': 'sha1',
  'hmac-sha256': 'sha256',
  'hmac-sha512': 'sha512',
};

/**
 * Ids of the secrets that the signatures were made with, in the order of the keys; empty when there is none. With shared
 * secrets the content is hashed once for each, and every result is compared with every signature whatever came before:
 * the time taken tells neither whether nor which one matched. With public keys, where that tells nothing that is secret,
 * the first match is the only one.
 */
export function matchingSecrets(
  algorithm: SignatureCheck['algorithm'],
  keys: readonly SigningKey[],
  variants: readonly (readonly ContentPart[])[],
  signatures: readonly GivenSignature[],
): string[] {
  const isShared = algorithm === 'sha256-concat' || HMAC_HASHES[algorithm] !== undefined;
  return isShared
    ? matchShared(algorithm, keys, variants, signatures)
    : matchPublic(algorithm, keys, variants, signatures);
}

/** A signature that names its key is compared with that key's alone. */
const isFor = (signature: GivenSignature, key: SigningKey): boolean =>
  signature.keyId === undefined || signature.keyId === key.keyId;

function matchShared(
  algorithm: SignatureCheck['algorithm'],
  keys: readonly SigningKey[],
  variants: readonly (readonly ContentPart[])[],
  signatures: readonly GivenSignature[],
): string[] {
  const matched: string[] = [];
  for (const key of keys) {
    const own = signatures.filter((signature) => isFor(signature, key));
    if (own.length === 0) continue; // which key was named is in the request, and no secret
    for (const parts of variants) {
      const expected = digestOf(algorithm, key, parts);
      for (const { bytes } of own) {
        if (bytes.length === expected.length && timingSafeEqual(expected, bytes)) matched.push(key.secretId);
      }
    }
  }
  return matched;
}

function digestOf(
  algorithm: SignatureCheck['algorithm'],
  { key }: SigningKey,
  parts: readonly ContentPart[],
): Buffer {
  const name = HMAC_HASHES[algorithm];
  const hashing = name === undefined ? createHash('sha256') : createHmac(name, key);
  for (const part of parts) hashing.update(part === 'secret' ? key.export() : part);
  return hashing.digest();
}

function matchPublic(
  algorithm: SignatureCheck['algorithm'],
  keys: readonly SigningKey[],
  variants: readonly (readonly ContentPart[])[],
  signatures: readonly GivenSignature[],
): string[] {
  let left = MAX_VERIFICATIONS;
  for (const parts of variants) {
    const content = Buffer.concat(parts.filter((part) => part !== 'secret'));
    for (const key of keys) {
      for (const signature of signatures) {
        if (!isFor(signature, key)) continue;
        if (left === 0) return [];
        left -= 1;
        if (verify(algorithm === 'ed25519' ? null : 'sha256', content, key.key, signature.bytes))
          return [key.secretId];
      }
    }
  }
  return [];
}
