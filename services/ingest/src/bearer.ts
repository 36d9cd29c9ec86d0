import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export type BearerVerdict =
  | { readonly ok: true }
  | { readonly ok: false; readonly code: 'token_missing' | 'token_invalid'; readonly message: string };

/** RFC 6750: the scheme in any case, then one token. */
const BEARER = /^bearer +(\S+)$/i;

/**
 * Judges `Authorization: Bearer <token>`. Hashes are compared, in constant time: they have one length, so that not even the
 * length of the token shows. Without a configured token (undefined or empty) nobody gets in.
 */
export function createBearerCheck(token: string | undefined): (request: IncomingMessage) => BearerVerdict {
  const expected = token === undefined || token === '' ? undefined : sha256(token);
  return (request) => {
    if (expected === undefined)
      return refused(
        'token_invalid',
        'No publish token is configured here. Set publishToken (PUBLISH_TOKEN).',
      );
    const lines = request.headersDistinct['authorization'] ?? [];
    if (lines.length > 1)
      return refused('token_invalid', 'Authorization arrived more than once. Send it once.');
    const given = BEARER.exec(lines[0] ?? '')?.[1];
    if (given === undefined)
      return refused('token_missing', 'Send the publish token as Authorization: Bearer <token>.');
    return timingSafeEqual(sha256(given), expected)
      ? { ok: true }
      : refused('token_invalid', 'This is not the publish token of this deployment.');
  };
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

const refused = (code: 'token_missing' | 'token_invalid', message: string): BearerVerdict => ({
  ok: false,
  code,
  message,
});
