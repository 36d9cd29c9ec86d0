import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { hashBytes } from '@breakwater/contracts/ids';
import type { SignatureCheck } from '@breakwater/contracts/source-check';
import type { Source } from '@breakwater/contracts/source-config';
import { type BODY_FORMS, bodyFormOf, type SignedPart } from '@breakwater/contracts/source-parts';
import { documentOf, type ParsedBody, readField } from './document.ts';
import { type CheckInput, type Given, readSignatures } from './given-signatures.ts';
import { type HeaderRead, readHeader, readQuery, type SignedRequest } from './headers.ts';
import { appliesTo } from './when.ts';

/** What of a source goes into signed content. */
export type ContentRules = Pick<Source, 'values' | 'request'>;

export type SignedContent =
  | { readonly ok: true; readonly parts: readonly ContentPart[] }
  | { readonly ok: false; readonly where: string; readonly why: 'missing' | 'repeated' };

/** `secret` stands for the key that is being tried. */
export type ContentPart = Buffer | 'secret';

type Read =
  | { readonly bytes: ContentPart }
  | { readonly where: string; readonly why: 'missing' | 'repeated' };

/**
 * The signed content as the parts to hash one after another; joining them would copy a body of up to 25 MiB. Header
 * text goes back to the bytes that were on the wire (Node reads headers as latin1), everything else is UTF-8.
 */
export function signedContent(
  rules: ContentRules,
  check: SignatureCheck,
  variant: readonly SignedPart[],
  input: CheckInput,
  fields: Given['fields'],
): SignedContent {
  const parts: ContentPart[] = [];
  for (const part of variant) {
    const read = readPart(rules, check, part, input, fields);
    if (!('bytes' in read)) return { ok: false, ...read };
    if (check.join !== '' && parts.length > 0) parts.push(Buffer.from(check.join, 'utf8'));
    parts.push(read.bytes);
  }
  return { ok: true, parts };
}

const text = (value: string): Read => ({ bytes: Buffer.from(value, 'utf8') });

function readPart(
  rules: ContentRules,
  check: SignatureCheck,
  part: SignedPart,
  input: CheckInput,
  fields: Given['fields'],
): Read {
  const { request, document } = input;
  if (part === 'secret') return { bytes: 'secret' };
  if (part === 'body') return { bytes: request.body };
  if (part === 'method') return text(request.method ?? 'POST');
  if (part === 'timestamp') return readTime(check, input, fields);
  if ('literal' in part) return text(part.literal);
  if ('header' in part) return ofRead(readHeader(request.headers, part.header), `header ${part.header}`);
  if ('field' in part) return ofField(fields, part.field);
  if ('config' in part) return text(rules.values[part.config] ?? '');
  if ('url' in part) return text(urlOf(rules.request.publicUrl ?? '', part.url, request.query));
  if ('form' in part) return ofRead(readField(document, part.form), `field ${part.form}`, 'utf8');
  if ('body' in part) return bodyIn(part.body, input);
  const read = document.readAt(part.pointer);
  if (read.kind === 'missing' && part.or !== undefined) return text(part.or);
  return read.kind === 'one' ? text(read.text) : { where: `value at ${part.pointer}`, why: read.kind };
}

function ofRead(read: HeaderRead, where: string, encoding: 'latin1' | 'utf8' = 'latin1'): Read {
  return read.kind === 'one' ? { bytes: Buffer.from(read.text, encoding) } : { where, why: read.kind };
}

function ofField(fields: Given['fields'], name: string): Read {
  const value = fields.get(name);
  if (typeof value === 'string') return { bytes: Buffer.from(value, 'latin1') };
  return { where: `field ${name} of the signature`, why: value === null ? 'repeated' : 'missing' };
}

function readTime(check: SignatureCheck, input: CheckInput, fields: Given['fields']): Read {
  const { header, field, pointer } = check.timestamp ?? {};
  if (header !== undefined) return ofRead(readHeader(input.request.headers, header), `header ${header}`);
  if (field !== undefined) return ofField(fields, field);
  // The schema refuses `timestamp` without a place for it.
  if (pointer === undefined) return { where: 'timestamp', why: 'missing' };
  const read = input.document.readAt(pointer);
  return read.kind === 'one' ? text(read.text) : { where: `value at ${pointer}`, why: read.kind };
}

