/** Byte -> how many more `JSON.stringify` writes for it. */
const MORE = Uint8Array.from(
  { length: 256 },
  (_, byte) => JSON.stringify(String.fromCharCode(byte)).length - 3,
);

/**
 * Bytes that `JSON.stringify` makes of this UTF-8 text, without its two quotes: as many for most, six for one of a control
 * character.
 */
export function escapedBytes(text: Uint8Array): number {
  let size = text.length;
  // By index: with an iterator 25 MiB took ten times as long.
  for (let at = 0; at < text.length; at += 1) size += MORE[text[at] ?? 0] ?? 0;
  return size;
}
