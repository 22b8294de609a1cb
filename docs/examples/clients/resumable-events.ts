import { type Client, NetworkError, createClient } from 'graphql-sse';

interface Request {
  readonly query: string;
  readonly variables?: Record<string, unknown> | undefined;
}

interface Sink<Result> {
  next(result: Result): void;
  error(error: unknown): void;
  complete(): void;
}

/** A client for subscriptions. After a lost connection `sessionEvents` and `sessionEntries` continue after the last event. */
export function createResumableEvents(url: string, headers: Record<string, string>) {
  // Without this, graphql-sse would subscribe again with the first `after` and receive events again.
  const client: Client = createClient({ url, headers, retryAttempts: 0 });
  return {
    subscribe<Result>({ query, variables }: Request, sink: Sink<Result>): () => void {
      let current = variables;
      let failures = 0;
      let waiting: ReturnType<typeof setTimeout> | undefined;
      let stop = () => {};
      const start = () => {
        stop = client.subscribe<{ sessionEvents?: { databaseId: number }; sessionEntries?: { lastEventId: number } }>(
          { query, ...(current && { variables: current }) },
          {
            next(result) {
              failures = 0;
              const { sessionEvents, sessionEntries } = result.data ?? {};
              const last = sessionEvents?.databaseId ?? sessionEntries?.lastEventId;
              if (last !== undefined) current = { ...current, after: String(last) };
              sink.next(result as Result);
            },
            error(error) {
              // Do not retry a refusal; everything else is a lost connection.
              if (error instanceof NetworkError && isRefusal(error.response)) return sink.error(error);
              waiting = setTimeout(start, Math.min(30_000, 250 * 2 ** failures++));
            },
            complete: () => sink.complete(),
          },
        );
      };
      start();
      return () => {
        clearTimeout(waiting);
        stop();
      };
    },
  };
}

const isRefusal = (response: { status?: number } | undefined) =>
  response?.status !== undefined && response.status >= 400 && response.status < 500 && response.status !== 429;
