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

/** A destination's answer as JSON; undefined when it is none, or not whole. A byte order mark (RFC 8259, 8.1) is skipped. */
export function readAnswer(answer: { readonly body: Buffer; readonly truncated: boolean }): unknown {
  return answer.truncated ? undefined : parseJson(new TextDecoder().decode(answer.body));
}

/**
 * A copy that is nothing but JSON. JSONata's arrays carry flags of its own and its functions are objects, and
 * `JSON.stringify` would drop or mangle both in silence. Throws an Error that names the member which is not JSON.
 */
export function plainJson(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, refuseWhatIsNotJson)) as unknown;
}

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
