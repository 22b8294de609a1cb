import { ApolloClient, ApolloLink, HttpLink, InMemoryCache, Observable } from '@apollo/client/core';
import { getMainDefinition } from '@apollo/client/utilities';
import { Client as UrqlClient, cacheExchange, fetchExchange } from '@urql/core';
import { type DocumentNode, print } from 'graphql';
import { GraphQLClient } from 'graphql-request';
import { type Client as SseClient, createClient } from 'graphql-sse';
import { createClient as createSocket } from 'graphql-ws';
import type { Client } from './scenario.ts';

/** The clients, configured as in their documentation: with their caches, and with server-sent events for subscriptions. */

type Made = (url: string, headers: Record<string, string>, possibleTypes: Record<string, string[]>) => Client;

const urql: Made = (url, headers) => {
  const client = new UrqlClient({
    url,
    exchanges: [cacheExchange, fetchExchange],
    fetchOptions: { headers },
    fetchSubscriptions: true,
    preferGetMethod: false,
  });
  const good = <Data>({ data, error }: { data?: Data; error?: Error }) => {
    if (error) throw error;
    return data as Data;
  };
  return {
    async run(document, variables) {
      const result = isMutation(document)
        ? await client.mutation(document, variables as object).toPromise()
        : await client.query(document, variables as object).toPromise();
      return good(result) as never;
    },
    follow: (document, variables, next) =>
      new Promise((resolve, reject) => {
        client.subscription(document, variables as object).subscribe(({ data, error, hasNext }) => {
          if (error) reject(error);
          // At the end it emits the last result again.
          else if (hasNext === false) resolve();
          else if (data) next(data as never);
        });
      }),
  };
};

const apollo: Made = (url, headers, possibleTypes) => {
  const events = createClient({ url, headers });
  const overEvents = new ApolloLink(
    ({ query, variables }) =>
      new Observable((observer) =>
        events.subscribe(
          { query: print(query), variables },
          {
            next: (result) => observer.next(result as ApolloLink.Result),
            error: (error) => observer.error(error),
            complete: () => observer.complete(),
          },
        ),
      ),
  );
  const client = new ApolloClient({
    cache: new InMemoryCache({ possibleTypes }),
    link: ApolloLink.split(({ query }) => isSubscription(query), overEvents, new HttpLink({ uri: url, headers })),
  });
  return {
    async run(document, variables) {
      const { data } = isMutation(document)
        ? await client.mutate({ mutation: document, variables: variables as object })
        : await client.query({ query: document, variables: variables as object });
      return data as never;
    },
    follow: (document, variables, next) =>
      new Promise((resolve, reject) => {
        client.subscribe({ query: document, variables: variables as object }).subscribe({
          next: ({ data, error }) => (error ? reject(error) : next(data as never)),
          error: reject,
          complete: resolve,
        });
      }),
  };
};

const graphqlRequest: Made = (url, headers) => {
  const client = new GraphQLClient(url, { headers });
  return { run: (document, variables) => client.request(document, variables as object) };
};

const graphqlSse: Made = (url, headers) => streaming(createClient({ url, headers }));

const graphqlWs: Made = (url, headers) =>
  // Its sinks have the same members.
  streaming(createSocket({ url: url.replace(/^http/, 'ws'), connectionParams: headers }) as unknown as SseClient);

/** Every operation is a stream, which ends after the answer of a query or mutation. */
function streaming(client: SseClient): Client {
  const follow: Client['follow'] = (document, variables, next) =>
    new Promise((resolve, reject) => {
      client.subscribe(
        { query: print(document), variables: variables as Record<string, unknown> },
        {
          next: ({ data, errors }) =>
            errors ? reject(new Error(errors.map(({ message }) => message).join())) : next(data as never),
          error: reject,
          complete: resolve,
        },
      );
    });
  return {
    async run<Data>(document: DocumentNode, variables: unknown) {
      let answer: Data | undefined;
      await follow(document, variables, (data) => (answer = data as Data));
      return answer as Data;
    },
    follow,
  };
}

const operationOf = (document: DocumentNode) => {
  const definition = getMainDefinition(document);
  return definition.kind === 'OperationDefinition' ? definition.operation : undefined;
};
const isMutation = (document: DocumentNode) => operationOf(document) === 'mutation';
const isSubscription = (document: DocumentNode) => operationOf(document) === 'subscription';

export const clients = {
  '@urql/core': urql,
  '@apollo/client': apollo,
  'graphql-request': graphqlRequest,
  'graphql-sse': graphqlSse,
  'graphql-ws': graphqlWs,
};
