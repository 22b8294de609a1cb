import { graphql } from 'relay-runtime';

// What a page about one session declares: a window on its events that grows both ways, and at its end by what happens meanwhile.

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
