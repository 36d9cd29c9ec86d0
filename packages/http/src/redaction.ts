import { type LinearPattern, type Span, linearPattern } from '@breakwater/contracts/linear-pattern';

/** What is to be masked in a text of a peer. */
export interface Redaction {
  /** `isCutOff`: the rest of the text was not read, so that a secret may be missing its end. */
  readonly find: (text: string, isCutOff: boolean) => Span[];
}

/** Long enough that prose ("Bearer authentication") is left alone. */
const CREDENTIALS = String.raw`\b(?:Bearer|Basic|Digest)\s+([\w.~+/=-]{16,})`;

/** Names of fields whose values are secrets wherever they are seen, in JSON and in forms or query strings. */
const SECRET_FIELD = String.raw`(?:password|passwd|pwd|secret|client_?secret|signing_?secret|api_?key|access_?token|refresh_?token|id_?token|auth_?token|authorization|private_?key)`;

/** In RE2's syntax; where there is a group, only the group is masked. */
const WELL_KNOWN: readonly LinearPattern[] = [
  CREDENTIALS,
  String.raw`"${SECRET_FIELD}"\s*:\s*"((?:[^"\\]|\\.)+)`, // without its closing quote: it may be beyond the sample
  String.raw`(?:^|[?&\s])${SECRET_FIELD}=([^&\s"']+)`,
  String.raw`<(?:[\w.-]+:)?${SECRET_FIELD}(?:\s[^<>]*)?>(?:<!\[CDATA\[)?([^<]+)`, // XML, SOAP
  String.raw`\b[a-z][\w+.-]*://[^\s/?#@:"'<>]*:([^\s/?#"'<>]+)@`, // credentials in a URL
].map((source) => linearPattern(source, { ignoreCase: true }));

const WELL_KNOWN_TOKENS: readonly LinearPattern[] = [
  String.raw`\bwhsec_[\w+/=-]{8,}`, // Standard Webhooks
  String.raw`\bv1a?,[A-Za-z0-9+/]{20,}={0,2}`, // its signatures
  String.raw`\beyJ[\w-]{6,}\.[\w-]{6,}(?:\.[\w-]*)?`, // JWT
  String.raw`\b(?:sk|rk)_(?:live|test)_\w{8,}`, // Stripe
  String.raw`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`, // AWS
  String.raw`\b(?:gh[opsru]_\w{20,}|github_pat_\w{20,})`,
  String.raw`\bxox[a-z]-[\w-]{10,}`, // Slack
  String.raw`\bAIza[\w-]{30,}`, // Google
  String.raw`-----BEGIN [A-Z ]*PRIVATE KEY-----[^-]*(?:-----END [A-Z ]*PRIVATE KEY-----)?`,
].map((source) => linearPattern(source));

/**
 * Payment cards: 13 to 19 digits, perhaps in groups, that begin as the large schemes' do. Times in ms begin with 1, and
 * the check digit leaves nine of ten other numbers alone.
 */
const CARD = linearPattern(String.raw`\b[2-6](?:[ -]?\d){12,18}\b`);

/** Well-known secrets, and the patterns of the configuration (`samples.redact`). Throws Error for what is no pattern. */
export function createRedaction(patterns: readonly string[] = []): Redaction {
  const all = [...WELL_KNOWN, ...WELL_KNOWN_TOKENS, ...patterns.map((source) => linearPattern(source))];
  return {
    find: (text) => [
      ...all.flatMap((pattern) => pattern.find(text)),
      ...CARD.find(text).filter(({ start, end }) => hasCheckDigit(text.slice(start, end))),
    ],
  };
}

/** Names of headers whose values are secrets; not `idempotency-key`, which people look for. */
const SECRET_HEADER = /authorization|signature|cookie|secret|password|api-?key|(?:auth|access)-?token/i;

/** Also masks what a request said in headers such as `authorization` or `webhook-signature`, should its peer echo it. */
export function withHeaders(redaction: Redaction, headers: Readonly<Record<string, string>>): Redaction {
  const secrets = Object.keys(headers).flatMap((name) =>
    SECRET_HEADER.test(name) ? [headers[name] ?? ''] : [],
  );
  return {
    find: (text, isCutOff) => [...redaction.find(text, isCutOff), ...findSecrets(text, secrets, isCutOff)],
  };
}

/** The Luhn check (ISO/IEC 7812-1, annex B). */
function hasCheckDigit(text: string): boolean {
  const digits = text.replaceAll(/\D/g, '');
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = Number(digits[digits.length - 1 - index]);
    const doubled = index % 2 === 1 ? digit * 2 : digit;
    sum += doubled > 9 ? doubled - 9 : doubled;
  }
  return sum % 10 === 0;
}

/** Shorter texts would cut up innocent words, and give nothing away. */
const SHORTEST = 4;
/** Of a list such as the two signatures of a rotation, one alone is a secret, too. */
const SHORTEST_PART = 12;

/** Every occurrence of these secrets, in the spellings that frameworks echo them in, and of their parts. */
export function findSecrets(text: string, secrets: readonly string[], isCutOff: boolean): Span[] {
  const spellings = new Set(secrets.flatMap(partsOf).flatMap(spellingsOf));
  return [...spellings].flatMap((secret) => [
    ...occurrences(text, secret),
    ...(isCutOff ? remnant(text, secret) : []),
  ]);
}

function partsOf(secret: string): string[] {
  const parts = secret.split(/[\s,]+/).flatMap((part) => [part, part.replace(/^whsec_/, '')]);
  return [secret, ...parts.filter((part) => part.length >= SHORTEST_PART)].filter(
    (part) => part.length >= SHORTEST,
  );
}

/** As it is, as JSON (PHP escapes the slash), in a URL. */
const spellingsOf = (secret: string): string[] => [
  secret,
  JSON.stringify(secret).slice(1, -1),
  secret.replaceAll('/', String.raw`\/`),
  encodeURIComponent(secret.toWellFormed()),
];

function occurrences(text: string, secret: string): Span[] {
  const spans: Span[] = [];
  for (let start = text.indexOf(secret); start >= 0; start = text.indexOf(secret, start + secret.length))
    spans.push({ start, end: start + secret.length });
  return spans;
}

/** The beginning of a secret at the very end of a text of which the rest was not read. */
function remnant(text: string, secret: string): Span[] {
  for (let length = Math.min(secret.length - 1, text.length); length >= SHORTEST; length -= 1) {
    if (text.endsWith(secret.slice(0, length))) return [{ start: text.length - length, end: text.length }];
  }
  return [];
}
