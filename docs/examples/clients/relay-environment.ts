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

export function createRelayEnvironment(url: string, key: string): Environment {
  const headers = { Authorization: `Bearer ${key}` };
  const events = createResumableEvents(url, headers);
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
          events.subscribe<GraphQLResponse>(
            { query: text ?? '', variables },
            {
              next: (result) => sink.next(result),
              error: (error) => sink.error(error as Error),
              complete: () => sink.complete(),
            },
          ),
        ),
    ),
  });
}
