import { createResumableEvents } from './resumable-events.ts';

const QUERY = `subscription ($sessionId: ID!, $after: ID) {
  sessionEvents(sessionId: $sessionId, after: $after) { databaseId eventType }
}`;

interface Followed {
  readonly data?: { readonly sessionEvents: { readonly databaseId: number; readonly eventType: string } } | null;
  readonly errors?: readonly { readonly message: string }[];
}

/** Calls `onEvent` with each event of a session, and resolves when the session is finished. */
export function followSession(
  url: string,
  key: string,
  sessionId: string,
  onEvent: (id: number, eventType: string) => void,
): Promise<void> {
  const events = createResumableEvents(url, { Authorization: `Bearer ${key}` });
  return new Promise((resolve, reject) => {
    events.subscribe<Followed>(
      { query: QUERY, variables: { sessionId } },
      {
        next({ data, errors }) {
          if (errors) reject(new Error(errors.map(({ message }) => message).join('; ')));
          else if (data) onEvent(data.sessionEvents.databaseId, data.sessionEvents.eventType);
        },
        error: reject,
        complete: resolve,
      },
    );
  });
}
