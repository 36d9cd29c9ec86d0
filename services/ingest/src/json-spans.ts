/** Where a value is in a JSON text: `text.slice(start, end)` are its own characters. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** Levels of nesting: 0 for a scalar, 1 for `[]`. */
  readonly depth: number;
}

/*
 * Finds values in a text that JSON.parse has accepted, and only in such a text: nothing here checks syntax a second time.
 * JSON.parse gives values, from which 1.10 cannot be told from 1.1; its "source text access" gives the text of scalars only.
 */

/** Members of the object at `from` by name. Of a name that occurs twice the last one stays, as with JSON.parse. */
export function memberSpans(text: string, from: number): Map<string, Span> {
  const members = new Map<string, Span>();
  let at = skipBlanks(text, skipBlanks(text, from) + 1);
  while (text[at] !== '}') {
    const nameEnd = endOfString(text, at);
    const value = spanAt(text, skipBlanks(text, nameEnd) + 1);
    members.set(String(JSON.parse(text.slice(at, nameEnd))), value);
    at = skipComma(text, value.end);
  }
  return members;
}

/** Elements of the array at `from`, in order. */
export function elementSpans(text: string, from: number): Span[] {
  const elements: Span[] = [];
  let at = skipBlanks(text, skipBlanks(text, from) + 1);
  while (text[at] !== ']') {
    const element = spanAt(text, at);
    elements.push(element);
    at = skipComma(text, element.end);
  }
  return elements;
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
