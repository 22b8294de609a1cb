import type { PoolClient } from 'pg';
import { StatementQuery } from './statement-query.ts';

type Query = (...given: unknown[]) => unknown;

/**
 * Creates the promises of a connection's queries. The driver assigns a function expression to a property for each promise, which V8 allocates
 * as an old object, so the rows of each query stayed until the next major collection (docs/decisions/short-lived-objects.md).
 */
export function makePromises(client: PoolClient): void {
  const query: Query = client.query.bind(client);
  Object.assign(client, {
    query: (...given: unknown[]) => {
      if (typeof given.at(-1) === 'function' || isCursor(given[0])) return query(...given);
      return new Promise((resolve, reject) => {
        query(...given, (error: unknown, result: unknown) => (error ? reject(error) : resolve(result)));
      }).catch(rethrowHere);
    },
  });
}

/** Whether it is a cursor of the driver, which sends its own statements. */
export function isCursor(query: unknown): boolean {
  return typeof query === 'object' && query !== null && 'submit' in query && !(query instanceof StatementQuery);
}

/** Runs a statement on a connection of {@link makePromises}. Its rows are complete when the promise is fulfilled. */
export function sendOn(client: PoolClient, statement: StatementQuery): Promise<unknown> {
  // The driver's type of the method knows only cursors.
  const query: (statement: StatementQuery) => unknown = client.query.bind(client);
  const done = query(statement);
  if (!(done instanceof Promise)) throw new TypeError('the pool of the connection does not make promises');
  return done;
}

/** Throws the error with the stack of the caller instead of that of the socket. */
function rethrowHere(error: unknown): never {
  if (error instanceof Error) Error.captureStackTrace(error);
  throw error;
}

/** Adds a continuation to the promise of each query. Queries with a callback belong to the driver and stay unchanged. */
export function followQueries(
  client: PoolClient,
  follow: (result: Promise<unknown>, query: unknown) => Promise<unknown>,
): void {
  const query: Query = client.query.bind(client);
  Object.assign(client, {
    query: (...given: unknown[]) => {
      const result = query(...given);
      return result instanceof Promise ? follow(result, given[0]) : result;
    },
  });
}
