import { type Client, type ExecutionResult, createClient } from 'graphql-ws';

/** The close code of a refused or revoked key. */
const FORBIDDEN = 4403;

interface Positions {
  readonly sessionEvents?: { readonly databaseId: number };
  readonly sessionEntries?: { readonly lastEventId: number };
  readonly feed?: { readonly databaseId: number };
}

/** A client for operations over WebSocket. After a lost connection `sessionEvents`, `sessionEntries` and `feed` continue after the last event; `onResumed` is for the others. */
export function createResumableSocket(url: string, key: string, onResumed = () => {}): Client {
  const client = createClient({
    url: url.replace(/^http/, 'ws'),
    connectionParams: { Authorization: `Bearer ${key}` },
    retryAttempts: Infinity,
    on: { connected: (_socket, _payload, wasRetry) => wasRetry && onResumed() },
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
            const { sessionEvents, sessionEntries, feed } = (result as ExecutionResult<Positions>).data ?? {};
            const last = sessionEvents?.databaseId ?? sessionEntries?.lastEventId ?? feed?.databaseId;
            if (last !== undefined) variables['after'] = String(last);
            sink.next(result as never);
          },
        },
      );
    },
  };
}
