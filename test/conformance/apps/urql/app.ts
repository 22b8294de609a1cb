import { Client, type OperationResult, fetchExchange } from '@urql/core';
import type { CacheExchangeOpts } from '@urql/exchange-graphcache';
import type { TypedDocumentNode } from '@graphql-typed-document-node/core';
import {
  BoardDocument,
  type BoardQuery,
  ChangesDocument,
  type ChangesSubscription,
  DetailDocument,
  FoundDocument,
  RenameDocument,
  RenameMeDocument,
} from '../../generated/urql/board.ts';
import { normalizedCacheExchange } from '../../generated/urql-clients/urql-graphcache.ts';

/** A board of sessions with a normalized cache, in which each object is one entry, and a list that a subscription keeps current. */

const cache: Partial<CacheExchangeOpts> = {
  updates: {
    Subscription: {
      // A session that the list knows is changed in place; a new one is put in front, and one that left is taken out.
      sessionChange: ({ sessionChange: change }: ChangesSubscription, _, store) => {
        store.updateQuery({ query: BoardDocument }, (board: BoardQuery | null) => {
          const sessions = board?.viewer.organization?.sessions;
          if (!sessions) return board;
          if (change.__typename === 'SessionLeft')
            sessions.nodes = sessions.nodes.filter(({ id }) => id !== change.sessionId);
          else if (!sessions.nodes.some(({ id }) => id === change.session.id)) sessions.nodes.unshift(change.session);
          return board;
        });
      },
    },
  },
};

export interface App {
  /** What is shown of the board, as it changes. */
  readonly board: () => BoardQuery | undefined;
  openBoard(): Promise<void>;
  openDetail(id: string): Promise<{ title?: string | undefined; request: boolean }>;
  find(id: string): Promise<string | undefined>;
  rename(sessionId: string, title: string): Promise<string | undefined>;
  renameMe(name: string): Promise<string | undefined>;
  /** Follows all sessions; `onChange` is called once the board shows the change. */
  follow(onChange: () => void): () => void;
  close(): void;
}

export interface AppOptions {
  readonly url: string;
  readonly key: string;
  /** The introspected schema, from which the cache knows interfaces and unions. */
  readonly schema: NonNullable<CacheExchangeOpts['schema']>;
  readonly onRequest: (body: string) => void;
}

export function createApp({ url, key, schema, onRequest }: AppOptions): App {
  const client = new Client({
    url,
    exchanges: [normalizedCacheExchange({ ...cache, schema }), fetchExchange],
    fetchOptions: { headers: { Authorization: `Bearer ${key}` } },
    fetchSubscriptions: true,
    preferGetMethod: false,
    fetch: (input, init) => {
      onRequest(String(init?.body));
      return fetch(input, init);
    },
  });
  let shown: BoardQuery | undefined;
  const open: { unsubscribe(): void }[] = [];
  const good = <Data>({ data, error }: OperationResult<Data>): Data => {
    if (error || !data) throw error ?? new Error('there is no answer');
    return data;
  };
  const ask = async <Data, Variables extends object>(
    document: TypedDocumentNode<Data, Variables>,
    variables: Variables,
  ) => good(await client.query(document, variables).toPromise());
  return {
    board: () => shown,
    openBoard: () =>
      new Promise((resolve, reject) => {
        open.push(
          client.query(BoardDocument, {}).subscribe(({ data, error }) => {
            if (error) reject(error);
            shown = data;
            resolve();
          }),
        );
      }),
    async openDetail(id) {
      let request = true;
      const result = await client.query(DetailDocument, { id }).toPromise();
      request = result.operation.context.meta?.cacheOutcome !== 'hit';
      return { title: good(result).session?.title, request };
    },
    async find(id) {
      const { node } = await ask(FoundDocument, { id });
      return node && 'title' in node ? node.title : undefined;
    },
    async rename(sessionId, title) {
      const { updateSession } = good(
        await client.mutation(RenameDocument, { input: { sessionId, title } }).toPromise(),
      );
      return updateSession?.__typename;
    },
    async renameMe(name) {
      const { updateViewer } = good(await client.mutation(RenameMeDocument, { input: { name } }).toPromise());
      return updateViewer?.__typename;
    },
    follow(onChange) {
      const following = client.subscription(ChangesDocument, {}).subscribe(({ data }) => {
        if (data) onChange();
      });
      open.push(following);
      return () => following.unsubscribe();
    },
    close: () => open.forEach((one) => one.unsubscribe()),
  };
}
