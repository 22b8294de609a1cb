import { type Client, type ExecutionResult, createClient } from 'graphql-ws';

/** The close code of a refused or revoked key. */
const FORBIDDEN = 4403;

/** A client for operations over WebSocket. After a lost connection `sessionEvents` continues after the last event, so that each event arrives once. */
export function createResumableSocket(url: string, key: string): Client {
  const client = createClient({
    url: url.replace(/^http/, 'ws'),
    connectionParams: { Authorization: `Bearer ${key}` },
    retryAttempts: Infinity,
    shouldRetry: (event) => !(event instanceof Object && 'code' in event && event.code === FORBIDDEN),
  });
  return {
    ...client,
    subscribe(payload, sink) {
      const variables = { ...payload.variables };
      return client.subscribe(
        // graphql-ws sends the same object again when it reconnects.
        { ...payload, variables },
        {
          ...sink,
          next(result) {
            const { data } = result as ExecutionResult<{ sessionEvents?: { databaseId: number } }>;
            if (data?.sessionEvents) variables['after'] = String(data.sessionEvents.databaseId);
            sink.next(result as never);
          },
        },
      );
    },
  };
}
