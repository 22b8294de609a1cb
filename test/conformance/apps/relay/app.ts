import {
  type Direction,
  type GraphQLTaggedNode,
  type MutationParameters,
  type OperationType,
  type ReaderFragment,
  type Variables,
  commitMutation,
  createOperationDescriptor,
  fetchQuery,
  getPaginationMetadata,
  getPaginationVariables,
  getRefetchMetadata,
  getRequest,
  getSingularSelector,
  requestSubscription,
} from 'relay-runtime';
import createMutation, {
  type sessionListCreateMutation,
} from '../../generated/relay/sessionListCreateMutation.graphql';
import listQuery, { type sessionListQuery } from '../../generated/relay/sessionListQuery.graphql';
import renameMutation, {
  type sessionListRenameMutation,
} from '../../generated/relay/sessionListRenameMutation.graphql';
import rowFragment, { type sessionList_row$data } from '../../generated/relay/sessionList_row.graphql';
import countsFragment, { type sessionList_counts$data } from '../../generated/relay/sessionList_counts.graphql';
import listFragment from '../../generated/relay/sessionList_sessions.graphql';
import followSubscription, {
  type sessionPageFollowSubscription,
} from '../../generated/relay/sessionPageFollowSubscription.graphql';
import pageQuery, { type sessionPageQuery } from '../../generated/relay/sessionPageQuery.graphql';
import eventFragment, { type sessionPage_event$data } from '../../generated/relay/sessionPage_event.graphql';
import pageFragment from '../../generated/relay/sessionPage_events.graphql';
import { createRelayEnvironment } from '../../generated/relay-clients/relay-environment.ts';
import { createResumableSocket } from '../../generated/relay-clients/resumable-socket.ts';

// Does the same as the hooks of `react-relay`, without React: they use the same functions of `relay-runtime`.

export function createApp(url: string, key: string, { overWebSocket = false } = {}) {
  const environment = createRelayEnvironment(url, key, overWebSocket ? createResumableSocket(url, key) : undefined);

  async function ask<T extends OperationType>(query: GraphQLTaggedNode, variables: T['variables']) {
    const data = await fetchQuery<T>(environment, query, variables, {
      networkCacheConfig: { force: true },
    }).toPromise();
    if (!data) throw new Error('there is no answer');
    // A mounted page retains its data.
    environment.retain(createOperationDescriptor(getRequest(query), variables));
    return data;
  }

  const change = <T extends MutationParameters>(mutation: GraphQLTaggedNode, variables: T['variables']) =>
    new Promise<T['response']>((resolve, onError) => {
      commitMutation<T>(environment, { mutation, variables, onCompleted: resolve, onError });
    });

  /** The data that a component with this fragment would show. */
  function read<Data>(fragment: ReaderFragment, reference: unknown): Data {
    const selector = getSingularSelector(fragment, reference);
    if (!selector) throw new Error(`${fragment.name}: the store has nothing`);
    const { data, isMissingData } = environment.lookup(selector);
    if (isMissingData) throw new Error(`${fragment.name}: the store lacks some of it`);
    return data as Data;
  }

  /** `usePaginationFragment` */
  function pages<Row>(fragment: ReaderFragment, reference: unknown, rowOf: ReaderFragment, variables: Variables = {}) {
    const { paginationRequest, paginationMetadata, identifierField } = getPaginationMetadata(fragment, 'pages');
    const { identifierInfo } = getRefetchMetadata(fragment, 'pages');
    const field = String(paginationMetadata.path[0]);
    const connection = () => {
      const data = read<Record<string, Connection>>(fragment, reference);
      const found = data[field];
      if (!found) throw new Error(`${fragment.name}: there is no ${field}`);
      return { id: String(data[identifierField ?? 'id']), ...found };
    };
    const load = async (direction: Direction, count: number) => {
      const { id, pageInfo } = connection();
      const cursor = direction === 'forward' ? pageInfo.endCursor : pageInfo.startCursor;
      const next = getPaginationVariables(direction, count, cursor, variables, {}, paginationMetadata);
      await ask(paginationRequest, { ...next, [identifierInfo?.identifierQueryVariableName ?? 'id']: id });
    };
    return {
      rows: () => connection().edges.map(({ node }) => read<Row>(rowOf, node)),
      connectionId: () => connection().__id,
      totalCount: () => connection().totalCount,
      hasNext: () => connection().pageInfo.hasNextPage,
      hasPrevious: () => connection().pageInfo.hasPreviousPage,
      loadNext: (count: number) => load('forward', count),
      loadPrevious: (count: number) => load('backward', count),
    };
  }

  return {
    async openList(first: number) {
      const { viewer } = await ask<sessionListQuery>(listQuery, { first });
      if (!viewer.organization) throw new Error('there is no organization');
      return {
        email: viewer.user?.email,
        count: read<sessionList_counts$data>(countsFragment, viewer.organization).counted.totalCount,
        ...pages<sessionList_row$data>(listFragment, viewer.organization, rowFragment),
      };
    },

    /** `useLazyLoadQuery` of screens that are shown again. */
    async showAgain(first: number, id: string, window: { first: number }) {
      const fromStore = { fetchPolicy: 'store-or-network' } as const;
      const list = await fetchQuery<sessionListQuery>(environment, listQuery, { first }, fromStore).toPromise();
      const page = await fetchQuery<sessionPageQuery>(environment, pageQuery, { id, ...window }, fromStore).toPromise();
      return [list?.viewer.user?.email, page?.node?.__typename];
    },

    create: (title: string, connectionId: string) =>
      change<sessionListCreateMutation>(createMutation, { input: { title }, connections: [connectionId] }),

    rename: (sessionId: string, title: string) =>
      change<sessionListRenameMutation>(renameMutation, { input: { sessionId, title } }),

    /** `useRefetchableFragment`: reads one row again, by its id. */
    async refetchRow(id: string) {
      const { refetchableRequest, identifierInfo } = getRefetchMetadata(rowFragment, 'row');
      await ask(refetchableRequest, { [identifierInfo?.identifierQueryVariableName ?? 'id']: id });
    },

    async openPage(id: string, window: { first: number; after?: string }) {
      const { node } = await ask<sessionPageQuery>(pageQuery, { id, ...window });
      if (!node?.page) throw new Error(`there is no session ${id}`);
      return pages<sessionPage_event$data>(pageFragment, node.page, eventFragment);
    },

    /** Appends new events to a list; resolves when the session is finished. */
    follow: (sessionId: string, after: string, connectionId: string) =>
      new Promise<void>((resolve, onError) => {
        requestSubscription<sessionPageFollowSubscription>(environment, {
          subscription: followSubscription,
          variables: { sessionId, after, connections: [connectionId] },
          onCompleted: resolve,
          onError,
        });
      }),
  };
}

interface Connection {
  readonly __id: string;
  readonly totalCount?: number;
  readonly edges: readonly { readonly node: unknown }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string | null;
    readonly endCursor: string | null;
  };
}
