import { ApolloClient } from '@apollo/client/core';
import { GraphQLWsLink } from '@apollo/client/link/subscriptions';
import { createApolloCache } from './apollo-cache.ts';
import { createResumableSocket } from './resumable-socket.ts';

/** All operations over one WebSocket. To send only subscriptions over it, use `ApolloLink.split` as in `apollo.ts`. */
export function createApolloSocketClient(url: string, key: string, possibleTypes: Record<string, string[]> = {}) {
  const link = new GraphQLWsLink(createResumableSocket(url, key));
  return new ApolloClient({ cache: createApolloCache(possibleTypes), link });
}