/** The text of a check's timestamp, or why there is none. */
export function timestampText(
  check: SignatureCheck,
  input: CheckInput,
  fields: Given['fields'],
): { readonly text: string } | { readonly where: string; readonly why: 'missing' | 'repeated' } {
  const read = readTime(check, input, fields);
  return 'bytes' in read ? { text: read.bytes.toString('latin1') } : read;
}

function bodyIn(form: (typeof BODY_FORMS)[number], { request, document }: CheckInput): Read {
  switch (form) {
    case 'raw':
      return { bytes: request.body };
    case 'base64':
      return text(request.body.toString('base64'));
    case 'sha256hex':
      return text(hash('sha256', request.body, 'hex'));
    case 'crc32':
      return text(String(crc32(request.body))); // decimal and unsigned, as PayPal writes it
    case 'sortedForm':
      return sortedForm(document);
  }
}

/** Names in order, each followed by its values, which are in order too and each there once (twilio-node, webhooks.js). */
function sortedForm(document: ParsedBody): Read {
  const fields = document.fields();
  if (fields === undefined) return { where: 'form', why: 'missing' };
  const values = new Map<string, Set<string>>();
  for (const [name, value] of fields) {
    const known = values.get(name);
    if (known === undefined) values.set(name, new Set([value]));
    else known.add(value);
  }
  const inOrder = [...values].toSorted(([one], [other]) => (one < other ? -1 : 1));
  return text(
    inOrder
      .map(([name, all]) =>
        [...all]
          .toSorted()
          .map((value) => name + value)
          .join(''),
      )
      .join(''),
  );
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'https:': '443', 'http:': '80' };

/** The URL that the provider signed, by configuration; only the query is the request's own. */
function urlOf(
  publicUrl: string,
  kind: 'configured' | 'requested' | 'requestedWithPort',
  query: string | undefined,
): string {
  if (kind === 'configured') return publicUrl;
  const { protocol, port } = new URL(publicUrl);
  const withPort =
    kind === 'requestedWithPort' && port === ''
      ? publicUrl.replace(
          /^(https?:\/\/[^/?]+)/i,
          (host) => `${host.replace(/:\d+$/, '')}:${DEFAULT_PORTS[protocol]}`,
        )
      : publicUrl;
  return query === undefined || query === '' ? withPort : `${withPort}?${query}`;
}

/** Does the query parameter equal the part? For URLs that carry a hash of the body. */
export function queryEquals(
  check: { readonly name: string; readonly to: SignedPart },
  input: CheckInput,
): boolean {
  const read = readQuery(input.request.query, check.name);
  const form = bodyFormOf(check.to);
  const part = form === undefined ? undefined : bodyIn(form, input);
  if (read.kind !== 'one' || part === undefined || !('bytes' in part)) return false;
  return part.bytes.toString() === read.text.toLowerCase();
}

/**
 * Key under which a verified request, or one item of it, may pass once: whoever holds one captured request could change
 * an id that is not signed and keep the signature. Undefined where the source needs none. `item` is the item's index.
 */
export function replayKeyOf(
  source: Source,
  request: SignedRequest,
  document: ParsedBody = documentOf(source.parse, request),
  item?: number,
): string | undefined {
  if (source.replayKey === 'none') return undefined;
  const isPerItem = source.batch?.signature === 'perItem';
  const own = isPerItem ? document : documentOf(source.parse, request);
  const content = source.replayKey === 'body' ? [own.bytes] : contentOf(source, { request, document: own });
  if (content === undefined) return undefined;
  // Items of one signed delivery are not replays of each other.
  const index = item === undefined || isPerItem ? [] : [Buffer.from(`#${item}`)];
  return hashBytes(Buffer.concat([...content, ...index]));
}

/** The first variant of the first signature that applies: a request cannot choose another without being another. */
function contentOf(source: Source, input: CheckInput): Buffer[] | undefined {
  for (const check of source.auth) {
    if (check.kind !== 'signature' || !appliesTo(check.when, input.request)) continue;
    const given = readSignatures(check, input);
    const fields = given.ok ? given.fields : new Map<string, string | null>();
    const content = signedContent(source, check, check.signed[0] ?? [], input, fields);
    if (content.ok) return content.parts.filter((part) => part !== 'secret');
  }
  return undefined;
}
