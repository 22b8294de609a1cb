/** The operations for a session as a whole. */
export const SESSION_OUTLINE = {
  SessionOutline: `query SessionOutline($id: ID!, $after: ID) {
    session(id: $id) { id outline(after: $after) {
      marks { firstId createdAt messages toolCalls failures failureId inputTokens outputTokens costUsd }
      entries { eventId createdAt kind text }
      tools { name calls failures durationMs firstId failureId }
      models lastId hasMore
    } }
  }`,

  SessionEdits: `query SessionEdits($id: ID!, $first: Int, $after: String, $filter: SessionEventFilter) {
    sessionEvents(sessionId: $id, first: $first, after: $after, filter: $filter) {
      nodes { databaseId createdAt eventType messageId eventDataJson(maxLength: 40000) }
      pageInfo { hasNextPage endCursor }
    }
  }`,
} as const;
