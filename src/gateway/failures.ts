import { ConnectionException } from '@mikro-orm/postgresql';
import type { Logger } from 'pino';
import { DomainError } from '../core/errors.ts';

// PostgreSQL's class 08 (connection), 57P0x (shutting down, starting), 53300 (too many connections), and the network's own errors.
const AWAY = /^(?:08\w{3}|57P0[1-5]|53300|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND)$/;
const AWAY_MESSAGE = /timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Cannot use a pool after calling end/;

/** Whether an error means that the database cannot be reached at the moment. */
export function isDatabaseAway(error: unknown): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < 5; cause = cause.cause, depth += 1) {
    if (cause instanceof ConnectionException || AWAY_MESSAGE.test(cause.message)) return true;
    if ('code' in cause && typeof cause.code === 'string' && AWAY.test(cause.code)) return true;
  }
  return false;
}

/**
 * What the caller is told of anything thrown: domain errors as they are; a database that is away as 503; everything else as 500, logged
 * with its cause under the request id and answered without detail.
 */
export function toDomainError(error: unknown, log: Logger): DomainError {
  if (error instanceof DomainError) return error;
  if (isDatabaseAway(error)) {
    log.warn({ err: error }, 'database away');
    return new DomainError('unavailable', 'the database cannot be reached at the moment; try again', { headers: { 'Retry-After': '1' } });
  }
  log.error({ err: error }, 'internal error');
  return new DomainError('internal', 'internal error; the request id finds it in the log');
}
