/*
 * Is it JSON? JSON.parse knows, and builds everything that the text describes in order to say so: `{}` is two bytes as
 * text and more than fifty as an object. Who wants the answer alone gets it here for one bit a level of nesting.
 */

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/**
 * Would `JSON.parse` take these bytes (RFC 8259, valid UTF-8, no byte order mark)? Whether they are UTF-8 is not looked at.
 * Iterative: a text of nothing but brackets exhausts no stack.
 */
export function isJson(bytes: Uint8Array): boolean {
  const nesting = createNesting();
  let at = skipBlanks(bytes, 0);
  for (;;) {
    // A value begins at `at`.
    const byte = bytes[at];
    if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      at = skipBlanks(bytes, at + 1);
      if (bytes[at] !== (byte === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_LIST)) {
        nesting.open(byte === OPEN_OBJECT);
        if (byte === OPEN_OBJECT) at = nameEnd(bytes, at);
        if (at === -1) return false;
        continue;
      }
      at += 1;
    } else {
      at = scalarEnd(bytes, at);
      if (at === -1) return false;
    }
    // A value has ended: close what ends with it, until another one must follow.
    for (;;) {
      at = skipBlanks(bytes, at);
      if (nesting.depth() === 0) return at === bytes.length;
      const inObject = nesting.inObject();
      if (bytes[at] === COMMA) {
        at = skipBlanks(bytes, at + 1);
        if (inObject) at = nameEnd(bytes, at);
        if (at === -1) return false;
        break;
      }
      if (bytes[at] !== (inObject ? CLOSE_OBJECT : CLOSE_LIST)) return false;
      nesting.close();
      at += 1;
    }
  }
}

/** One bit for each open level: is it an object? */
function createNesting(): {
  readonly open: (object: boolean) => void;
  readonly close: () => void;
  readonly inObject: () => boolean;
  readonly depth: () => number;
} {
  let bits = new Uint8Array(64);
  let depth = 0;
  return {
    open(object) {
      const index = depth >> 3;
      if (index === bits.length) {
        const more = new Uint8Array(bits.length * 2);
        more.set(bits);
        bits = more;
      }
      const mask = 1 << (depth & 7);
      const others = (bits[index] ?? 0) & ~mask;
      bits[index] = object ? others | mask : others;
      depth += 1;
    },
    close: () => void (depth -= 1),
    inObject: () => ((bits[(depth - 1) >> 3] ?? 0) & (1 << ((depth - 1) & 7))) !== 0,
    depth: () => depth,
  };
}

function skipBlanks(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at += 1;
  return at;
}

/** Where the value of the member begins whose name begins at `from`; -1 where there is no name and colon. */
function nameEnd(bytes: Uint8Array, from: number): number {
  if (bytes[from] !== QUOTE) return -1;
  const end = stringEnd(bytes, from);
  if (end === -1) return -1;
  const colon = skipBlanks(bytes, end);
  return bytes[colon] === COLON ? skipBlanks(bytes, colon + 1) : -1;
}

/** Index after the string, number or literal at `from`; -1 where there is none. */
function scalarEnd(bytes: Uint8Array, from: number): number {
  switch (bytes[from]) {
    case QUOTE:
      return stringEnd(bytes, from);
    case 0x74: // t
      return literalEnd(bytes, from, 'true');
    case 0x66: // f
      return literalEnd(bytes, from, 'false');
    case 0x6e: // n
      return literalEnd(bytes, from, 'null');
    case undefined:
      return -1;
    default:
      return numberEnd(bytes, from);
  }
}

function literalEnd(bytes: Uint8Array, from: number, literal: string): number {
  for (let index = 0; index < literal.length; index += 1)
    if (bytes[from + index] !== literal.charCodeAt(index)) return -1;
  return from + literal.length;
}

function stringEnd(bytes: Uint8Array, from: number): number {
  for (let at = from + 1; ; at += 1) {
    const byte = bytes[at];
    if (byte === undefined || byte < 0x20) return -1;
    if (byte === QUOTE) return at + 1;
    if (byte !== BACKSLASH) continue;
    at += 1;
    const escaped = bytes[at];
    if (escaped === undefined || !ESCAPES.has(escaped)) return -1;
    if (escaped !== 0x75) continue; // u
    for (let digit = 1; digit <= 4; digit += 1) if (!isHexDigit(bytes[at + digit])) return -1;
    at += 4;
  }
}

const ESCAPES: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrtu'));

function numberEnd(bytes: Uint8Array, from: number): number {
  let at = bytes[from] === 0x2d ? from + 1 : from; // -
  if (!isDigit(bytes[at])) return -1;
  at = bytes[at] === 0x30 ? at + 1 : digitsEnd(bytes, at); // no digit follows a leading 0
  if (bytes[at] === 0x2e) {
    if (!isDigit(bytes[at + 1])) return -1;
    at = digitsEnd(bytes, at + 1);
  }
  if (bytes[at] !== 0x65 && bytes[at] !== 0x45) return at; // e, E
  at += bytes[at + 1] === 0x2b || bytes[at + 1] === 0x2d ? 2 : 1;
  return isDigit(bytes[at]) ? digitsEnd(bytes, at) : -1;
}

function digitsEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  while (isDigit(bytes[at])) at += 1;
  return at;
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;

const isHexDigit = (byte: number | undefined): boolean =>
  isDigit(byte) || (byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
