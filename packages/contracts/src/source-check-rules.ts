import type { KeyEncoding, SignatureCheck } from './source-check.ts';
import { bodyFormOf, type SignedPart } from './source-parts.ts';

const ALGORITHM_KEYS: Readonly<Record<SignatureCheck['algorithm'], readonly KeyEncoding[]>> = {
  'hmac-sha1': ['utf8', 'hex', 'base64'],
  'hmac-sha256': ['utf8', 'hex', 'base64'],
  'hmac-sha512': ['utf8', 'hex', 'base64'],
  'sha256-concat': ['utf8'],
  ed25519: ['ed25519-base64', 'spki-base64', 'spki-pem'],
  'ecdsa-p256-sha256': ['spki-base64', 'spki-pem'],
  'rsa-sha256': ['spki-base64', 'spki-pem'],
};

/** What can be wrong within one check, each with what to do about it. */
export function signatureMistakes(check: SignatureCheck): string[] {
  const mistakes: string[] = [];
  const issue = (message: string): void => void mistakes.push(message);
  const { timestamp, signature, signed } = check;
  const allowed = ALGORITHM_KEYS[check.algorithm];
  if (!allowed.includes(check.key)) issue(`key: ${check.algorithm} takes ${allowed.join(' or ')}`);
  if (check.keyId === 'list' && (signature.list?.keyValue === undefined || signature.list.pick !== undefined))
    issue('keyId: list needs list.keyValue, and no list.pick: the name of an entry is its key id');
  const hasFields = signature.list?.keyValue !== undefined;
  if (timestamp?.field !== undefined && !hasFields)
    issue('timestamp.field is in the signature, so describe it with signature.list and list.keyValue');
  for (const parts of signed) {
    const places = new Set(parts.map((part) => placeOf(part)));
    if (places.has('timestamp') && timestamp === undefined)
      issue('signed contains timestamp, so say where the timestamp is');
    if (timestamp && !isTimeSigned(parts, timestamp))
      issue('a timestamp that is not signed proves nothing: add it to signed');
    if (places.has('secret') !== (check.algorithm === 'sha256-concat'))
      issue('secret is signed where the algorithm is sha256-concat, and only there');
    if (places.has('field') && !hasFields)
      issue('field is part of the signature, so describe it with signature.list and list.keyValue');
  }
  return mistakes;
}

/** Signatures of one request; more are refused, because each may cost a comparison with every secret. */
export const MAX_SIGNATURES = 10;
/** Public-key verifications of one request. One costs 30 to 150 µs and a hash, so this is a few milliseconds for most bodies. */
export const MAX_VERIFICATIONS = 40;

/** How often a body may be hashed, at most, until this check has its verdict. `keys`: how many secrets it uses. */
export function hashesOf({ algorithm, signature, keyId, signed }: SignatureCheck, keys: number): number {
  const signatures =
    signature.list === undefined && signature.headerPattern === undefined ? 1 : MAX_SIGNATURES;
  const isShared = algorithm.startsWith('hmac-') || algorithm === 'sha256-concat';
  if (!isShared) return Math.min(MAX_VERIFICATIONS, keys * signatures * signed.length);
  // Keys that no signature names are not tried.
  return (keyId === undefined ? keys : Math.min(keys, signatures)) * signed.length;
}

const placeOf = (part: SignedPart): string =>
  typeof part === 'string' ? part : (Object.keys(part)[0] ?? '');

function isTimeSigned(
  parts: readonly SignedPart[],
  timestamp: NonNullable<SignatureCheck['timestamp']>,
): boolean {
  return parts.some((part) => {
    if (part === 'timestamp') return true;
    // A pointer into the body is signed with it.
    if (timestamp.pointer !== undefined && bodyFormOf(part) !== undefined) return true;
    if (typeof part !== 'object') return false;
    if ('header' in part) return part.header === timestamp.header;
    if ('field' in part) return part.field === timestamp.field;
    return 'pointer' in part && part.pointer === timestamp.pointer;
  });
}
