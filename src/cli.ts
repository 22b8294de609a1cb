import { VERSION_AND_BUILD } from './core/version.ts';

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
  // Each question and command loads only what it needs: all of the gateway takes seconds.
  if (['--version', '-V'].includes(args[0] ?? '')) return void process.stdout.write(`${VERSION_AND_BUILD}\n`);
  const { isLoginCommand, isPlanCommand } = await import('./operator/command.ts');
  const { parseCommandLine } = await import('./operator/command-line.ts');
  const command = parseCommandLine(args);
  if (command.name === 'help') process.stdout.write(command.text);
  else if (isPlanCommand(command)) {
    const { runPlanCommand } = await import('./operator/tracking-plan/plan-commands.ts');
    const { output, exitStatus } = await runPlanCommand(command, process.env);
    process.stdout.write(output);
    process.exitCode = exitStatus;
  } else if (isLoginCommand(command)) {
    const { runLogin, runLogout } = await import('./recorder/login.ts');
    await (command.name === 'login' ? runLogin : runLogout)(command.addresses);
  } else {
    if (command.name === 'events import') endWhereItCanGoOn();
    const { runOnDatabase } = await import('./operator/run-on-database.ts');
    await runOnDatabase(command, { interrupted: interruption.signal, readerLeft: readerLeft.signal });
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
