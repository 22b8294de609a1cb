import type { Logger } from 'pino';
import { type DatabaseTrouble, databaseTrouble } from '../core/postgres/failures.ts';
import { DomainError } from '../core/errors.ts';

const MESSAGES: Readonly<Record<DatabaseTrouble, string>> = {
  away: 'the database is unreachable; try again',
  full: 'the database has no disk space left; try again later',
  busy: 'the database is too busy; try again',
};

/**
 * Converts any thrown value to the error for the caller. Domain errors are unchanged; an unreachable, full or busy
 * database becomes a 503; everything else becomes a 500 without details, whose cause is logged with the request id.
 */
export function toDomainError(error: unknown, log: Logger): DomainError {
  if (error instanceof DomainError) return error;
  const trouble = databaseTrouble(error);
  if (trouble) {
    log.warn({ err: error }, `database ${trouble}`);
    const retryAfter = trouble === 'full' ? '10' : '1';
    return new DomainError('unavailable', MESSAGES[trouble], { headers: { 'Retry-After': retryAfter } });
  }
  log.error({ err: error }, 'internal error');
  return new DomainError('internal', 'internal error; quote the request id to the operator');
}
