import { findSpan } from './json-spans.ts';

/** RFC 6901 tokens of a JSON pointer, or undefined when it is not one. */
export function parsePointer(pointer: string): string[] | undefined {
  if (pointer === '') return [];
  if (!pointer.startsWith('/') || /~(?![01])/.test(pointer)) return undefined;
  return pointer
    .slice(1)
    .split('/')
    .map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** The value at a pointer; undefined when it is not there. Own properties only, so `/__proto__` finds nothing by itself. */
export function resolvePointer(document: unknown, tokens: readonly string[]): unknown {
  let value = document;
  for (const token of tokens) {
    if (Array.isArray(value)) {
      if (!/^(?:0|[1-9]\d{0,8})$/.test(token)) return undefined;
      value = value[Number(token)];
    } else if (typeof value === 'object' && value !== null && Object.hasOwn(value, token)) {
      value = Reflect.get(value, token);
    } else {
      return undefined;
    }
  }
  return value;
}

/** A number as it was written. `JSON.parse` would round 12345678901234567890 and make two events one. */
class RawNumber {
  readonly source: string;
  constructor(source: string) {
    this.source = source;
  }
}

/**
 * Text of the scalar at a pointer in a parsed JSON document: strings as they are, numbers exactly as written, booleans
 * as `true` and `false`. Undefined for anything else, and where nothing is.
 */
export function textAt(
  json: { readonly text: string; readonly value: unknown },
  tokens: readonly string[],
): string | undefined {
  const value = resolvePointer(json.value, tokens);
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'number') return undefined;
  if (Number.isSafeInteger(value) && !Object.is(value, -0)) {
    // 1.0 and 1e3 are safe integers too, so the exact spelling matters only when the text has a point or an exponent
    // somewhere; re-reading costs more than parsing, hence the check.
    if (!/[.eE]/.test(json.text)) return String(value);
  }
  const span = findSpan(json.text, tokens);
  if (typeof span === 'object') return json.text.slice(span.start, span.end);
  // Of two members of one name JSON.parse has taken the last; to find that one costs ten times as much.
  const exact: unknown = JSON.parse(json.text, function keepNumbers(
    _key,
    parsed: unknown,
    context?: { source?: string },
  ) {
    return typeof parsed === 'number' && context?.source !== undefined
      ? new RawNumber(context.source)
      : parsed;
  } as (this: unknown, key: string, value: unknown) => unknown);
  const raw = resolvePointer(exact, tokens);
  return raw instanceof RawNumber ? raw.source : undefined;
}
