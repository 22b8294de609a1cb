/** What GraphiQL opens with: one operation or a few of each noun. A test runs every one of them. */
export interface Example {
  readonly query: string;
  readonly variables?: string;
}

export const EXAMPLES: readonly Example[] = [
  {
    query: `# Who am I? Put your key into the Headers below,
# then press play. The round arrows at the left
# read the schema again, for docs and completion.
query Viewer {
  viewer {
    user { email name }
    role
    scopes
    organization { databaseId name slug memberCount }
  }
}
`,
  },
  {
    query: `# Event definitions: a page of them, sorted and searched.
query EventDefinitions($first: Int = 10, $search: String) {
  viewer {
    organization {
      eventDefinitions(first: $first, filter: { search: $search }, orderBy: { field: NAME, direction: ASC }) {
        totalCount
        pageInfo { hasNextPage endCursor }
        nodes {
          name
          label
          primaryObject
          properties { name label type isDefault options { label value } }
        }
      }
    }
  }
}
`,
    variables: '{ "first": 10 }',
  },
  {
    query: `# Create an event definition; each error it can raise is a member of the result.
mutation CreateEventDefinition($input: CreateEventDefinitionInput!) {
  createEventDefinition(input: $input) {
    __typename
    ... on CreateEventDefinitionPayload {
      eventDefinition { id databaseId name fullyQualifiedName }
    }
    ... on Error { message code path }
  }
}
`,
    variables: JSON.stringify(
      {
        input: {
          label: 'Invoice paid',
          propertyDefinitions: [{ label: 'Amount', type: 'NUMBER' }],
          includeDefaultProperties: false,
        },
      },
      null,
      2,
    ),
  },
  {
    query: `# Sessions: the latest, and how each went on lately.
# To follow one live, run this in a tab of its own, with the databaseId of the session:
#
#   subscription Follow { sessionEvents(sessionId: "…", after: "0") { databaseId eventType eventDataJson } }
query Sessions($first: Int = 5, $events: Int = 10) {
  viewer {
    organization {
      sessions(first: $first, orderBy: { field: LAST_SEEN_AT, direction: DESC }) {
        totalCount
        nodes {
          databaseId
          title
          state { current }
          project { name icon color }
          artifacts { type pullRequests { url title status } }
          events(last: $events) {
            pageInfo { hasPreviousPage startCursor }
            nodes { databaseId eventType createdAt eventData { type accumulatedText toolName toolResult { status output } } }
          }
        }
      }
    }
  }
}
`,
    variables: '{ "first": 5, "events": 10 }',
  },
  {
    query: `# Organization: its members and its API keys.
query Organization {
  viewer {
    organization {
      name
      members(first: 10) { nodes { user { email } role joinedAt } }
      apiKeys(first: 10) { nodes { name preview scopes lastUsedAt expiresAt } }
    }
  }
}
`,
  },
  {
    query: `# API keys: the secret is in the answer, once.
mutation CreateApiKey {
  createApiKey(input: { name: "Reporting", scopes: [API_KEYS_READ] }) {
    __typename
    ... on CreateApiKeyPayload { key apiKey { databaseId preview } }
    ... on Error { message code }
  }
}
`,
  },
  {
    query: `# Life cycle: which APIs are gone, and what replaced them.
query ApiLifecycle {
  apiLifecycle {
    removed { name pathPrefix removedOn replacement }
    deprecated { name paths }
  }
}
`,
  },
];
