/**
 * What a terminal would obey instead of show: C0, DEL and C1 controls (0x9b begins an escape sequence by itself),
 * invisible and direction-changing characters, line and paragraph separators, lone surrogates.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const UNSAFE_BUT_NEWLINE = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** UTF-16 units, so that the same spelling is valid inside a JSON string. */
const escape = (character: string): string =>
  Array.from(
    { length: character.length },
    (_, index) => String.raw`\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');

/** Text from outside (event ids, URLs, answers of receivers) as one line that a terminal or a page only shows. */
export const printable = (text: string): string => text.replaceAll(UNSAFE, escape);

/** As printable, but line breaks stay. */
export const printableLines = (text: string): string =>
  text.replaceAll('\r\n', '\n').replaceAll(UNSAFE_BUT_NEWLINE, escape);
