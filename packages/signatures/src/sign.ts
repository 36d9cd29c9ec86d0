import { createHmac } from 'node:crypto';
import type { Source } from '@breakwater/contracts/source-config';
import type { SignedRequest } from './headers.ts';
import { decodeKeys } from './keys.ts';
import { signedContent } from './signed-content.ts';

/**
 * Signs a request as the provider of a source would, with its newest secret: for demonstrations and tests. Returns all
 * headers of the request, `headers` among them. Throws AppError config_invalid when the secret cannot be used.
 */
export function signAsProvider(
  source: Source,
  request: SignedRequest & { readonly nowMs: number },
): Record<string, string[]> {
  const { auth } = source;
  const headers: Record<string, string[]> = Object.fromEntries(
    Object.entries(request.headers).map(([name, lines]) => [name, [...lines]]),
  );
  if (auth.timestamp) {
    headers[auth.timestamp.header] = [
      String(auth.timestamp.unit === 's' ? Math.floor(request.nowMs / 1_000) : request.nowMs),
    ];
  }
  const content = signedContent(auth, { headers, body: request.body });
  if (!content.ok) throw new Error(`the header ${content.header} is signed and ${content.why}`);
  const [key] = decodeKeys(source);
  if (!key) throw new Error('the source has no secret');
  const hmac = createHmac(auth.algorithm.slice('hmac-'.length), key.key);
  for (const part of content.parts) hmac.update(part);
  headers[auth.signature.header] = [`${auth.signature.prefix}${hmac.digest(auth.signature.encoding)}`];
  return headers;
}
