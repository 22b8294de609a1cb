import type { CommandAnswer } from './commands.ts';
import { formatTable } from './table.ts';

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
    stream.write(`${JSON.stringify(row)}\n`);
  }
}
