/** `1 replay`, `2 replays`. Every noun of this command line takes an s. */
export const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`;

export const isOrAre = (number: number): string => (number === 1 ? 'is' : 'are');
export const wasOrWere = (number: number): string => (number === 1 ? 'was' : 'were');
