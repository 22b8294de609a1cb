import { pino } from 'pino';
import type { Config } from '../core/config.ts';

/** JSON lines on standard output. Secrets are not logged in the first place; what could carry one by accident is redacted. */
export function createLog(level: Config['LOG_LEVEL']) {
  return pino({
    level,
    redact: {
      paths: ['authorization', '*.authorization', 'headers.*', '*.headers.*', 'key', '*.key', 'hash', '*.hash', '*.clientSecret', '*.env', 'err.params', 'err.parameters'],
      censor: '[redacted]',
    },
  });
}
