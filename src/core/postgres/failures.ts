import { ConnectionException, UniqueConstraintViolationException } from '@mikro-orm/postgresql';
import { type DomainError, causesOf } from '../errors.ts';

/**
 * Why the database could not execute a correct statement: it cannot be reached or written to, its disk is full, or it has no time or no
 * connection left.
 */
export type DatabaseTrouble = 'away' | 'full' | 'busy';

// SQLSTATE classes 08 (connection), 28 (login refused) and 57 (shutting down, starting, dropped), 25006 (read-only),
// 3D000 (no such database), and error codes of network and TLS.
const AWAY = new RegExp(
  `^(?:${[
    String.raw`08\w{3}|28\w{3}|57(?!014)\w{3}|25006|3D000`,
    'ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|EPROTO|ETIMEDOUT|EHOSTUNREACH|EHOSTDOWN|ENETUNREACH|ENETDOWN|ENOTFOUND|EAI_AGAIN',
    String.raw`ERR_(?:O?SSL|TLS)_\w+|ERR_STREAM_(?:DESTROYED|WRITE_AFTER_END)|CERT_\w+|\w*SELF_SIGNED_CERT\w*|UNABLE_TO_(?:GET|VERIFY)_\w+`,
  ].join('|')})$`,
);
// Errors of the driver have no code, and neither has that of Citus for a node that is lost within a transaction.
const AWAY_MESSAGE = new RegExp(
  [
    'failure on connection marked as essential|Connection terminated|Client (?:has encountered a connection error|was closed)|Cannot use a pool after calling end|Query read timeout',
    String.raw`timeout expired|does not support SSL connections|error establishing an SSL connection|^SASL: |^Received unexpected \w+ message`,
  ].join('|'),
);
// Errors of a reachable database, or of a process without free descriptors or ports: classes 53 (out of connections or memory), 58 (disk failure), 40 (rolled back for
// another transaction or, on a standby, for changes of its primary), 55 (locked, or not possible during recovery), and
// timeouts; 26000 is a prepared statement that a pooler has lost.
const BUSY =
  /^(?:53\w{3}|58\w{3}|40(?!002)\w{3}|55000|55006|55P03|25P03|25P04|26000|57014|EMFILE|ENFILE|ENOBUFS|EADDRNOTAVAIL)$/;
const BUSY_MESSAGE = /timeout exceeded when trying to connect/;
const DISK_FULL = '53100';

/** The trouble that an error reports; undefined for every other error. */
export function databaseTrouble(error: unknown): DatabaseTrouble | undefined {
  const causes = causesOf(error);
  const codes = causes.map((cause) => codeOf(cause) ?? '');
  if (codes.includes(DISK_FULL)) return 'full';
  if (codes.some((code) => BUSY.test(code)) || isPoolExhausted(error)) return 'busy';
  const isAway = causes.some((cause) => cause instanceof ConnectionException || AWAY_MESSAGE.test(cause.message));
  return isAway || codes.some((code) => AWAY.test(code)) ? 'away' : undefined;
}

/** Whether all connections of the pool were in use for too long. `DatabaseHealth` logs why. */
export const isPoolExhausted = (error: unknown): boolean =>
  causesOf(error).some(({ message }) => BUSY_MESSAGE.test(message));

/** Whether an error means that the database is temporarily unavailable and a retry may succeed. */
export const isDatabaseAway = (error: unknown): boolean => databaseTrouble(error) !== undefined;

/** The SQLSTATE of an error, or the code of one of the network. */
export const codeOf = (error: Error): string | undefined =>
  'code' in error && typeof error.code === 'string' ? error.code : undefined;

/** The error for a violated constraint; undefined for any other error. */
export function conflictOf<Input>(error: unknown, conflicts: Readonly<Record<string, (input: Input) => DomainError>>) {
  if (!(error instanceof UniqueConstraintViolationException)) return undefined;
  // The exception has a copy of the driver's field `constraint`.
  const name = violatedConstraint(error);
  return name === undefined ? undefined : conflicts[name];
}

const IN_MESSAGE = /violates unique constraint "([^"]+)"/;

/** The name of the violated constraint. Citus reports it only in the message, with the number of the shard at its end. */
export function violatedConstraint(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const given = 'constraint' in error && typeof error.constraint === 'string' ? error.constraint : undefined;
  const named = given ?? IN_MESSAGE.exec(error.message)?.[1];
  return named?.replace(/_\d{6,}$/, '');
}
