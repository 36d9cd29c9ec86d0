/** Names of members whose values are secrets or somebody's data, whatever they hold. Compared without case, `-` and `_`. */
const HIDDEN = new Set([
  'secret',
  'secrets',
  'token',
  'tokens',
  'authorization',
  'proxyauthorization',
  'password',
  'passphrase',
  'apikey',
  'privatekey',
  'encryptionkeys',
  'admintoken',
  'publishtoken',
  'publishtokens',
  'cookie',
  'setcookie',
  'signature',
  'body',
  'payload',
  'rawbody',
  'document',
]);

const CENSOR = '[redacted]';
/** Deeper than any line of ours; an object that is deeper got in by mistake. */
const DEPTH_MAX = 6;
/** A stack trace has room, a payload has not. */
const TEXT_MAX = 8_000;

/** Secrets that are known by their looks, inside any text. What is in front of them stays. */
const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\b([a-z][a-z0-9+.-]{1,15}:\/\/)[^\s/@]{1,256}@/gi, `$1${CENSOR}@`], // credentials in a URL
  [/\b(Bearer|Basic) [A-Za-z0-9._~+/=-]{8,}/g, `$1 ${CENSOR}`],
  [/\bwhs(ec|k)_[A-Za-z0-9+/=_-]{8,}/g, CENSOR],
  [/\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{8,}/g, CENSOR],
  [/\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]*/g, CENSOR], // a JWT
];

/** Masks secrets that a text shows by their looks, and cuts it to a bounded length. */
export function redactText(text: string): string {
  let masked = text.length > TEXT_MAX ? `${text.slice(0, TEXT_MAX)}…` : text;
  for (const [pattern, censor] of PATTERNS) masked = masked.replace(pattern, censor);
  return masked;
}

/**
 * A copy of what a line is about without what may hold a secret or a payload. Lines are written without either; this is
 * the fence behind that, for an error of a library that carries the whole request.
 */
export function redactFields(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return walkObject(fields, 0);
}

function walkObject(fields: object, depth: number): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      HIDDEN.has(name.toLowerCase().replaceAll(/[-_]/g, '')) ? CENSOR : walk(value, depth + 1),
    ]),
  );
}

function walk(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return redactText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (depth > DEPTH_MAX || value instanceof Uint8Array) return '[left out]';
  if (value instanceof Error) return value; // the serializer turns it into an object, and that comes here again
  if (value instanceof Date) return value;
  if (Array.isArray(value)) return value.slice(0, 100).map((each) => walk(each, depth + 1));
  return walkObject(value, depth);
}
