import { largest } from '../core/largest.ts';

/** Longer values are truncated in a terminal; JSON has them in full. */
const MAX_WIDTH = 48;

/** Formats rows as a table: one column for each property, as wide as its longest value. */
export function formatTable(rows: readonly object[]): string {
  const [first] = rows;
  if (!first) return '(none)\n';
  const names = Object.keys(first);
  const cells = [
    names.map((name) => name.replaceAll(/[A-Z]/g, (letter) => ` ${letter}`).toUpperCase()),
    ...rows.map((row) => names.map((name) => cellOf(Reflect.get(row, name)))),
  ];
  const widths = names.map((_, column) =>
    largest(
      cells.map((line) => line[column]?.length ?? 0),
      0,
    ),
  );
  const lines = cells.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return `${lines.join('\n')}\n`;
}

function cellOf(value: unknown): string {
  const text = textOf(value)
    // Control characters would move the cursor.
    .replaceAll(/\p{Cc}/gu, ' ');
  return text.length > MAX_WIDTH ? `${text.slice(0, MAX_WIDTH - 1)}…` : text;
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return value.map(textOf).join(' ');
  if (typeof value === 'object')
    return Object.entries(value)
      .map(([name, each]) => `${name}:${textOf(each)}`)
      .join(' ');
  return JSON.stringify(value);
}
