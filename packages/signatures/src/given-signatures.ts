import type { SignatureCheck } from '@breakwater/contracts/source-check';
import { MAX_SIGNATURES } from '@breakwater/contracts/source-check-rules';
import { type ParsedBody, readField } from './document.ts';
import { decodeSignature } from './encodings.ts';
import { type HeaderRead, readHeader, type SignedRequest } from './headers.ts';
import { refused, type Refusal, repeated } from './verdict.ts';

/** What a check is applied to: the request, and the document that pointers look into (the item, where items are signed). */
export interface CheckInput {
  readonly request: SignedRequest;
  readonly document: ParsedBody;
}

export interface GivenSignature {
  readonly bytes: Buffer;
  /** Which key it claims to be made with. */
  readonly keyId?: string;
}

export interface Given {
  readonly ok: true;
  readonly signatures: readonly GivenSignature[];
  /** The other fields of the signature, such as `t`; null where one came twice. */
  readonly fields: ReadonlyMap<string, string | null>;
}

/** Entries of a list, signatures or not. */
const MAX_ENTRIES = 32;

/** Bytes of each algorithm's signature; undefined where it varies. */
const SIGNATURE_BYTES = {
  'hmac-sha1': 20,
  'hmac-sha256': 32,
  'hmac-sha512': 64,
  'sha256-concat': 32,
  ed25519: 64,
  'ecdsa-p256-sha256': undefined, // DER
  'rsa-sha256': undefined, // by the key
} as const satisfies Record<SignatureCheck['algorithm'], number | undefined>;

/**
 * Takes the signatures out of a request. In a list, entries that cannot be a signature are passed over, since a provider
 * may add kinds; alone, one that cannot be one is refused with what is wrong about it.
 */
export function readSignatures(check: SignatureCheck, input: CheckInput): Given | Refusal {
  const { headerPattern, list } = check.signature;
  const keyId = namedKey(check, input.request);
  if (typeof keyId === 'object') return keyId;
  if (headerPattern !== undefined) return readPattern(check, headerPattern, input.request);
  const where = placeOf(check.signature);
  const read = readPlace(check.signature, input);
  if (read.kind === 'repeated') return repeated(where);
  if (read.kind === 'missing' || read.text === '') {
    return refused(
      'signature_missing',
      `The ${where} is missing. Sign the body and send the signature in it.`,
    );
  }
  if (list !== undefined) return readList(check, list, read.text, where, keyId);
  const decoded = decodeOne(check, read.text, where);
  if ('ok' in decoded) return decoded;
  return {
    ok: true,
    signatures: [keyId === undefined ? decoded : { ...decoded, keyId }],
    fields: new Map(),
  };
}

function placeOf({ header, pointer, form }: SignatureCheck['signature']): string {
  if (header !== undefined) return `header ${header}`;
  return form === undefined ? `value at ${pointer}` : `field ${form}`;
}

function readPlace(place: SignatureCheck['signature'], { request, document }: CheckInput): HeaderRead {
  if (place.header !== undefined) return readHeader(request.headers, place.header);
  if (place.pointer !== undefined) return document.readAt(place.pointer);
  return readField(document, place.form ?? '');
}

/** The key that the request names in a header; undefined where it names none there. */
function namedKey(check: SignatureCheck, request: SignedRequest): string | Refusal | undefined {
  if (typeof check.keyId !== 'object') return undefined;
  const { header } = check.keyId;
  const read = readHeader(request.headers, header);
  if (read.kind === 'repeated') return repeated(`header ${header}`);
  if (read.kind === 'missing')
    return refused('signature_missing', `The header ${header} is missing. Name the signing key in it.`);
  return read.text;
}

function decodeOne(check: SignatureCheck, text: string, where: string): GivenSignature | Refusal {
  const { prefix, encoding } = check.signature;
  if (!text.startsWith(prefix)) {
    return refused(
      'signature_invalid',
      `The ${where} does not start with ${JSON.stringify(prefix)}. Put that before the signature.`,
    );
  }
  const size = SIGNATURE_BYTES[check.algorithm];
  const bytes = decodeSignature(text.slice(prefix.length), encoding, size);
  if (bytes) return { bytes };
  const expected = size === undefined ? 'any signature' : `${size} bytes`;
  return refused(
    'signature_invalid',
    `The signature in ${where} is not the ${encoding} of ${expected}, as ${check.algorithm} yields.`,
  );
}

function readPattern(check: SignatureCheck, pattern: string, request: SignedRequest): Given | Refusal {
  const prefix = pattern.slice(0, -1);
  const signatures: GivenSignature[] = [];
  for (const [name, lines] of Object.entries(request.headers)) {
    if (!name.startsWith(prefix) || !/^\d{1,3}$/.test(name.slice(prefix.length))) continue;
    const [text] = lines;
    if (text === undefined || lines.length > 1) return repeated(`header ${name}`);
    const decoded = decodeOne(check, text, `header ${name}`);
    if (!('ok' in decoded)) signatures.push(decoded);
    if (signatures.length > MAX_SIGNATURES) return tooMany();
  }
  if (signatures.length === 0)
    return refused('signature_missing', `No header ${pattern} holds a signature. Sign the body.`);
  return { ok: true, signatures, fields: new Map() };
}

const tooMany = (): Refusal =>
  refused('signature_invalid', `There are more than ${MAX_SIGNATURES} signatures. Send fewer.`);

function readList(
  check: SignatureCheck,
  list: NonNullable<SignatureCheck['signature']['list']>,
  text: string,
  where: string,
  keyId: string | undefined,
): Given | Refusal {
  const entries = text.split(list.separator, MAX_ENTRIES + 1);
  if (entries.length > MAX_ENTRIES) return tooMany();
  const signatures: GivenSignature[] = [];
  const fields = new Map<string, string | null>();
  for (const entry of entries) {
    const [name, value] = takeApart(list.trim ? entry.trim() : entry, list.keyValue);
    if (value === undefined) continue;
    if (name !== undefined && name !== list.pick) fields.set(name, fields.has(name) ? null : value);
    if (list.pick !== undefined && name !== list.pick) continue;
    const decoded = decodeOne(check, value, where);
    if ('ok' in decoded) continue;
    const claimed = check.keyId === 'list' ? name : keyId;
    signatures.push(claimed === undefined ? decoded : { ...decoded, keyId: claimed });
    if (signatures.length > MAX_SIGNATURES) return tooMany();
  }
  if (signatures.length > 0) return { ok: true, signatures, fields };
  return refused(
    'signature_invalid',
    `The ${where} holds no ${list.pick ?? ''} signature in ${check.signature.encoding}, as ${check.algorithm} yields.`,
  );
}

/** Name and value of an entry; without `keyValue` there is no name, and without a name there where one must be no value. */
function takeApart(entry: string, keyValue: string | undefined): [string | undefined, string | undefined] {
  if (keyValue === undefined) return [undefined, entry];
  const at = entry.indexOf(keyValue);
  return at === -1 ? [undefined, undefined] : [entry.slice(0, at), entry.slice(at + 1)];
}
