import { inspect } from 'node:util';
import type { Logger } from 'pino';
import { type Config, ConfigurationError, SETTINGS, readConfig } from '../core/config.ts';
import { STOP_SIGNALS, endProcess } from '../core/end-process.ts';
import { misspelledVariables } from '../core/misspelled-variables.ts';
import { settlesWithin } from '../core/concurrency.ts';
import { type Assembly, assemble } from '../gateway/assemble.ts';
import { databaseFault, databaseVariable } from '../gateway/prepare-database.ts';
import { createLog } from '../gateway/telemetry/logging.ts';

/**
 * Time for running requests and jobs to finish, and for the database to close. The whole stop takes at most 10 s, even
 * on a busy machine.
 */
export const GRACE_MS = 6_000;
const CLOSING_MS = 2_000;
/** Time for the last log lines, which wait while nobody reads them. */
const LOG_MS = 500;

/** What a gateway and a worker start with. */
export interface Service {
  readonly config: Config;
  readonly assembly: Assembly;
  /** Notes how a part that was started is stopped again. Parts are stopped at the same time, before the database is closed. */
  readonly onStop: (stop: () => Promise<unknown>) => void;
}

/**
 * Runs a gateway or a worker until a signal or the end of the embedded database. Whatever ends it, also a start that fails, everything
 * that was started is stopped, within a bounded time.
 * @param start returns the text that says that the service is ready
 */
export async function runService(
  start: (service: Service) => Promise<string>,
  { joinRunning = false } = {},
): Promise<void> {
  const stops: (() => Promise<unknown>)[] = [];
  let assembling: Promise<Assembly> | undefined;
  let ending: Promise<never> | undefined;
  let log: Logger | undefined;
  const end = (code: number) =>
    (ending ??= (async () => {
      // Errors here, and statements that still run, end with the process.
      await settlesWithin(Promise.allSettled([assembling, ...stops.map((stop) => stop())]), GRACE_MS);
      await settlesWithin(Promise.allSettled([assembling?.then((assembly) => assembly.close())]), CLOSING_MS);
      await settlesWithin(new Promise<void>((resolve) => (log ? log.flush(() => resolve()) : resolve())), LOG_MS);
      return endProcess(code);
    })());
  // Messages beside the log are lost, too, when they cannot be written.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  for (const signal of STOP_SIGNALS) process.on(signal, () => void end(0));
  let variable = 'DATABASE_URL';
  try {
    const config = readConfig(process.env);
    variable = databaseVariable(config);
    log = createLog(config.LOG_LEVEL);
    for (const line of misspelledVariables(process.env, SETTINGS)) log.warn(line);
    assembling = assemble(config, log, { joinRunning });
    const assembly = await assembling;
    void assembly.embedded?.ended.then((how) => {
      if (ending) return;
      assembly.dependencies.log.fatal(how);
      void end(1);
    });
    const ready = await start({ config, assembly, onStop: (stop) => stops.push(stop) });
    if (!ending) process.stdout.write(ready);
  } catch (error) {
    // A start also fails because the process is being stopped.
    if (!ending) process.stderr.write(`${lineOf(databaseFault(error, variable))}\n`);
    await end(1);
  }
}

/** One line for errors that an operator can fix; the whole error for others. */
const lineOf = (error: unknown): string => (error instanceof ConfigurationError ? error.message : inspect(error));
