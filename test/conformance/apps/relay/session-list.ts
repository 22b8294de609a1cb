import { graphql } from 'relay-runtime';

// The fragments of a page that lists sessions. The Relay compiler reads them; `app.ts` runs its output.

graphql`
  query sessionListQuery($first: Int, $after: String) {
    viewer {
      user {
        email
      }
      organization {
        id
        ...sessionList_counts
        ...sessionList_sessions @arguments(first: $first, after: $after)
      }
    }
  }
`;

// Fields that are null only with an error have types without null here (`@semanticNonNull`).
graphql`
  fragment sessionList_counts on Organization @throwOnFieldError {
    slug
    counted: sessions(first: 1) {
      totalCount
    }
  }
`;

graphql`
  fragment sessionList_sessions on Organization
  @refetchable(queryName: "sessionListPaginationQuery")
  @argumentDefinitions(
    first: { type: "Int", defaultValue: 2 }
    after: { type: "String" }
    last: { type: "Int" }
    before: { type: "String" }
  ) {
    sessions(
      first: $first
      after: $after
      last: $last
      before: $before
      filter: { title: "relay" }
      orderBy: { field: CREATED_AT, direction: ASC }
    ) @connection(key: "sessionList_sessions", filters: ["filter", "orderBy"]) {
      __id
      totalCount
      edges {
        node {
          ...sessionList_row
        }
      }
    }
  }
`;

graphql`
  fragment sessionList_row on Session @refetchable(queryName: "sessionListRowQuery") {
    id
    title
    state {
      current
    }
  }
`;

graphql`
  mutation sessionListCreateMutation($input: CreateSessionInput!, $connections: [ID!]!) {
    createSession(input: $input) {
      __typename
      ... on CreateSessionPayload {
        session @appendNode(connections: $connections, edgeTypeName: "SessionEdge") {
          ...sessionList_row
        }
      }
      ... on Error {
        message
        path
      }
    }
  }
`;

graphql`
  mutation sessionListRenameMutation($input: UpdateSessionInput!) {
    updateSession(input: $input) {
      __typename
      ... on UpdateSessionPayload {
        session {
          id
          title
        }
      }
      ... on Error {
        message
        path
      }
    }
  }
`;
