import type { Logger } from 'pino';
import { databaseTrouble } from '../core/postgres/failures.ts';
import { DomainError } from '../core/errors.ts';

/**
 * What the caller learns of anything thrown: domain errors as they are; a database that is away or full as 503; everything else as 500, logged
 * with its cause under the request id and answered without detail.
 */
export function toDomainError(error: unknown, log: Logger): DomainError {
  if (error instanceof DomainError) return error;
  const trouble = databaseTrouble(error);
  if (trouble) {
    const isFull = trouble === 'full';
    log.warn({ err: error }, `database ${trouble}`);
    const message = isFull
      ? 'the database has no room left to write; try again later'
      : 'the database cannot be reached at the moment; try again';
    return new DomainError('unavailable', message, { headers: { 'Retry-After': isFull ? '10' : '1' } });
  }
  log.error({ err: error }, 'internal error');
  return new DomainError('internal', 'internal error; the request id finds it in the log');
}
