/** Longer or deeper JSON is shown as it is: its blanks would be many times the text. */
const INDENT_MAX = 64 * 1024;
const DEPTH_MAX = 32;

/** Strings as a whole, single marks, and what is in between: numbers and words. Blanks are what is left. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/**
 * JSON with its lines and levels, for people. Every token keeps its own characters and its place, so that nothing but blanks between
 * them is lost: 1.10 stays 1.10, 9007199254740993 keeps its end, a member that is there twice is shown twice.
 * Undefined where the text is no JSON, or too long or too deep.
 */
export function indentJson(text: string): string | undefined {
  if (text.length > INDENT_MAX || !isJson(text)) return undefined;
  let depth = 0;
  let deepest = 0;
  let out = '';
  let before = '';
  const line = (): string => `\n${'  '.repeat(Math.min(depth, DEPTH_MAX))}`;
  for (const [token] of text.matchAll(TOKEN)) {
    const opened = before === '{' || before === '[';
    if (token === '}' || token === ']') {
      depth -= 1;
      if (!opened) out += line();
    } else if (opened || before === ',') out += line();
    else if (before === ':') out += ' ';
    out += token;
    if (token === '{' || token === '[') depth += 1;
    deepest = Math.max(deepest, depth);
    before = token;
  }
  return deepest > DEPTH_MAX ? undefined : out;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
