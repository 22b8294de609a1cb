import { stringifyWithRawJson } from '../core/text/raw-json.ts';
import type { CommandAnswer } from './commands.ts';
import { largest } from '../core/arrays.ts';

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

/**
 * Writes the answer of a command: one line of JSON for each object, or a table for the rows of a list in a terminal.
 * The signal ends it early.
 */
export async function writeAnswer(
  answer: CommandAnswer,
  stream: { write(text: string): unknown },
  { asTable, signal }: { readonly asTable: boolean; readonly signal?: AbortSignal },
): Promise<void> {
  if (!(Symbol.asyncIterator in answer)) {
    stream.write(`${JSON.stringify(answer)}\n`);
    return;
  }
  if (asTable) {
    const rows: object[] = [];
    for await (const row of answer) rows.push(row);
    stream.write(formatTable(rows));
    return;
  }
  for await (const row of answer) {
    if (signal?.aborted) return;
    stream.write(`${stringifyWithRawJson(row)}\n`);
  }
}
