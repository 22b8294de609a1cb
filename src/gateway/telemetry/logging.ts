import { type LogFn, type Logger, pino, symbols } from 'pino';
import { isObject } from '../../core/is-object.ts';
import { databaseTrouble, isPoolExhausted } from '../../core/postgres/failures.ts';
import type { Config } from '../../core/config.ts';
import { LogOutput } from './log-output.ts';
import { createLineFormat } from './terminal-log.ts';

const STANDARD_OUTPUT = 1;

/**
 * Writes JSON lines to standard output, or readable lines to a terminal. Log lines contain only named fields without
 * secrets. Fields of errors that could contain a secret by accident are redacted.
 */
export function createLog(level: Config['LOG_LEVEL'], output: NodeJS.WriteStream = process.stdout): Logger {
  const options = {
    level,
    hooks: { logMethod: quietOutages() },
    redact: {
      paths: ['params', 'parameters', 'headers', 'authorization', 'key', 'hash', 'clientSecret', 'env', 'config'].map(
        (field) => `err.${field}`,
      ),
      censor: '[redacted]',
    },
  };
  const lines = new LogOutput(STANDARD_OUTPUT, (loss) =>
    log.warn(loss, 'log lines were lost, because they could not be written'),
  );
  const log = pino(options, output.isTTY ? terminal(output) : lines);
  withholdWarnings(log);
  return log;
}

/** How many lines of a log could not be written. */
export function linesLostOf(log: Logger): number {
  const output: unknown = Reflect.get(log, symbols.streamSym);
  return output instanceof LogOutput ? output.linesLost : 0;
}

/** Written synchronously, so that log lines and the start message appear in order. */
function terminal(output: NodeJS.WriteStream) {
  const format = createLineFormat({ hasColors: output.hasColors() });
  return { write: (json: string) => void output.write(format(json)) };
}

const WARN = 40;
const QUIET_MS = 60_000;

/**
 * Limits log lines about the database. During an outage every request fails, and `DatabaseHealth` already logs the
 * outage, so these failures are logged at debug level, as are those of an exhausted pool. A full or overloaded database gets one line per minute.
 */
function quietOutages() {
  const lastLine = new Map<string, number>();
  return function logMethod(this: Logger, given: Parameters<LogFn>, method: LogFn, level: number): void {
    const [fields]: readonly unknown[] = given;
    const error = level >= WARN && isObject(fields) && fields['err'];
    const trouble = error ? databaseTrouble(error) : undefined;
    if (!trouble) return method.apply(this, given);
    const now = performance.now();
    const isLogged = trouble === 'away' || isPoolExhausted(error);
    if (!isLogged && now - (lastLine.get(trouble) ?? -QUIET_MS) >= QUIET_MS) {
      lastLine.set(trouble, now);
      return method.apply(this, given);
    }
    return this.debug(...given);
  };
}

/**
 * Replaces console warnings of libraries. The MCP client includes text of the remote server in its warnings, which can
 * contain forged log lines or a secret. The log therefore contains only the name of the library.
 */
function withholdWarnings(log: Logger): void {
  // oxlint-disable-next-line no-console -- libraries write their warnings there
  console.warn = (text: unknown) => {
    const library = typeof text === 'string' ? /^\[([a-z-]{1,40})\]/.exec(text)?.[1] : undefined;
    log.warn(
      { library },
      'a library wrote a warning; its text is not logged, because it can come from a remote server',
    );
  };
}
