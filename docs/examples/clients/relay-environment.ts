import {
  Environment,
  type GraphQLResponse,
  Network,
  Observable,
  RecordSource,
  type RequestParameters,
  Store,
  type Variables,
} from 'relay-runtime';
import { createResumableEvents } from './resumable-events.ts';

/** A client of `graphql-sse` or `graphql-ws`. */
interface Subscriptions {
  subscribe(
    payload: { query: string; variables: Variables },
    sink: { next(result: unknown): void; error(error: unknown): void; complete(): void },
  ): () => void;
}

/** For subscriptions over WebSocket, pass `createResumableSocket(url, key)`. */
export function createRelayEnvironment(
  url: string,
  key: string,
  subscriptions: Subscriptions = createResumableEvents(url, { Authorization: `Bearer ${key}` }),
): Environment {
  const headers = { Authorization: `Bearer ${key}` };
  return new Environment({
    store: new Store(new RecordSource()),
    network: Network.create(
      async ({ text }, variables) => {
        const body = JSON.stringify({ query: text, variables });
        const init = { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' }, body };
        // Relay accepts data together with errors: refused fields are null.
        return (await (await fetch(url, init)).json()) as GraphQLResponse;
      },
      ({ text }: RequestParameters, variables: Variables) =>
        Observable.create<GraphQLResponse>((sink) =>
          subscriptions.subscribe(
            { query: text ?? '', variables },
            {
              next: (result) => sink.next(result as GraphQLResponse),
              error: (error) => sink.error(error as Error),
              complete: () => sink.complete(),
            },
          ),
        ),
    ),
  });
}
