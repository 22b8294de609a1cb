// Sends the operations of GraphiQL: GraphQL over HTTP, and subscriptions over a WebSocket, because a browser opens only six HTTP connections
// to a host.
import { createClient } from 'graphql-ws/client';
import type { Workspace } from './graphiql-variables.ts';

export interface FetcherParams {
  readonly query: string;
  readonly operationName?: string | null;
  readonly variables?: unknown;
}

/** The part of a result that the page reads. */
interface Result {
  readonly data?: { readonly viewer?: { readonly organization?: Workspace | null } } | null;
}

const MAX_SHOWN = 50;

export async function request(params: FetcherParams, headers: Readonly<Record<string, string>>): Promise<Result> {
  const response = await fetch('/graphql', {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      Accept: 'application/graphql-response+json, application/json',
      ...headers,
    },
    body: JSON.stringify(params),
  });
  const result: Result = await response.json();
  return result;
}

/**
 * Yields the recent events after each event, latest first, because GraphiQL shows only the last result. `return` ends the subscription at once:
 * a generator function would first wait for the next event.
 */
export function subscribe(
  params: FetcherParams,
  headers: Readonly<Record<string, string>>,
): AsyncIterableIterator<object> {
  const client = createClient({
    url: new URL('/graphql', location.href).href.replace(/^http/, 'ws'),
    connectionParams: headers,
    retryAttempts: 0,
  });
  const events = client.iterate({
    query: params.query,
    ...(typeof params.operationName === 'string' && { operationName: params.operationName }),
    // Text that is no object is refused by the gateway.
    variables: params.variables as Record<string, unknown> | null,
  });
  const latest: unknown[] = [];
  let received = 0;
  let isEnded = false;
  return {
    async next() {
      if (isEnded) return { done: true, value: undefined };
      try {
        const { done, value } = await events.next();
        isEnded = done === true;
        if (isEnded) return { done: false, value: { received, ended: true, latestFirst: latest } };
        received += 1;
        latest.unshift(value);
        latest.length = Math.min(latest.length, MAX_SHOWN);
        return { done: false, value: { received, latestFirst: [...latest] } };
      } catch (error) {
        isEnded = true;
        return { done: false, value: { errors: errorsOf(error) } };
      }
    },
    async return() {
      isEnded = true;
      await events.return?.();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** The errors of an answer, or the reason for the end of the connection. */
function errorsOf(error: unknown): unknown {
  if (Array.isArray(error)) return error;
  const reason = typeof error === 'object' && error !== null && 'reason' in error ? String(error.reason) : '';
  return [{ message: reason === '' ? 'The connection was lost.' : reason }];
}
