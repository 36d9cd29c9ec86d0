import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { PublishToken } from '@breakwater/contracts/publish-tokens';

export type BearerVerdict =
  | { readonly ok: true; readonly operator: string }
  | { readonly ok: false; readonly code: 'token_missing' | 'token_invalid'; readonly message: string };

/** RFC 6750: the scheme in any case, then one token. */
const BEARER = /^bearer +(\S+)$/i;

/**
 * Judges `Authorization: Bearer <token>`: whose token is it? Hashes are compared, in constant time and with every token: they
 * have one length, so that not even the length of a token shows. Without a configured token nobody gets in.
 */
export function createBearerCheck(
  tokens: readonly PublishToken[],
): (request: IncomingMessage) => BearerVerdict {
  const known = tokens.map(({ value, operator }) => ({ hash: sha256(value), operator }));
  return (request) => {
    if (known.length === 0)
      return refused(
        'token_invalid',
        'No publish token is configured here. Set publishToken (PUBLISH_TOKEN) or publishTokens.',
      );
    const lines = request.headersDistinct['authorization'] ?? [];
    if (lines.length > 1)
      return refused('token_invalid', 'Authorization arrived more than once. Send it once.');
    const given = BEARER.exec(lines[0] ?? '')?.[1];
    if (given === undefined)
      return refused('token_missing', 'Send the publish token as Authorization: Bearer <token>.');
    const hash = sha256(given);
    const [match] = known.filter((token) => timingSafeEqual(hash, token.hash));
    return match === undefined
      ? refused('token_invalid', 'This is not a publish token of this deployment.')
      : { ok: true, operator: match.operator };
  };
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

const refused = (code: 'token_missing' | 'token_invalid', message: string): BearerVerdict => ({
  ok: false,
  code,
  message,
});
