import { createHmac, timingSafeEqual } from 'node:crypto';
import type { SignatureCheck, Source } from '@breakwater/contracts/source-config';
import { readHeader, type SignedRequest } from './headers.ts';
import { decodeKeys, type SigningKey } from './keys.ts';
import { signedContent } from './signed-content.ts';

export type VerifyCode = 'signature_missing' | 'signature_invalid' | 'timestamp_out_of_tolerance';

/** `message` may be shown to the caller: it says what was wrong, never a secret and never the expected signature. */
export type Verdict =
  | { readonly ok: true; readonly secretId: string }
  | { readonly ok: false; readonly code: VerifyCode; readonly message: string };

/** `nowMs`: when the request arrived, ms since the epoch. */
export type Verifier = (request: SignedRequest & { readonly nowMs: number }) => Verdict;

const ALGORITHMS = {
  'hmac-sha1': { hash: 'sha1', bytes: 20 },
  'hmac-sha256': { hash: 'sha256', bytes: 32 },
  'hmac-sha512': { hash: 'sha512', bytes: 64 },
} as const;

/** 16 digits reach the year 2286 in microseconds; more would leave the integers that a number holds exactly. */
const TIMESTAMP = /^\d{1,16}$/;

/**
 * Prepares the check of a source's requests. Keys are decoded here, so a wrong one stops the start instead of refusing
 * events later. Throws AppError config_invalid.
 */
export function createVerifier(source: Source): Verifier {
  const check = source.auth;
  const keys = decodeKeys(source);
  return (request) => {
    const given = readSignature(check, request);
    if (!given.ok) return given;
    const content = signedContent(check, request);
    if (!content.ok) return unsignable(content.header, content.why);
    const secretId = matchingSecret(check, keys, content.parts, given.signature);
    if (secretId === undefined) {
      return refused(
        'signature_invalid',
        'The signature does not match the bytes that arrived under any secret of this source. Sign the exact bytes of the body, and compare the secrets on both sides.',
      );
    }
    // After the signature, so that only who knows a secret learns about clocks, and the message is then about a genuine request.
    return checkTimestamp(check, request) ?? { ok: true, secretId };
  };
}

const refused = (code: VerifyCode, message: string): Verdict & { ok: false } => ({
  ok: false,
  code,
  message,
});

function unsignable(header: string, why: 'missing' | 'repeated'): Verdict & { ok: false } {
  return why === 'missing'
    ? refused(
        'signature_missing',
        `The header ${header} is missing, and it is part of what is signed. Send it.`,
      )
    : repeated(header);
}

const repeated = (header: string): Verdict & { ok: false } =>
  refused('signature_invalid', `The header ${header} arrived more than once. Send it once.`);

type Given = { readonly ok: true; readonly signature: Buffer } | (Verdict & { ok: false });

function readSignature(check: SignatureCheck, request: SignedRequest): Given {
  const { header, prefix, encoding } = check.signature;
  const read = readHeader(request.headers, header);
  if (read.kind === 'repeated') return repeated(header);
  if (read.kind === 'missing' || read.text === '') {
    return refused(
      'signature_missing',
      `The header ${header} is missing. Sign the body and send the signature in it.`,
    );
  }
  if (!read.text.startsWith(prefix)) {
    return refused(
      'signature_invalid',
      `The header ${header} does not start with ${JSON.stringify(prefix)}. Put that before the signature.`,
    );
  }
  const { bytes } = ALGORITHMS[check.algorithm];
  const signature = decodeSignature(read.text.slice(prefix.length), encoding, bytes);
  if (signature) return { ok: true, signature };
  return refused(
    'signature_invalid',
    `The signature in ${header} is not the ${encoding} of ${bytes} bytes, as ${check.algorithm} yields.`,
  );
}

/**
 * Exactly `sizeBytes` bytes, or undefined. Node's decoders ignore what is not in the alphabet, so `zz…` would decode to
 * nothing and timingSafeEqual would throw on the length; base64 must be canonical, so that one signature has one text.
 */
function decodeSignature(text: string, encoding: 'hex' | 'base64', sizeBytes: number): Buffer | undefined {
  if (encoding === 'hex') {
    return text.length === sizeBytes * 2 && /^[0-9a-f]+$/i.test(text) ? Buffer.from(text, 'hex') : undefined;
  }
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === sizeBytes && bytes.toString('base64') === text ? bytes : undefined;
}

/** Every secret is tried whatever came before: the time taken tells neither whether nor which one matched. */
function matchingSecret(
  check: SignatureCheck,
  keys: readonly SigningKey[],
  parts: readonly Buffer[],
  signature: Buffer,
): string | undefined {
  let matched: string | undefined;
  for (const key of keys) {
    const hmac = createHmac(ALGORITHMS[check.algorithm].hash, key.key);
    for (const part of parts) hmac.update(part);
    if (timingSafeEqual(hmac.digest(), signature)) matched ??= key.secretId;
  }
  return matched;
}

/** Both ways: a request dated tomorrow could be kept and replayed until then. Digits only: `NaN > tolerance` is false. */
function checkTimestamp(
  check: SignatureCheck,
  request: SignedRequest & { readonly nowMs: number },
): Verdict | undefined {
  if (check.timestamp === undefined) return undefined;
  const { header, unit, tolerance } = check.timestamp;
  const read = readHeader(request.headers, header);
  if (read.kind !== 'one') return unsignable(header, read.kind);
  if (!TIMESTAMP.test(read.text)) {
    return refused(
      'timestamp_out_of_tolerance',
      `The header ${header} is not a whole number of ${unit === 's' ? 'seconds' : 'milliseconds'} since 1970.`,
    );
  }
  const sentAtMs = Number(read.text) * (unit === 's' ? 1_000 : 1);
  const ageMs = request.nowMs - sentAtMs;
  if (Math.abs(ageMs) <= tolerance) return undefined;
  const side = ageMs > 0 ? 'old' : 'far in the future';
  return refused(
    'timestamp_out_of_tolerance',
    `The header ${header} is too ${side}: more than ${tolerance / 1_000} s from the time here. Check the clocks, and sign again for every retry.`,
  );
}
