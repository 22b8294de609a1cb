import type { Logger } from 'pino';
import { databaseTrouble } from '../core/postgres/failures.ts';
import { DomainError } from '../core/errors.ts';

/**
 * Converts any thrown value to the error for the caller. Domain errors are unchanged; an unreachable or full database becomes a 503; everything
 * else becomes a 500 without details, whose cause is logged with the request id.
 */
export function toDomainError(error: unknown, log: Logger): DomainError {
  if (error instanceof DomainError) return error;
  const trouble = databaseTrouble(error);
  if (trouble) {
    const isFull = trouble === 'full';
    log.warn({ err: error }, `database ${trouble}`);
    const message = isFull
      ? 'the database has no disk space left; try again later'
      : 'the database is unreachable; try again';
    return new DomainError('unavailable', message, { headers: { 'Retry-After': isFull ? '10' : '1' } });
  }
  log.error({ err: error }, 'internal error');
  return new DomainError('internal', 'internal error; quote the request id to the operator');
}
