import { printable } from '@breakwater/core/printable';

export interface Column {
  readonly title: string;
  /** Longest cell in characters; a longer one is cut. Unbounded for what people copy, such as ids. */
  readonly max?: number;
}

/** An aligned table with a line of titles. Cells may come from outside: they are escaped here. */
export function renderTable(columns: readonly Column[], rows: readonly (readonly string[])[]): string {
  const lines = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ max }, index) => cut(printable(row[index] ?? ''), max))),
  ];
  const widths = columns.map((_, index) => Math.max(...lines.map((line) => lengthOf(line[index] ?? ''))));
  return lines
    .map((line) =>
      line
        .map((cell, index) => pad(cell, widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Names and values below each other. Values may come from outside: they are escaped here. */
export function renderFields(fields: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`.trimEnd()).join('\n');
}

const lengthOf = (text: string): number => Array.from(text).length;
const pad = (text: string, width: number): string => text + ' '.repeat(Math.max(0, width - lengthOf(text)));

function cut(text: string, max: number | undefined): string {
  const characters = Array.from(text);
  return max === undefined || characters.length <= max ? text : `${characters.slice(0, max - 1).join('')}…`;
}
