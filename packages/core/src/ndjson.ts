/** One line of a file; `read` counts the bytes up to its end. */
export type Line = { readonly line: number; readonly readBytes: number } & (
  | { readonly bytes: Buffer }
  /** Longer than what is taken. Its bytes were let go while reading. */
  | { readonly tooLong: true }
);

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);

/**
 * The lines of a stream with their numbers, byte for byte and without their ends (`\n` or `\r\n`). Blank ones are left out.
 * At most `maxBytes` of a line are held, whatever the file.
 */
export async function* readLines(
  stream: AsyncIterable<Buffer | string>,
  maxBytes: number,
): AsyncGenerator<Line> {
  const held: Buffer[] = [];
  let [heldBytes, line, readBytes, tooLong] = [0, 1, 0, false];
  const keep = (piece: Buffer): void => {
    if (heldBytes + piece.length > maxBytes) {
      tooLong = true;
      held.length = 0;
    } else held.push(piece);
    heldBytes += piece.length;
  };
  const finish = (): Line | undefined => {
    const done: Line = tooLong
      ? { line, readBytes, tooLong: true }
      : { line, readBytes, bytes: trimmed(Buffer.concat(held), line) };
    held.length = 0;
    [heldBytes, tooLong, line] = [0, false, line + 1];
    return 'bytes' in done && isBlank(done.bytes) ? undefined : done;
  };
  for await (const chunk of stream) {
    const bytes = Buffer.from(chunk);
    let from = 0;
    for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, from)) {
      keep(bytes.subarray(from, at));
      readBytes += at + 1 - from;
      from = at + 1;
      const done = finish();
      if (done) yield done;
    }
    keep(bytes.subarray(from));
    readBytes += bytes.length - from;
  }
  const last = heldBytes > 0 ? finish() : undefined;
  if (last) yield last;
}

/** A byte order mark is the file's, a carriage return the line end's. */
function trimmed(bytes: Buffer, line: number): Buffer {
  const from = line === 1 && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK) ? 3 : 0;
  return bytes.subarray(from, bytes.at(-1) === RETURN ? -1 : bytes.length);
}

const isBlank = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0x20 || byte === 0x09);
