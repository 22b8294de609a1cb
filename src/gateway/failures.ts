import type { Logger } from 'pino';
import { isDatabaseAway } from '../core/database.ts';
import { DomainError } from '../core/errors.ts';

/**
 * What the caller is told of anything thrown: domain errors as they are; a database that is away as 503; everything else as 500, logged
 * with its cause under the request id and answered without detail.
 */
export function toDomainError(error: unknown, log: Logger): DomainError {
  if (error instanceof DomainError) return error;
  if (isDatabaseAway(error)) {
    log.warn({ err: error }, 'database away');
    return new DomainError('unavailable', 'the database cannot be reached at the moment; try again', {
      headers: { 'Retry-After': '1' },
    });
  }
  log.error({ err: error }, 'internal error');
  return new DomainError('internal', 'internal error; the request id finds it in the log');
}
