/** Standard alphabet; padding may be left out, as some dashboards do. Undefined for anything else. */
export function decodeBase64(text: string): Buffer | undefined {
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64').replace(/=+$/, '') === text.replace(/=+$/, '') ? bytes : undefined;
}

/** Longest signature: RSA with 8192 bits. A longer text is not even decoded. */
const SIGNATURE_BYTES_MAX = 1_024;

/**
 * The bytes of a signature, or undefined. Node's decoders ignore what is not in the alphabet, so `zz…` would decode to
 * nothing and timingSafeEqual would throw on the length; base64 must be canonical, so that one signature has one text.
 * `sizeBytes`: exactly so many; undefined where the algorithm has no fixed length.
 */
export function decodeSignature(
  text: string,
  encoding: 'hex' | 'base64',
  sizeBytes: number | undefined,
): Buffer | undefined {
  if (text.length > SIGNATURE_BYTES_MAX * 2) return undefined;
  let bytes: Buffer;
  if (encoding === 'hex') {
    if (!/^(?:[0-9a-f]{2})+$/i.test(text)) return undefined;
    bytes = Buffer.from(text, 'hex');
  } else {
    bytes = Buffer.from(text, 'base64');
    if (bytes.length === 0 || bytes.toString('base64') !== text) return undefined;
  }
  return sizeBytes === undefined || bytes.length === sizeBytes ? bytes : undefined;
}
