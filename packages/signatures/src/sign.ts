import { createHash, createHmac } from 'node:crypto';
import type { SignatureCheck } from '@breakwater/contracts/source-check';
import type { Source } from '@breakwater/contracts/source-config';
import { documentOf } from './document.ts';
import type { SignedRequest } from './headers.ts';
import { decodeKeys, type SigningKey } from './keys.ts';
import { type ContentPart, signedContent } from './signed-content.ts';

/**
 * Signs a request as the provider of a source would, with its newest secret: for demonstrations and tests. Returns all
 * headers of the request, `headers` among them. Throws AppError config_invalid when the secret cannot be used, and an
 * Error for a source whose signature is made with a private key, is not in a header, or is of each item.
 */
export function signAsProvider(
  source: Source,
  request: SignedRequest & { readonly nowMs: number },
): Record<string, string[]> {
  const headers: Record<string, string[]> = Object.fromEntries(
    Object.entries(request.headers).map(([name, lines]) => [name, [...lines]]),
  );
  for (const check of source.auth) {
    if (check.kind === 'signature') signWith(source, check, request, headers);
    else if (check.kind === 'sharedSecret') showSecret(source, check, headers);
  }
  return headers;
}

function signWith(
  source: Source,
  check: SignatureCheck,
  request: SignedRequest & { readonly nowMs: number },
  headers: Record<string, string[]>,
): void {
  const { signature, timestamp, keyId } = check;
  const header = signature.header ?? signature.headerPattern?.replace('*', '1');
  if (header === undefined || source.batch?.signature === 'perItem')
    throw new Error('only signatures in a header can be made here');
  const [key] = decodeKeys(source, check);
  if (!key) throw new Error('the source has no secret');
  const time = timeText(timestamp?.unit ?? 's', request.nowMs);
  if (timestamp?.header !== undefined) headers[timestamp.header] = [time];
  if (typeof keyId === 'object') headers[keyId.header] = [key.keyId];
  const fields = new Map(timestamp?.field === undefined ? [] : [[timestamp.field, time] as const]);
  const signed = { ...request, headers };
  const content = signedContent(
    source,
    check,
    check.signed[0] ?? [],
    { request: signed, document: documentOf(source.parse, signed) },
    fields,
  );
  if (!content.ok) throw new Error(`the ${content.where} is signed and ${content.why}`);
  const text = signature.prefix + digest(check, key, content.parts).toString(signature.encoding);
  const { list } = signature;
  const name = list?.pick ?? (keyId === 'list' ? key.keyId : undefined);
  const entries = [...fields, ...(name === undefined ? [] : [[name, text] as const])];
  headers[header] = [
    name === undefined
      ? text
      : entries
          .map(([field, value]) => `${field}${list?.keyValue ?? ''}${value}`)
          .join(list?.separator ?? ''),
  ];
}

function timeText(unit: 's' | 'ms' | 'iso', nowMs: number): string {
  if (unit === 'iso') return new Date(nowMs).toISOString();
  return String(unit === 's' ? Math.floor(nowMs / 1_000) : nowMs);
}

function digest(check: SignatureCheck, { key }: SigningKey, parts: readonly ContentPart[]): Buffer {
  if (key.type !== 'secret') throw new Error('signatures of a private key cannot be made here');
  const hashing =
    check.algorithm === 'sha256-concat'
      ? createHash('sha256')
      : createHmac(check.algorithm.slice('hmac-'.length), key);
  for (const part of parts) hashing.update(part === 'secret' ? key.export() : part);
  return hashing.digest();
}

function showSecret(
  source: Source,
  check: Extract<Source['auth'][number], { kind: 'sharedSecret' }>,
  headers: Record<string, string[]>,
): void {
  const value = source.secrets.find(({ id }) => check.secrets?.includes(id) ?? true)?.value ?? '';
  if (check.in === 'header') headers[check.name ?? ''] = [value];
  else if (check.in === 'bearer') headers['authorization'] = [`Bearer ${value}`];
  else if (check.in === 'basic')
    headers['authorization'] = [`Basic ${Buffer.from(value, 'utf8').toString('base64')}`];
  else throw new Error('a secret in the query is part of the URL: call it with that');
}
