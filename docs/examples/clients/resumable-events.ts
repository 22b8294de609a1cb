import { NetworkError, createClient } from 'graphql-sse';

interface Request {
  readonly query: string;
  readonly variables?: Record<string, unknown> | undefined;
}

interface Sink<Result> {
  next(result: Result): void;
  error(error: unknown): void;
  complete(): void;
}

interface Positions {
  readonly sessionEvents?: { readonly databaseId: number };
  readonly sessionEntries?: { readonly lastEventId: number };
  readonly feed?: { readonly databaseId: number };
}

/**
 * A client for subscriptions. After a lost connection `sessionEvents`, `sessionEntries` and `feed` continue after the last event. `onResumed` is
 * called when a subscription has begun again: what else it follows, such as a list, is loaded again there.
 */
export function createResumableEvents(url: string, headers: Record<string, string>, onResumed = () => {}) {
  return {
    subscribe<Result>({ query, variables }: Request, sink: Sink<Result>): () => void {
      let current = variables;
      let failures = 0;
      let isAgain = false;
      let waiting: ReturnType<typeof setTimeout> | undefined;
      let stop = () => {};
      const client = createClient({
        url,
        headers,
        // Without this, graphql-sse would subscribe again with the first `after` and receive events again.
        retryAttempts: 0,
        async fetchFn(...request: Parameters<typeof fetch>) {
          const response = await fetch(...request);
          // The head of the answer comes when the subscription has begun.
          if (response.ok) {
            failures = 0;
            if (isAgain) onResumed();
          }
          return response;
        },
      });
      const start = () => {
        clearTimeout(waiting);
        waiting = undefined;
        stop = client.subscribe<Positions>(
          { query, ...(current && { variables: current }) },
          {
            next(result) {
              const { sessionEvents, sessionEntries, feed } = result.data ?? {};
              const last = sessionEvents?.databaseId ?? sessionEntries?.lastEventId ?? feed?.databaseId;
              if (last !== undefined) current = { ...current, after: String(last) };
              sink.next(result as Result);
            },
            error(error) {
              // Do not retry a refusal; everything else is a lost connection.
              if (error instanceof NetworkError && isRefusal(error.response)) return sink.error(error);
              isAgain = true;
              // With jitter, so that not all pages come back at the same moment.
              waiting = setTimeout(start, Math.min(5_000, 250 * 2 ** failures++) * (0.5 + Math.random() / 2));
            },
            complete: () => sink.complete(),
          },
        );
      };
      const atOnce = () => waiting !== undefined && start();
      globalThis.addEventListener?.('online', atOnce);
      start();
      return () => {
        globalThis.removeEventListener?.('online', atOnce);
        clearTimeout(waiting);
        waiting = undefined;
        stop();
      };
    },
  };
}

const isRefusal = (response: { status?: number } | undefined) =>
  response?.status !== undefined && response.status >= 400 && response.status < 500 && response.status !== 429;
