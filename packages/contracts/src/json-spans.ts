/*
 * Where values are in a text that JSON.parse has accepted, and only in such a text: nothing here checks syntax a second
 * time, and nothing recurses. JSON.parse gives values, from which 1.10 cannot be told from 1.1, and of two members with
 * one name it silently keeps the last, where another reader may keep the first. Its "source text access" gives the text
 * of scalars only.
 */

/** `text.slice(start, end)` are a value's own characters. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** Levels of nesting: 0 for a scalar, 1 for `[]`. */
  readonly depth: number;
}

/** Members of the object at `from`, in order; names may repeat. */
export function* eachMember(text: string, from: number): Generator<readonly [name: string, value: Span]> {
  let at = skipBlanks(text, skipBlanks(text, from) + 1);
  while (text[at] === '"') {
    const nameEnd = endOfString(text, at);
    const spelt = text.slice(at + 1, nameEnd - 1);
    const value = spanAt(text, skipBlanks(text, nameEnd) + 1);
    yield [spelt.includes('\\') ? String(JSON.parse(`"${spelt}"`)) : spelt, value];
    at = skipComma(text, value.end);
  }
}

/** Elements of the array at `from`, in order. Whoever has seen enough stops asking. */
export function* eachElement(text: string, from: number): Generator<Span> {
  let at = skipBlanks(text, skipBlanks(text, from) + 1);
  while (at < text.length && text[at] !== ']') {
    const element = spanAt(text, at);
    yield element;
    at = skipComma(text, element.end);
  }
}

/** The value at the tokens of a JSON pointer (RFC 6901). `repeated`: a member on the way is there more than once. */
export function findSpan(text: string, tokens: readonly string[]): Span | 'missing' | 'repeated' {
  let span = spanAt(text, 0);
  for (const token of tokens) {
    const found = text[span.start] === '{' ? memberOf(text, span, token) : elementOf(text, span, token);
    if (typeof found === 'string') return found;
    span = found;
  }
  return span;
}

function memberOf(text: string, object: Span, name: string): Span | 'missing' | 'repeated' {
  let found: Span | undefined;
  for (const [key, value] of eachMember(text, object.start)) {
    if (key !== name) continue;
    if (found) return 'repeated';
    found = value;
  }
  return found ?? 'missing';
}

function elementOf(text: string, list: Span, token: string): Span | 'missing' {
  if (text[list.start] !== '[' || !/^(?:0|[1-9]\d{0,8})$/.test(token)) return 'missing';
  return eachElement(text, list.start).drop(Number(token)).next().value ?? 'missing';
}

/** The value that begins at `from` or after blanks there. Iterative: a text of nothing but brackets exhausts no stack. */
export function spanAt(text: string, from: number): Span {
  const start = skipBlanks(text, from);
  if (text[start] === '"') return { start, end: endOfString(text, start), depth: 0 };
  if (text[start] !== '{' && text[start] !== '[')
    return { start, end: next(/[\s,\]}]/g, text, start), depth: 0 };
  let [at, open, depth] = [start, 0, 0];
  do {
    at = next(STRUCTURE, text, at);
    if (text[at] === '"') {
      at = endOfString(text, at);
      continue;
    }
    open += text[at] === '{' || text[at] === '[' ? 1 : -1;
    depth = Math.max(depth, open);
    at += 1;
  } while (open > 0);
  return { start, end: at, depth };
}

const STRUCTURE = /["[\]{}]/g;

/** Index of the next character that matches; the end of the text where none does. */
function next(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.exec(text)?.index ?? text.length;
}

const skipBlanks = (text: string, from: number): number => next(/[^ \t\n\r]/g, text, from);

function skipComma(text: string, from: number): number {
  const at = skipBlanks(text, from);
  return text[at] === ',' ? skipBlanks(text, at + 1) : at;
}

/** Index after the closing quote of the string whose opening quote is at `start`. */
function endOfString(text: string, start: number): number {
  let at = next(/["\\]/g, text, start + 1);
  while (text[at] === '\\') at = next(/["\\]/g, text, at + 2);
  return at + 1;
}
