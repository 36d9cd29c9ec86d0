import { hashBytes } from '@breakwater/contracts/ids';
import type { SignatureCheck, SignedPart, Source } from '@breakwater/contracts/source-config';
import { type HeaderRead, readHeader, type SignedRequest } from './headers.ts';

export type SignedContent =
  | { readonly ok: true; readonly parts: readonly Buffer[] }
  | { readonly ok: false; readonly header: string; readonly why: 'missing' | 'repeated' };

/**
 * The signed content as the parts to hash one after another; joining them would copy a body of up to 25 MiB. Header
 * text goes back to the bytes that were on the wire (Node reads headers as latin1), literals are UTF-8.
 */
export function signedContent(check: SignatureCheck, request: SignedRequest): SignedContent {
  const parts: Buffer[] = [];
  for (const part of check.signed) {
    if (part === 'body') {
      parts.push(request.body);
    } else if (typeof part === 'object' && 'literal' in part) {
      parts.push(Buffer.from(part.literal, 'utf8'));
    } else {
      const header = headerOf(part, check);
      const read: HeaderRead = readHeader(request.headers, header);
      if (read.kind !== 'one') return { ok: false, header, why: read.kind };
      parts.push(Buffer.from(read.text, 'latin1'));
    }
  }
  return { ok: true, parts };
}

function headerOf(part: Exclude<SignedPart, 'body' | { literal: string }>, check: SignatureCheck): string {
  if (part !== 'timestamp') return part.header;
  // The schema refuses `timestamp` without a place for it; the empty name is found in no request.
  return check.timestamp?.header ?? '';
}

/**
 * Key under which a verified request may pass once when its event id is not signed: whoever holds one captured request
 * could change the id and keep the signature. Undefined where the id is signed and no such key is needed.
 */
export function replayKeyOf(source: Source, request: SignedRequest): string | undefined {
  if (source.eventIdSigned) return undefined;
  const content = signedContent(source.auth, request);
  return content.ok ? hashBytes(Buffer.concat(content.parts)) : undefined;
}
