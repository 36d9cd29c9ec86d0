import type { Answer } from '@breakwater/contracts/source-answers';
import type { Source } from '@breakwater/contracts/source-config';
import type { Challenge, Match } from '@breakwater/contracts/source-handshake';
import { documentOf } from './document.ts';
import { type HeaderLines, type HeaderRead, readHeader, readQuery, type SignedRequest } from './headers.ts';
import { sameText } from './shared-secret.ts';

export type Handshake =
  /** To be answered; it is no event. */
  | { readonly kind: 'answer'; readonly answer: Answer }
  /** A challenge that does not carry the token that was agreed. */
  | { readonly kind: 'refused' }
  | { readonly kind: 'none' };

/** An echo is a stranger's text in our answer: short, and never as something that a browser would run. */
const ECHO_MAX = 1_024;
const TEXT = 'text/plain; charset=utf-8';

/** Is the request a challenge or a ping? `verified`: those that must pass `auth`, or those that need not. */
export function handshakeOf(source: Source, request: SignedRequest, verified: boolean): Handshake {
  for (const challenge of source.challenges) {
    if (challenge.verified === verified && matches(source, challenge.when, request))
      return respond(source, challenge, request);
  }
  for (const ping of source.pings) {
    if (ping.verified === verified && matches(source, ping.when, request))
      return { kind: 'answer', answer: ping.answer };
  }
  return { kind: 'none' };
}

/** Methods beyond `request.methods` that some handshake is asked with. */
export const challengeMethods = (source: Source): string[] => [
  ...source.challenges.flatMap(({ when }) => (when.method === undefined ? [] : [when.method])),
  ...(source.abuseProtection === undefined ? [] : ['OPTIONS']),
];

/** The headers that consent to deliveries from whoever asks; undefined where there is no consent. */
export function consentOf(
  { abuseProtection, request }: Source,
  headers: HeaderLines,
): Readonly<Record<string, string>> | undefined {
  const asked = readHeader(headers, 'webhook-request-origin');
  if (abuseProtection === undefined || asked.kind !== 'one' || asked.text === '') return undefined;
  const { origins, rate } = abuseProtection;
  const origin =
    origins === '*' ? '*' : origins.find((each) => each.toLowerCase() === asked.text.toLowerCase());
  if (origin === undefined) return undefined;
  return {
    allow: request.methods.join(', '),
    'webhook-allowed-origin': origin,
    'webhook-allowed-rate': String(rate),
  };
}

function respond(source: Source, challenge: Challenge, request: SignedRequest): Handshake {
  const { token, echo, json } = challenge;
  if (token !== undefined) {
    const given = readQuery(request.query, token.query);
    const expected = token.value ?? source.values[token.config ?? ''] ?? '';
    if (given.kind !== 'one' || expected === '' || !sameText(given.text, expected))
      return { kind: 'refused' };
  }
  const read =
    'query' in echo
      ? readQuery(request.query, echo.query)
      : documentOf(source.parse, request).readAt(echo.pointer);
  if (read.kind !== 'one' || read.text.length > ECHO_MAX) return { kind: 'refused' };
  return {
    kind: 'answer',
    answer:
      json === undefined
        ? { status: 200, body: read.text, contentType: TEXT }
        : { status: 200, body: JSON.stringify({ [json]: read.text }), contentType: 'application/json' },
  };
}

function matches(source: Source, match: Match, request: SignedRequest): boolean {
  const { method, query, header, pointer, formFields } = match;
  if (method !== undefined && method !== (request.method ?? 'POST')) return false;
  if (query !== undefined && !isExpected(readQuery(request.query, query.name), query.equals)) return false;
  if (header !== undefined && !isExpected(readHeader(request.headers, header.name), header.equals))
    return false;
  if (pointer !== undefined) {
    const read = documentOf(source.parse, request).readAt(pointer.at);
    if (!isExpected(read, pointer.equals)) return false;
  }
  if (formFields === undefined) return true;
  const names = documentOf(source.parse, request)
    .fields()
    ?.map(([name]) => name);
  return names?.length === formFields.length && formFields.every((name) => names.includes(name));
}

const isExpected = (read: HeaderRead, equals: string | undefined): boolean =>
  read.kind === 'one' && (equals === undefined || read.text === equals);
