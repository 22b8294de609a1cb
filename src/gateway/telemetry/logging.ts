import { type LogFn, type Logger, destination, pino } from 'pino';
import { databaseTrouble } from '../../core/postgres/failures.ts';
import type { Config } from '../../core/config.ts';
import { createLineFormat } from './terminal-log.ts';

/**
 * JSON lines on standard output, and lines for people where that is a terminal. Secrets are not logged in the first place: the lines hold what we put into them, by name. Only errors come
 * from elsewhere, and what could carry a secret in them by accident is redacted.
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
  // Written in pieces of 8 KiB, at the latest after a quarter of a second, and at the end of the process: a write for each line would
  // cost more than the line.
  const log = pino(
    options,
    output.isTTY ? terminal(output) : destination({ sync: false, minLength: 8_192, periodicFlush: 250 }),
  );
  withholdWarnings(log);
  return log;
}

/** Written at once, so that lines and the block of the start come in their order. */
function terminal(output: NodeJS.WriteStream) {
  const format = createLineFormat({ hasColors: output.hasColors() });
  return { write: (json: string) => void output.write(format(json)) };
}

const WARN = 40;
const QUIET_MS = 60_000;

/**
 * Everything fails while the database is away, and the log would have a line with a stack for each failure. An outage has lines already
 * (`watchOutages`), so its failures are logged at debug. A database that is full or busy gets one line a minute.
 */
function quietOutages() {
  const lastLine = new Map<string, number>();
  return function logMethod(this: Logger, given: Parameters<LogFn>, method: LogFn, level: number): void {
    const [fields] = given as readonly unknown[];
    const error = level >= WARN && typeof fields === 'object' && fields !== null && 'err' in fields && fields.err;
    const trouble = error ? databaseTrouble(error) : undefined;
    if (!trouble) return method.apply(this, given);
    const now = performance.now();
    if (trouble !== 'away' && now - (lastLine.get(trouble) ?? -QUIET_MS) >= QUIET_MS) {
      lastLine.set(trouble, now);
      return method.apply(this, given);
    }
    return this.debug(...given);
  };
}

/**
 * Libraries warn on the console, and the MCP client does so in the words of the server it speaks to, which may hold anything: line breaks
 * that look like lines of ours, or a secret that it was shown. Of such a warning the log has only whose it is.
 */
function withholdWarnings(log: Logger): void {
  // oxlint-disable-next-line no-console -- the one place that libraries write to
  console.warn = (text: unknown) => {
    const library = typeof text === 'string' ? /^\[([a-z-]{1,40})\]/.exec(text)?.[1] : undefined;
    log.warn({ library }, 'a library warns; its words are withheld, for a peer may have chosen them');
  };
}
