/*
 * Where values are in the text of a JSON document. JSON.parse yields values, but the bytes of one item of a batch must go
 * on as they were sent, and of two members with one name it silently keeps the last, where another reader may keep the
 * first. Every text here has passed JSON.parse, so nothing is validated again, and nothing recurses.
 */

export interface Span {
  readonly start: number;
  /** After the last character. */
  readonly end: number;
}

export type SpanFound = Span | 'missing' | 'repeated';

/** The value at a pointer's tokens. `repeated`: a member on the way is there more than once. */
export function findSpan(text: string, tokens: readonly string[]): SpanFound {
  let start = afterSpace(text, 0);
  for (const token of tokens) {
    const opening = text[start];
    let found: number | 'repeated' | undefined;
    if (opening === '{') found = memberOf(text, start, token);
    else if (opening === '[') found = elementOf(text, start, token);
    if (found === 'repeated') return found;
    if (found === undefined) return 'missing';
    start = found;
  }
  return { start, end: endOfValue(text, start) };
}

/** The elements of the list at `span`; at most `max`, and one more to show that there are more. */
export function elementSpans(text: string, span: Span, max: number): Span[] {
  const spans: Span[] = [];
  let index = afterSpace(text, span.start + 1);
  while (text[index] !== ']' && index < span.end && spans.length <= max) {
    const end = endOfValue(text, index);
    spans.push({ start: index, end });
    index = afterSpace(text, end);
    if (text[index] === ',') index = afterSpace(text, index + 1);
  }
  return spans;
}

function memberOf(text: string, object: number, name: string): number | 'repeated' | undefined {
  let found: number | undefined;
  let index = afterSpace(text, object + 1);
  while (text[index] === '"') {
    const keyEnd = endOfString(text, index);
    const key = text.slice(index + 1, keyEnd - 1);
    const value = afterSpace(text, afterSpace(text, keyEnd) + 1);
    if (key === name || (key.includes('\\') && JSON.parse(`"${key}"`) === name)) {
      if (found !== undefined) return 'repeated';
      found = value;
    }
    index = afterSpace(text, endOfValue(text, value));
    if (text[index] === ',') index = afterSpace(text, index + 1);
  }
  return found;
}

function elementOf(text: string, list: number, token: string): number | undefined {
  if (!/^(?:0|[1-9]\d{0,8})$/.test(token)) return undefined;
  const span = elementSpans(text, { start: list, end: text.length }, Number(token))[Number(token)];
  return span?.start;
}

function afterSpace(text: string, index: number): number {
  let at = index;
  while (at < text.length && ' \t\n\r'.includes(text.charAt(at))) at += 1;
  return at;
}

/** `index` is that of the opening quote. */
function endOfString(text: string, index: number): number {
  let quote = text.indexOf('"', index + 1);
  while (quote !== -1) {
    let backslashes = 0;
    while (text[quote - 1 - backslashes] === '\\') backslashes += 1;
    if (backslashes % 2 === 0) return quote + 1;
    quote = text.indexOf('"', quote + 1);
  }
  return text.length;
}

function endOfValue(text: string, index: number): number {
  const opening = text[index];
  if (opening === '"') return endOfString(text, index);
  if (opening !== '{' && opening !== '[') {
    const end = /[\s,\]}]/g;
    end.lastIndex = index;
    return end.exec(text)?.index ?? text.length;
  }
  const next = /["[\]{}]/g; // one pass from mark to mark, whatever the depth
  let depth = 0;
  next.lastIndex = index;
  for (let mark = next.exec(text); mark !== null; mark = next.exec(text)) {
    if (mark[0] === '"') next.lastIndex = endOfString(text, mark.index);
    else if (mark[0] === '{' || mark[0] === '[') depth += 1;
    else depth -= 1;
    if (depth === 0) return mark.index + 1;
  }
  return text.length;
}
