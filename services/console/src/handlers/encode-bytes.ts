import { isUtf8 } from 'node:buffer';

/** Bytes of others as JSON can hold them, none of them changed. */
export const encodeBytes = (bytes: Buffer) =>
  isUtf8(bytes)
    ? { encoding: 'utf8' as const, text: bytes.toString('utf8') }
    : { encoding: 'base64' as const, text: bytes.toString('base64') };
