import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { SharedSecretCheck } from '@breakwater/contracts/source-check';
import type { Secret } from '@breakwater/contracts/source-config';
import { decodeBase64 } from './encodings.ts';
import { type HeaderRead, readHeader, readQuery, type SignedRequest } from './headers.ts';
import { isCurrent } from './keys.ts';
import { refused, repeated, type Verdict } from './verdict.ts';

/** Hashed with a key of this process before comparing, so that neither content nor length takes a telling time. */
const comparing = randomBytes(32);
const blind = (text: string): Buffer => createHmac('sha256', comparing).update(text, 'utf8').digest();

/** Are the texts equal? In a time that tells nothing about either. */
export const sameText = (one: string, other: string): boolean => timingSafeEqual(blind(one), blind(other));

/** Prepares a check of a token that the sender shows. It proves who sends, not what: nothing is signed. */
export function createSharedSecretCheck(
  check: SharedSecretCheck,
  secrets: readonly Secret[],
): (request: SignedRequest & { readonly nowMs: number }) => Verdict {
  const known = secrets.map((secret) => ({ ...secret, hash: blind(secret.value) }));
  const where = check.in === 'query' ? `query parameter ${check.name}` : `header ${headerOf(check)}`;
  return (request) => {
    const read = readGiven(check, request);
    if (read.kind === 'repeated') return repeated(where);
    if (read.kind === 'missing')
      return refused('signature_missing', `The ${where} does not hold the secret. Send it there.`);
    const given = blind(read.text);
    let matched: string | undefined;
    for (const secret of known) {
      if (timingSafeEqual(secret.hash, given) && isCurrent(secret, request.nowMs)) matched ??= secret.id;
    }
    return matched === undefined
      ? refused('signature_invalid', `The ${where} does not hold a secret of this source.`)
      : { ok: true, secretId: matched };
  };
}

const headerOf = (check: SharedSecretCheck): string =>
  check.in === 'header' ? (check.name ?? '') : 'authorization';

function readGiven(check: SharedSecretCheck, request: SignedRequest): HeaderRead {
  if (check.in === 'query') return readQuery(request.query, check.name ?? '');
  const read = readHeader(request.headers, headerOf(check));
  if (read.kind !== 'one' || check.in === 'header') return read;
  const [, scheme, credentials] = /^(basic|bearer) +([^ ]+) *$/i.exec(read.text) ?? [];
  if (scheme?.toLowerCase() !== check.in || credentials === undefined) return { kind: 'missing' };
  if (check.in === 'bearer') return { kind: 'one', text: credentials };
  const decoded = decodeBase64(credentials);
  return decoded === undefined ? { kind: 'missing' } : { kind: 'one', text: decoded.toString('utf8') };
}
