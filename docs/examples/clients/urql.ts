import { Client, cacheExchange, fetchExchange, subscriptionExchange } from '@urql/core';
import { messagesByField } from './form-errors.ts';
import {
  RenameSessionDocument,
  SessionEntriesDocument,
  SessionEventsDocument,
  SessionsDocument,
} from './generated/operations.ts';
import { createResumableEvents } from './resumable-events.ts';
import { type Entry, createEntryList } from './session-entries.ts';

export function createUrqlClient(url: string, key: string): Client {
  const headers = { Authorization: `Bearer ${key}` };
  const events = createResumableEvents(url, headers);
  return new Client({
    url,
    preferGetMethod: false,
    fetchOptions: { headers },
    exchanges: [
      cacheExchange,
      fetchExchange,
      subscriptionExchange({
        forwardSubscription: ({ query = '', variables }) => ({
          subscribe: (sink) => ({ unsubscribe: events.subscribe({ query, variables }, sink) }),
        }),
      }),
    ],
  });
}

/** All sessions, page by page. In a component use one `useQuery` for each page, with the previous `endCursor` as `after`. */
export async function* allSessions(client: Client, pageSize: number) {
  let after: string | null | undefined;
  do {
    const { data, error } = await client.query(SessionsDocument, { first: pageSize, after }).toPromise();
    const page = data?.viewer.organization?.sessions;
    // A partial answer has both data and an error.
    if (!page) throw error ?? new Error('the key acts in no organization');
    for (const { node } of page.edges) yield node;
    after = page.pageInfo.hasNextPage ? page.pageInfo.endCursor : null;
  } while (after);
}

/** Returns the new title, or the messages for each field of a form. */
export async function renameSession(client: Client, sessionId: string, title: string) {
  const { data, error } = await client.mutation(RenameSessionDocument, { input: { sessionId, title } }).toPromise();
  const result = data?.updateSession;
  // Invalid key, too many requests, or no connection.
  if (!result) throw error ?? new Error('no answer');
  if (result.__typename === 'UpdateSessionPayload') return { title: result.session?.title };
  return { messages: messagesByField(result) };
}

/** Calls `onEvent` with each event of a session until the session is finished. */
export function followSession(client: Client, sessionId: string, onEvent: (id: number) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    client.subscription(SessionEventsDocument, { sessionId }).subscribe(({ data, error, hasNext }) => {
      if (error) reject(error);
      // At the end urql repeats the last result.
      else if (hasNext === false) resolve();
      else if (data) onEvent(Number(data.sessionEvents.databaseId));
    });
  });
}

/** Calls `onEntries` with what people read of a session, whenever it changes, until the session is finished. */
export function followEntries(
  client: Client,
  sessionId: string,
  onEntries: (entries: Entry[]) => void,
): Promise<void> {
  const withBatch = createEntryList();
  return new Promise((resolve, reject) => {
    client.subscription(SessionEntriesDocument, { sessionId }).subscribe(({ data, error, hasNext }) => {
      if (error) reject(error);
      else if (hasNext === false) resolve();
      else if (data) onEntries(withBatch(data.sessionEntries));
    });
  });
}
