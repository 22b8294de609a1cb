import { ConnectionException, UniqueConstraintViolationException } from '@mikro-orm/postgresql';
import type { DomainError } from '../errors.ts';

/**
 * Why the database could not do what it was asked, where the statement is not to blame: it cannot be reached or written to, its disk is full, or
 * it has no time or no connection left.
 */
export type DatabaseTrouble = 'away' | 'full' | 'busy';

// SQLSTATE classes 08 (connection), 28 (login refused) and 57 (shutting down, starting, dropped), 25006 (takes no writes), 3D000 (no such database);
// and what the network and TLS fail with.
const AWAY = new RegExp(
  `^(?:${[
    String.raw`08\w{3}|28\w{3}|57(?!014)\w{3}|25006|3D000`,
    'ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|EPROTO|ETIMEDOUT|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|ENOTFOUND|EAI_AGAIN',
    String.raw`ERR_(?:SSL|TLS)_\w+|ERR_STREAM_(?:DESTROYED|WRITE_AFTER_END)|CERT_\w+|\w*SELF_SIGNED_CERT\w*|UNABLE_TO_(?:GET|VERIFY)_\w+`,
  ].join('|')})$`,
);
// The driver's own errors have no code.
const AWAY_MESSAGE = new RegExp(
  [
    'Connection terminated|Client (?:has encountered a connection error|was closed)|Cannot use a pool after calling end|Query read timeout',
    String.raw`timeout expired|does not support SSL connections|error establishing an SSL connection|^SASL: |^Received unexpected \w+ message`,
  ].join('|'),
);
// What it answers though it can be reached. Classes 53 (out of connections or memory) and 58 (its disk fails), 40 (given up for another transaction,
// or on a standby for its primary's changes), 55 (locked, or not possible during recovery), and timeouts; 26000 is a prepared statement that a pooler has lost.
const BUSY = /^(?:53\w{3}|58\w{3}|40(?!002)\w{3}|55000|55006|55P03|25P03|25P04|26000|57014)$/;
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
