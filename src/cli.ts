import { VERSION_AND_BUILD } from './core/version.ts';
import { SETTINGS, readConfig } from './core/config.ts';
import { misspelledVariables } from './core/misspelled-variables.ts';
import { assemble } from './gateway/assemble.ts';
import { prepareDatabase } from './gateway/prepare-database.ts';
import { runLogin, runLogout } from './recorder/login.ts';
import { createLog } from './gateway/telemetry/logging.ts';
import { parseCommandLine } from './operator/command-line.ts';
import { type DatabaseCommand, isLoginCommand } from './operator/command.ts';
import { needsNoMigration, runCommand } from './operator/commands.ts';
import { isPlanCommand, runPlanCommand } from './operator/tracking-plan/plan-commands.ts';
import { writeAnswer } from './operator/write-answer.ts';

/** The exit status with which shells report an interrupted program. */
const INTERRUPTED = 130;

const interruption = new AbortController();
/** Aborts when the reader of the output has closed it, as `head` does. */
const readerLeft = new AbortController();

async function main(args: readonly string[]): Promise<void> {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    readerLeft.abort();
  });
  const command = parseCommandLine(args);
  if (isPlanCommand(command)) {
    const { output, exitStatus } = await runPlanCommand(command, process.env);
    process.stdout.write(output);
    process.exitCode = exitStatus;
  } else if (isLoginCommand(command)) await (command.name === 'login' ? runLogin : runLogout)(command.addresses);
  else if (command.name === 'help') process.stdout.write(command.text);
  else if (command.name === 'version') process.stdout.write(`${VERSION_AND_BUILD}\n`);
  else await run(command);
}

async function run(command: DatabaseCommand): Promise<void> {
  if (command.name === 'events import') endWhereItCanGoOn();
  const config = readConfig(process.env);
  for (const line of misspelledVariables(process.env, SETTINGS)) process.stderr.write(`${line}\n`);
  // Standard output is only for the answer.
  const assembly = await assemble(config, createLog('silent'), { joinRunning: true });
  try {
    const note = (line: string) => process.stderr.write(`${line}\n`);
    if (!needsNoMigration(command)) await prepareDatabase(assembly.dependencies, note);
    const streams = { progress: process.stderr, input: process.stdin, signal: interruption.signal };
    const answer = await runCommand(assembly.dependencies, command, streams);
    const asTable = process.stdout.isTTY && !('json' in command && command.json);
    await writeAnswer(answer, process.stdout, { asTable, signal: readerLeft.signal });
  } finally {
    await assembly.close();
  }
}

/** In CI, the commands of the tracking plan must tell a failure from a breaking change, whose status is 1. */
function failureStatus([, , noun]: readonly string[]): number {
  return noun === 'plan' ? 2 : 1;
}

/** A signal within this time of the first one is the same: the terminal sends it, and npm passes it on. */
const REPEATED_MS = 500;

/** The first signal lets the command end by itself and print how to continue; another one ends the process at once. */
function endWhereItCanGoOn(): void {
  let first: number | undefined;
  const interrupt = () => {
    first ??= performance.now();
    if (performance.now() - first > REPEATED_MS) process.exit(INTERRUPTED);
    interruption.abort();
  };
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, interrupt);
}

try {
  await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(interruption.signal.aborted ? INTERRUPTED : failureStatus(process.argv));
}
