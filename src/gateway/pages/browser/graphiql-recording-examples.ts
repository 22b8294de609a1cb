import type { Example } from './graphiql-example.ts';

/** The examples for programs that record sessions, and for those that wait for changes. */

export const RECORDING: readonly Example[] = [
  {
    noun: 'Recording',
    name: 'Create a session',
    query: `# Its id is what the other operations take.
mutation CreateSession($input: CreateSessionInput!) {
  createSession(input: $input) {
    __typename
    ... on CreateSessionPayload {
      session { databaseId state { current } }
    }
    ... on Error { message code path }
  }
}
`,
    variables: { input: { title: 'Recorded by hand', agent: 'claude' } },
  },
  {
    noun: 'Recording',
    name: 'Record events',
    query: `# With a batchId, a retry stores nothing twice.
mutation Record(
  $sessionId: ID!
  $events: [RecordedEventInput!]!
) {
  appendSessionEvents(
    input: {
      sessionId: $sessionId
      events: $events
      batchId: "1"
    }
  ) {
    __typename
    ... on AppendSessionEventsPayload {
      firstId
      lastId
      isReplayed
    }
    ... on Error { message code path }
  }
}
`,
    variables: {
      sessionId: '…',
      events: [
        {
          eventType: 'stream_event',
          provider: 'anthropic',
          eventData: { type: 'stream_event', deltaType: 'text_delta', itemId: '1', accumulatedText: 'Hello' },
        },
      ],
    },
    fills: 'sessionId',
  },
  {
    noun: 'Recording',
    name: 'Change the state',
    query: `# From QUEUED to IN_PROGRESS, and from there to
# COMPLETED, FAILED or CANCELLED.
mutation Transition(
  $sessionId: ID!
  $state: SessionStateName!
) {
  transitionSession(
    input: { sessionId: $sessionId, state: $state }
  ) {
    __typename
    ... on TransitionSessionPayload {
      session { state { current } }
    }
    ... on Error { message code path }
  }
}
`,
    variables: { sessionId: '…', state: 'IN_PROGRESS' },
    fills: 'sessionId',
  },
];

export const FEED: readonly Example[] = [
  {
    noun: 'Feed and webhooks',
    name: 'What has changed',
    query: `# The latest entries of the feed. Programs follow
# it with the subscription "feed".
query Feed {
  viewer {
    organization {
      feed(last: 20) {
        nodes {
          databaseId
          type
          createdAt
          subjectType
          subjectId
          data
        }
      }
    }
  }
}
`,
  },
  {
    noun: 'Feed and webhooks',
    name: 'Webhooks and deliveries',
    query: `# Addresses that get the entries of the feed.
# For administrators.
query Webhooks {
  viewer {
    organization {
      webhooks(first: 10) {
        nodes {
          databaseId
          url
          types
          isEnabled
          deliveries(first: 5) {
            nodes { type state status createdAt }
          }
        }
      }
    }
  }
}
`,
  },
];
