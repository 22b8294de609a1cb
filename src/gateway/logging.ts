import { destination, pino } from 'pino';
import type { Config } from '../core/config.ts';

/**
 * JSON lines on standard output. Secrets are not logged in the first place: the lines hold what we put into them, by name. Only errors come
 * from elsewhere, and what could carry a secret in them by accident is redacted.
 */
export function createLog(level: Config['LOG_LEVEL']) {
  const options = {
    level,
    redact: {
      paths: ['params', 'parameters', 'headers', 'authorization', 'key', 'hash', 'clientSecret', 'env', 'config'].map(
        (field) => `err.${field}`,
      ),
      censor: '[redacted]',
    },
  };
  // Written in pieces of 8 KiB, at the latest after a quarter of a second, and at the end of the process: a write for each line would
  // cost more than the line.
  return pino(options, destination({ sync: false, minLength: 8_192, periodicFlush: 250 }));
}
