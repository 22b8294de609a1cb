import { SETTINGS, readConfig } from '../core/config.ts';
import { misspelledVariables } from '../core/misspelled-variables.ts';
import { assemble } from '../gateway/assemble.ts';
import { prepareDatabase } from '../gateway/prepare-database.ts';
import { createLog } from '../gateway/telemetry/logging.ts';
import type { DatabaseCommand } from './command.ts';
import { needsNoMigration, runCommand } from './commands.ts';
import { writeAnswer } from './write-answer.ts';

/** Runs a command with the database of the environment, and prints its answer. */
export async function runOnDatabase(
  command: DatabaseCommand,
  { interrupted, readerLeft }: { readonly interrupted: AbortSignal; readonly readerLeft: AbortSignal },
): Promise<void> {
  const config = readConfig(process.env);
  for (const line of misspelledVariables(process.env, SETTINGS)) process.stderr.write(`${line}\n`);
  // Standard output is only for the answer.
  const assembly = await assemble(config, createLog('silent'), { joinRunning: true });
  try {
    const note = (line: string) => process.stderr.write(`${line}\n`);
    if (!needsNoMigration(command)) await prepareDatabase(assembly.dependencies, note);
    const streams = { progress: process.stderr, input: process.stdin, signal: interrupted };
    const answer = await runCommand(assembly.dependencies, command, streams);
    const asTable = process.stdout.isTTY && !('json' in command && command.json);
    await writeAnswer(answer, process.stdout, { asTable, signal: readerLeft });
  } finally {
    await assembly.close();
  }
}
