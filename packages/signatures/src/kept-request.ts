import type { Source } from '@breakwater/contracts/source-config';
import { type HeaderLines, readHeader, type SignedRequest } from './headers.ts';

/** What must be kept of a refused request to verify it again; undefined where that is impossible or unwise. */
export interface KeptRequest {
  readonly headers: HeaderLines;
  readonly query: string;
}

/** Credentials, whatever a source reads: they are worth more than the request. */
const NEVER = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie']);

/**
 * Picks the headers that the source's settings name, and the query where they read it. Only of requests that carry a
 * signature header of the source: everything else is noise. A source that takes a shared secret shows it in every
 * request, so nothing of it is kept; nor are compressed bodies, which are other bytes than those that are verified.
 */
export function keptRequest(source: Source, request: SignedRequest): KeptRequest | undefined {
  if (source.auth.some(({ kind }) => kind === 'sharedSecret')) return undefined;
  if (request.decoded !== undefined || readHeader(request.headers, 'content-encoding').kind !== 'missing')
    return undefined;
  const names = headersRead(source);
  const isRead = (name: string): boolean =>
    !NEVER.has(name) &&
    [...names].some((read) => (read.endsWith('-*') ? name.startsWith(read.slice(0, -1)) : name === read));
  const headers: Record<string, readonly string[]> = Object.create(null);
  for (const [name, lines] of Object.entries(request.headers)) {
    if (isRead(name)) headers[name] = lines;
  }
  return isSigned(source, headers)
    ? { headers, query: readsQuery(source) ? (request.query ?? '') : '' }
    : undefined;
}

function isSigned(source: Source, headers: HeaderLines): boolean {
  return source.auth.some((check) => {
    if (check.kind !== 'signature') return false;
    const { header, headerPattern } = check.signature;
    if (header !== undefined) return Object.hasOwn(headers, header);
    if (headerPattern !== undefined)
      return Object.keys(headers).some((name) => name.startsWith(headerPattern.slice(0, -1)));
    return true; // the signature is in the body
  });
}

/** Every header that a check, an expression or a handshake of the source names, and those that describe the body. */
function headersRead({ auth, eventId, type, entity, challenges, pings }: Source): Set<string> {
  const names = new Set(['content-type']);
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if ((key === 'header' || key === 'headerPattern') && typeof inner === 'string') names.add(inner);
      else if (key === 'header' && typeof inner === 'object' && inner !== null && 'name' in inner)
        names.add(String(inner.name).toLowerCase());
      else collect(inner);
    }
  };
  collect([auth, eventId, type, entity, challenges, pings]);
  return names;
}

const readsQuery = ({ auth }: Source): boolean =>
  auth.some(
    (check) =>
      check.kind === 'queryEquals' ||
      (check.kind === 'signature' &&
        (check.when !== undefined ||
          check.signed.flat().some((part) => typeof part === 'object' && 'url' in part))),
  );
