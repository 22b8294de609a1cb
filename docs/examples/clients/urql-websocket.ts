import { Client, cacheExchange, subscriptionExchange } from '@urql/core';
import { createResumableSocket } from './resumable-socket.ts';

/** All operations over one WebSocket. To send only subscriptions over it, add `fetchExchange` and leave `enableAllOperations` out. */
export function createUrqlSocketClient(url: string, key: string): Client {
  const socket = createResumableSocket(url, key);
  return new Client({
    url,
    preferGetMethod: false,
    exchanges: [
      cacheExchange,
      subscriptionExchange({
        enableAllOperations: true,
        forwardSubscription: ({ query = '', variables }) => ({
          subscribe: (sink) => ({
            unsubscribe: socket.subscribe({ query, variables: variables as Record<string, unknown> }, sink as never),
          }),
        }),
      }),
    ],
  });
}
