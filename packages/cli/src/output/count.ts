/** `1 replay`, `2 replays`. `many`: where more of them are not the noun and an s. */
export const count = (number: number, noun: string, many = `${noun}s`): string =>
  `${number} ${number === 1 ? noun : many}`;

export const isOrAre = (number: number): string => (number === 1 ? 'is' : 'are');
export const wasOrWere = (number: number): string => (number === 1 ? 'was' : 'were');
