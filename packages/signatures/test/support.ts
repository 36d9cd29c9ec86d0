import { createHmac } from 'node:crypto';
import { Source } from '@breakwater/contracts/source-config';
import { headerLines, type SignedRequest } from '../src/headers.ts';

export const SECRET = 'a secret for tests';

/** A source as configuration gives it: HMAC-SHA256 of the body in `x-signature: sha256=<hex>`, event id at /id. */
export function sourceWith(changes: Record<string, unknown> = {}): Source {
  return Source.parse({
    secrets: [{ id: 'first', value: SECRET }],
    auth: authWith(),
    eventId: { pointer: '/id' },
    ...changes,
  });
}

export function authWith(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    kind: 'signature',
    algorithm: 'hmac-sha256',
    signature: { header: 'x-signature', prefix: 'sha256=', encoding: 'hex' },
    ...changes,
  };
}

/** Headers as pairs, because a name may come twice. */
export function requestOf(
  body: string | Buffer,
  ...headers: readonly (readonly [string, string])[]
): SignedRequest {
  return { headers: headerLines(headers.flat()), body: Buffer.from(body) };
}

/** The HMAC by node:crypto of the joined parts, so that the expectation does not come from the code under test. */
export function hmacOf(content: string | Buffer, secret: string | Buffer = SECRET, hash = 'sha256'): Buffer {
  return createHmac(hash, secret).update(content).digest();
}

export const hexSignature = (content: string | Buffer, secret: string | Buffer = SECRET): string =>
  `sha256=${hmacOf(content, secret).toString('hex')}`;
