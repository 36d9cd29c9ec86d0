/** What `JSON.parse` cannot keep: an integer beyond 2^53, or an exponent that leaves the range of a double. */
const MAY_EXCEED = /\d{16}|\d[eE]/;

/**
 * The value of a JSON text, or undefined when it is none. Throws RangeError when it is nested too deeply to be read exactly. Numbers beyond 2^53 come back as the text they were written
 * in: rounded, two order numbers would become one, and an ERP would be told of an order that does not exist. Decimals
 * are doubles (about 15 significant digits), as everywhere in JavaScript; what needs more travels as a JSON string.
 */
export function parseJson(text: string): unknown {
  try {
    return MAY_EXCEED.test(text) ? JSON.parse(text, keepLargeNumbers) : JSON.parse(text);
  } catch (error) {
    // Valid, but nested beyond what can be visited: not the same as no JSON, or a document would go out half empty.
    if (error instanceof RangeError) throw error;
    return undefined;
  }
}

/** The third parameter is ECMAScript's "JSON.parse source text access", which the types of TypeScript lack. */
function keepLargeNumbers(_key: string, value: unknown, context?: { readonly source?: string }): unknown {
  if (typeof value !== 'number' || Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
  return context?.source ?? value;
}

/** An answer of 4 MiB of full documents needs half of it; one that was made to fill the memory would need twice as much. */
const MAX_ANSWER_MEMORY = 64 * 1024 * 1024;

/**
 * A destination's answer as JSON; undefined when it is none, not whole, or more than can be read: nested too deeply to be
 * read exactly, or too many values. A byte order mark (RFC 8259, 8.1) is skipped.
 */
export function readAnswer(answer: { readonly body: Buffer; readonly truncated: boolean }): unknown {
  if (answer.truncated || memoryOfJson(answer.body) > MAX_ANSWER_MEMORY) return undefined;
  try {
    return parseJson(new TextDecoder().decode(answer.body));
  } catch {
    return undefined;
  }
}

/** What V8 takes for an object or a list, a member, and an element that is none of them; bytes, rounded up. */
const CONTAINER_BYTES = 72;
const MEMBER_BYTES = 24;
const ELEMENT_BYTES = 32;

/**
 * About how much memory a JSON text takes once it is parsed, from its punctuation: `{}` is two bytes as text and more
 * than fifty as an object, so the length says nothing. Punctuation inside of texts counts too; an estimate may be too high.
 */
export function memoryOfJson(json: Buffer): number {
  let bytes = json.length;
  for (const byte of json) {
    if (byte === 0x7b || byte === 0x5b) bytes += CONTAINER_BYTES;
    else if (byte === 0x3a) bytes += MEMBER_BYTES;
    else if (byte === 0x2c) bytes += ELEMENT_BYTES;
  }
  return bytes;
}

/**
 * A copy that is nothing but JSON. JSONata's arrays carry flags of its own and its functions are objects, and
 * `JSON.stringify` would drop or mangle both in silence. Throws an Error that names the member which is not JSON, or says that it is too large.
 */
export function plainJson(value: unknown): unknown {
  let room = MAX_RESULT_CHARS;
  const text = JSON.stringify(value, (key, member: unknown) => {
    room -= key.length + (typeof member === 'string' ? member.length : 0) + 4;
    if (room < 0) throw new Error(`the result is larger than ${MAX_RESULT_CHARS / 2 ** 20} MiB`);
    return refuseWhatIsNotJson(key, member);
  });
  return JSON.parse(text) as unknown;
}

/**
 * More than the largest body that a source may take (25 MiB). A text can be doubled and an object be used in many places
 * for nothing; written out, each copy counts.
 */
const MAX_RESULT_CHARS = 32 * 1024 * 1024;

function refuseWhatIsNotJson(key: string, value: unknown): unknown {
  const at = key === '' ? 'the result' : `the member ${key}`;
  if (typeof value === 'function' || isJsonataFunction(value))
    throw new Error(`${at} is a function: call it`);
  if (typeof value !== 'number') return value;
  if (!Number.isFinite(value)) throw new Error(`${at} is not a finite number`);
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new Error(`${at} is beyond 2^53 and already rounded: pass it on as text`);
  }
  return value;
}

function isJsonataFunction(value: unknown): boolean {
  return (
    typeof value === 'object' &&
    value !== null &&
    ('_jsonata_function' in value || '_jsonata_lambda' in value)
  );
}

/** What a value is, for a message: payloads stay out of messages. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return `an array of ${value.length}`;
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}
