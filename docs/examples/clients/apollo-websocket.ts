import { ApolloClient, InMemoryCache } from '@apollo/client/core';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { createResumableSocket } from './resumable-socket.ts';

/** All operations over one WebSocket. To send only subscriptions over it, use `ApolloLink.split` as in `apollo.ts`. */
export function createApolloSocketClient(url: string, key: string) {
  return new ApolloClient({ cache: new InMemoryCache(), link: new GraphQLWsLink(createResumableSocket(url, key)) });
}
