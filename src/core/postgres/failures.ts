import { ConnectionException } from '@mikro-orm/postgresql';

/** What the database, its driver and the network fail with. */

// PostgreSQL's class 08 (connection), 53 (out of connections, memory, disk), 57014 (took too long), 57P0x (shutting down, starting), and the network's own errors.
const AWAY = /^(?:08\w{3}|53\w{3}|57014|57P0[1-5]|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/;
const AWAY_MESSAGE =
  /timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Cannot use a pool after calling end/;

/** Whether an error means that the database cannot be reached at the moment, or has run out of what it needs. */
export function isDatabaseAway(error: unknown): boolean {
  return causesOf(error).some(
    (cause) =>
      cause instanceof ConnectionException || AWAY_MESSAGE.test(cause.message) || AWAY.test(codeOf(cause) ?? ''),
  );
}

/** Whether it means that the database's disk is full: it may still be read. */
export function isDatabaseFull(error: unknown): boolean {
  return causesOf(error).some((cause) => codeOf(cause) === '53100');
}

function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  for (let cause = error; cause instanceof Error && causes.length < 5; cause = cause.cause) causes.push(cause);
  return causes;
}

function codeOf(error: Error): string | undefined {
  return 'code' in error && typeof error.code === 'string' ? error.code : undefined;
}
