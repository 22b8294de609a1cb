import { ConnectionException, UniqueConstraintViolationException } from '@mikro-orm/postgresql';
import type { DomainError } from '../errors.ts';

/**
 * Why the database could not do what it was asked, where the statement is not to blame: it cannot be reached or written to, its disk is full, or
 * it has no time or no connection left.
 */
export type DatabaseTrouble = 'away' | 'full' | 'busy';

// SQLSTATE class 08 (connection), 57P0x (shutting down, starting), 25006 (now a standby), and the network's own errors.
const AWAY = /^(?:08\w{3}|57P0[1-5]|25006|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENOTFOUND|EAI_AGAIN)$/;
const AWAY_MESSAGE =
  /Connection terminated|Client (?:has encountered a connection error|was closed)|Cannot use a pool after calling end/;
// SQLSTATE class 53 (out of connections or memory) and 57014 (the statement took too long).
const BUSY = /^(?:53\w{3}|57014)$/;
const BUSY_MESSAGE = /timeout exceeded when trying to connect/;
const DISK_FULL = '53100';

/** What is wrong with the database, as far as the error says; undefined for every other error. */
export function databaseTrouble(error: unknown): DatabaseTrouble | undefined {
  const causes = causesOf(error);
  const codes = causes.map((cause) => codeOf(cause) ?? '');
  if (codes.includes(DISK_FULL)) return 'full';
  if (codes.some((code) => BUSY.test(code)) || causes.some(({ message }) => BUSY_MESSAGE.test(message))) return 'busy';
  const isAway = causes.some((cause) => cause instanceof ConnectionException || AWAY_MESSAGE.test(cause.message));
  return isAway || codes.some((code) => AWAY.test(code)) ? 'away' : undefined;
}

/** Whether an error means that the database cannot do at the moment what it was asked, and may be asked again later. */
export function isDatabaseAway(error: unknown): boolean {
  return databaseTrouble(error) !== undefined;
}

function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error && causes.length < 5; cause = cause.cause) causes.push(cause);
  return causes;
}

function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}

/** The error that a violated constraint means; undefined for any other error. */
export function conflictOf<Input>(error: unknown, conflicts: Readonly<Record<string, (input: Input) => DomainError>>) {
  if (!(error instanceof UniqueConstraintViolationException)) return undefined;
  // The driver's own `constraint` field is copied onto the exception.
  const { constraint } = error as { constraint?: string };
  return constraint === undefined ? undefined : conflicts[constraint];
}
