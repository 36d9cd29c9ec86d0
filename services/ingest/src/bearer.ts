import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { TOKEN_PREFIX } from '@breakwater/contracts/access-token';
import type { PublishToken } from '@breakwater/contracts/publish-tokens';
import type { TokenReader } from '@breakwater/core/token-reader';
import { AppError } from '@breakwater/runtime/errors';

export type BearerVerdict =
  | { readonly ok: true; readonly operator: string }
  | {
      readonly ok: false;
      readonly code: 'token_missing' | 'token_invalid' | 'token_scope' | 'unavailable';
      readonly message: string;
    };

/** RFC 6750: the scheme in any case, then one token. */
const BEARER = /^bearer +(\S+)$/i;

/**
 * Judges `Authorization: Bearer <token>`: whose token is it? Those of the configuration are compared by their hashes, in
 * constant time and with every one: hashes have one length, so that not even the length of a token shows. What looks like a
 * token made as data is looked up; while Redis does not say, the answer is unavailable: the token may be a good one.
 */
export function createBearerCheck(
  tokens: readonly PublishToken[],
  reader?: TokenReader,
): (request: IncomingMessage) => Promise<BearerVerdict> {
  const known = tokens.map(({ value, operator }) => ({ hash: sha256(value), operator }));
  return async (request) => {
    if (known.length === 0 && reader === undefined) return refused('token_invalid', NOTHING_CONFIGURED);
    const lines = request.headersDistinct['authorization'] ?? [];
    if (lines.length > 1)
      return refused('token_invalid', 'Authorization arrived more than once. Send it once.');
    const given = BEARER.exec(lines[0] ?? '')?.[1];
    if (given === undefined)
      return refused('token_missing', 'Send the publish token as Authorization: Bearer <token>.');
    const hash = sha256(given);
    const [match] = known.filter((token) => timingSafeEqual(hash, token.hash));
    if (match !== undefined) return { ok: true, operator: match.operator };
    if (reader !== undefined && given.startsWith(TOKEN_PREFIX)) return judgeData(reader, given);
    return refused('token_invalid', known.length === 0 ? NOTHING_CONFIGURED : NO_SUCH_TOKEN);
  };
}

const NOTHING_CONFIGURED =
  'No publish token is configured here. Set publishToken (PUBLISH_TOKEN) or publishTokens, or make one: tokens create --scope publish.';
const NO_SUCH_TOKEN = 'This is not a publish token of this deployment.';

async function judgeData(reader: TokenReader, given: string): Promise<BearerVerdict> {
  try {
    const verdict = await reader.judge(given);
    if (verdict.kind !== 'known')
      return refused(
        'token_invalid',
        verdict.kind === 'unknown' ? NO_SUCH_TOKEN : `This token is ${verdict.kind}. Use another one.`,
      );
    const { role, operator } = verdict.scope;
    return role === 'publish' && operator !== null
      ? { ok: true, operator }
      : refused('token_scope', 'This token does not publish: its scope is another one.');
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'unavailable') throw error;
    return refused('unavailable', error.message);
  }
}

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

const refused = (code: Extract<BearerVerdict, { ok: false }>['code'], message: string): BearerVerdict => ({
  ok: false,
  code,
  message,
});
