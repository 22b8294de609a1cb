import { type Environment, graphql, requestSubscription } from 'relay-runtime';
import type { relayEntriesSubscription } from './__generated__/relayEntriesSubscription.graphql.ts';

export type Entry = relayEntriesSubscription['response']['sessionEntries']['entries'][number];

const subscription = graphql`
  subscription relayEntriesSubscription($sessionId: ID!, $after: ID) {
    sessionEntries(sessionId: $sessionId, after: $after) {
      lastEventId
      isEnded
      removedIds @deleteRecord
      entries {
        __typename
        id
        databaseId
        turn
        isOpen
        isFailed
        subagent {
          databaseId
        }
        ... on UserMessage {
          text
        }
        ... on AgentMessage {
          text
          isFinal
        }
        ... on Thinking {
          text(maxLength: 1000)
        }
        ... on ToolCall {
          toolName
          input(maxLength: 1000)
          output(maxLength: 1000)
        }
        ... on SessionNote {
          text
        }
      }
    }
  }
`;

/** Calls `onEntries` with what people read of a session, whenever it changes, until the session is finished. */
export function followEntries(
  environment: Environment,
  sessionId: string,
  onEntries: (entries: Entry[]) => void,
): Promise<void> {
  const entries = new Map<string, Entry>();
  return new Promise((resolve, onError) => {
    requestSubscription<relayEntriesSubscription>(environment, {
      subscription,
      variables: { sessionId },
      onNext: (data) => {
        if (!data) return;
        for (const id of data.sessionEntries.removedIds) entries.delete(id);
        for (const entry of data.sessionEntries.entries) if ('id' in entry) entries.set(entry.id, entry);
        onEntries([...entries.values()].toSorted((one, other) => Number(one.databaseId) - Number(other.databaseId)));
      },
      onCompleted: resolve,
      onError,
    });
  });
}
