import type { PoolClient } from 'pg';

type Query = (...given: unknown[]) => unknown;

/**
 * Makes the promises of a connection's queries here. The driver makes its own with a function that it assigns to a property, and V8 puts such
 * functions among old objects at once: the rows of each query stayed until the next major collection (docs/decisions/short-lived-objects.md).
 */
export function makePromises(client: PoolClient): void {
  const query: Query = client.query.bind(client);
  Object.assign(client, {
    query: (...given: unknown[]) => {
      if (typeof given.at(-1) === 'function' || isSubmittable(given[0])) return query(...given);
      return new Promise((resolve, reject) => {
        query(...given, (error: unknown, result: unknown) => (error ? reject(error) : resolve(result)));
      }).catch(rethrowHere);
    },
  });
}

/** A cursor, which sends its statements itself. */
function isSubmittable(query: unknown): boolean {
  return typeof query === 'object' && query !== null && 'submit' in query;
}

/** With the stack of whoever asked, in place of that of the socket. */
function rethrowHere(error: unknown): never {
  if (error instanceof Error) Error.captureStackTrace(error);
  throw error;
}

/** Puts something behind the promise of each query. Queries with a callback are the driver's own, and stay as they are. */
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
