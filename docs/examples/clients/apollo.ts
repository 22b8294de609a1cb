import { ApolloClient, ApolloLink, HttpLink, Observable, type TypedDocumentNode } from '@apollo/client/core';
import { OperationTypeNode, print } from 'graphql';
import { createApolloCache } from './apollo-cache.ts';
import { messagesByField } from './form-errors.ts';
import {
  OverviewDocument,
  RenameSessionDocument,
  SessionEntriesDocument,
  type SessionEntriesSubscription,
  SessionEventsDocument,
  type SessionRowFragment,
  SessionsDocument,
} from './generated/operations.ts';
import { createResumableEvents } from './resumable-events.ts';
import { type Entry, createEntryList } from './session-entries.ts';

export { possibleTypesOf } from './apollo-cache.ts';

export function createApolloClient(url: string, key: string, possibleTypes: Record<string, string[]>) {
  const headers = { Authorization: `Bearer ${key}` };
  const events = createResumableEvents(url, headers);
  const overEvents = new ApolloLink(
    ({ query, variables }) =>
      new Observable<ApolloLink.Result>((observer) => events.subscribe({ query: print(query), variables }, observer)),
  );
  const isSubscription = ({ operationType }: ApolloLink.Operation) => operationType === OperationTypeNode.SUBSCRIPTION;
  const link = ApolloLink.split(isSubscription, overEvents, new HttpLink({ uri: url, headers }));
  return new ApolloClient({ cache: createApolloCache(possibleTypes), link });
}

type Apollo = ReturnType<typeof createApolloClient>;

/** Calls `onPage` with all titles loaded so far, after each page and each change. In a component use `useQuery` and `fetchMore`. */
export function watchSessions(client: Apollo, pageSize: number, onPage: (titles: string[]) => void) {
  const watched = client.watchQuery({ query: SessionsDocument, variables: { first: pageSize }, errorPolicy: 'all' });
  const subscription = watched.subscribe(({ data, dataState }) => {
    if (dataState !== 'complete') return;
    onPage((data.viewer.organization?.sessions?.edges ?? []).map(({ node }) => (node as SessionRowFragment).title));
  });
  const load = async (): Promise<boolean> => {
    const page = watched.getCurrentResult().data?.viewer?.organization?.sessions?.pageInfo;
    if (!page?.hasNextPage) return false;
    await watched.fetchMore({ variables: { after: page.endCursor } });
    return new Promise((resolve) => setTimeout(resolve, 0, true));
  };
  let loading: Promise<boolean> | undefined;
  return {
    /** Resolves when the next page is shown, to false if there is none. Calls at once load one page. */
    loadMore: () => (loading ??= load().finally(() => (loading = undefined))),
    stop: () => subscription.unsubscribe(),
  };
}

/** Shows the new title at once, and reverts it if it is refused. Returns the messages for each field of a form. */
export async function renameSession(client: Apollo, session: SessionRowFragment, title: string) {
  const { data } = await client.mutate({
    mutation: RenameSessionDocument,
    variables: { input: { sessionId: session.id, title } },
    optimisticResponse: {
      updateSession: { __typename: 'UpdateSessionPayload', session: { ...session, title } },
    },
  });
  const result = data?.updateSession;
  return result && 'message' in result ? messagesByField(result) : new Map<string, string>();
}

/** Returns what the caller may see of an organization, and why the rest is missing. */
export async function readOverview(client: Apollo) {
  // Without 'all' Apollo would discard partial data.
  const { data, error } = await client.query({ query: OverviewDocument, errorPolicy: 'all' });
  const organization = data?.viewer.organization;
  return { name: organization?.name, changes: organization?.auditLog?.nodes ?? null, refused: error?.message };
}

/** Calls `onEvent` with each event of a session until the session is finished. */
export const followSession = (client: Apollo, sessionId: string, onEvent: (id: number) => void): Promise<void> =>
  follow(client, sessionId, SessionEventsDocument, ({ sessionEvents }) => onEvent(Number(sessionEvents.databaseId)));

/** Calls `onEntries` with what people read of a session, whenever it changes, until the session is finished. */
export function followEntries(client: Apollo, sessionId: string, onEntries: (entries: Entry[]) => void): Promise<void> {
  const withBatch = createEntryList();
  return follow(client, sessionId, SessionEntriesDocument, (data) =>
    onEntries(withBatch((data as SessionEntriesSubscription).sessionEntries)),
  );
}

function follow<Data>(
  client: Apollo,
  sessionId: string,
  query: TypedDocumentNode<Data, { sessionId: string }>,
  onData: (data: Data) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    client.subscribe({ query, variables: { sessionId } }).subscribe({
      next: ({ data, error }) => (error ? reject(error) : data && onData(data as Data)),
      error: reject,
      complete: resolve,
    });
  });
}
