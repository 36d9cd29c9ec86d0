import { printableLines } from '@breakwater/core/printable';

/** JSON for machines that is also safe to look at: JSON.stringify itself leaves DEL, C1 and direction marks as they are. */
export const toJson = (value: unknown): string => printableLines(JSON.stringify(value, null, 2));
