import { graphql } from 'relay-runtime';

// The fragments of a page about one session: a part of its events that grows in both directions, and a subscription
// that appends new events.

graphql`
  query sessionPageQuery($id: ID!, $first: Int, $after: String) {
    node(id: $id) {
      __typename
      id
      ...sessionPage_events @alias(as: "page") @arguments(first: $first, after: $after)
    }
  }
`;

graphql`
  fragment sessionPage_events on Session
  @refetchable(queryName: "sessionPagePaginationQuery")
  @argumentDefinitions(
    first: { type: "Int" }
    after: { type: "String" }
    last: { type: "Int" }
    before: { type: "String" }
  ) {
    events(first: $first, after: $after, last: $last, before: $before) @connection(key: "sessionPage_events") {
      __id
      edges {
        node {
          ...sessionPage_event
        }
      }
    }
  }
`;

graphql`
  fragment sessionPage_event on SessionEvent {
    id
    databaseId
    eventType
  }
`;

graphql`
  subscription sessionPageFollowSubscription($sessionId: ID!, $after: ID, $connections: [ID!]!) {
    sessionEvents(sessionId: $sessionId, after: $after)
      @appendNode(connections: $connections, edgeTypeName: "SessionEventEdge") {
      ...sessionPage_event
    }
  }
`;
