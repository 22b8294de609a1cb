/** What GraphiQL offers to begin with: an operation or two of each noun. A test runs every one of them. */
export interface Example {
  readonly noun: string;
  readonly name: string;
  readonly query: string;
  readonly variables?: Readonly<Record<string, unknown>>;
  /** A variable that the page fills in with the latest object of its kind, where the caller can see one. */
  readonly fills?: 'sessionId' | 'eventName';
}

/** Reads what `fills` names. */
export const LATEST = `query Latest {
  viewer {
    organization {
      sessions(first: 1) { nodes { databaseId } }
      eventDefinitions(first: 1) { nodes { name } }
    }
  }
}`;

export const EXAMPLES: readonly Example[] = [
  {
    noun: 'You',
    name: 'Who am I?',
    query: `# Who am I, and where do I act?
query Viewer {
  viewer {
    user { email name }
    role
    scopes
    organization {
      name
      slug
      memberCount
    }
  }
}
`,
  },
  {
    noun: 'Sessions',
    name: 'The latest sessions',
    query: `# The latest sessions, and what came of them.
query Sessions($first: Int = 5) {
  viewer {
    organization {
      sessions(first: $first) {
        totalCount
        pageInfo { hasNextPage endCursor }
        nodes {
          databaseId
          title
          state { current }
          lastSeenAt
          artifacts {
            type
            pullRequests { url title status }
          }
        }
      }
    }
  }
}
`,
    variables: { first: 5 },
  },
  {
    noun: 'Sessions',
    name: 'Events of a session',
    query: `# The last events of a session, in their order.
query SessionEvents($sessionId: ID!) {
  session(id: $sessionId) {
    title
    events(last: 20) {
      totalCount
      nodes {
        databaseId
        eventType
        createdAt
        eventDataJson
      }
    }
  }
}
`,
    variables: { sessionId: '…' },
    fills: 'sessionId',
  },
  {
    noun: 'Sessions',
    name: 'Follow a session live',
    query: `# Replays the events from the start, then
# follows: new ones appear as they are stored.
subscription Follow($sessionId: ID!) {
  sessionEvents(sessionId: $sessionId, after: "0") {
    databaseId
    eventType
    createdAt
  }
}
`,
    variables: { sessionId: '…' },
    fills: 'sessionId',
  },
  {
    noun: 'Event definitions',
    name: 'Definitions and properties',
    query: `# Event definitions with their properties.
query EventDefinitions($first: Int = 10) {
  viewer {
    organization {
      eventDefinitions(first: $first) {
        totalCount
        nodes {
          name
          label
          primaryObject
          properties {
            name
            type
            isDefault
            options { label value }
          }
        }
      }
    }
  }
}
`,
    variables: { first: 10 },
  },
  {
    noun: 'Event definitions',
    name: 'Create a definition',
    query: `# Every error that it can raise is a
# member of the result.
mutation Create($input: CreateEventDefinitionInput!) {
  createEventDefinition(input: $input) {
    __typename
    ... on CreateEventDefinitionPayload {
      eventDefinition { name fullyQualifiedName }
    }
    ... on Error { message code path }
  }
}
`,
    variables: {
      input: {
        label: 'Invoice paid',
        propertyDefinitions: [{ label: 'Amount', type: 'NUMBER' }],
      },
    },
  },
  {
    noun: 'Event occurrences',
    name: 'Occurrences and days',
    query: `# What has been sent for an event, and how
# often on each day.
query Occurrences($eventName: String!) {
  eventDefinition(name: $eventName) {
    label
    occurrencesPerDay { day count }
    occurrences(first: 10) {
      nodes { occurredAt properties }
    }
  }
}
`,
    variables: { eventName: '…' },
    fills: 'eventName',
  },
  {
    noun: 'MCP connections',
    name: 'Connections and status',
    query: `# MCP connections: how each stands, and
# what to do about it.
query McpConnections {
  viewer {
    organization {
      mcpServers(first: 20) {
        nodes {
          databaseId
          name
          type
          visibility
          serverUrl
          status
          statusReason
          nextAction
          tokenExpiresAt
        }
      }
    }
  }
}
`,
  },
  {
    noun: 'Organization',
    name: 'Members and API keys',
    query: `# The people, and their API keys.
query Organization {
  viewer {
    organization {
      name
      members(first: 10) {
        nodes { role joinedAt user { email } }
      }
      apiKeys(first: 10) {
        nodes { name preview scopes lastUsedAt }
      }
    }
  }
}
`,
  },
  {
    noun: 'Organization',
    name: 'Create an API key',
    query: `# The key is in the answer, this once.
mutation CreateApiKey($input: CreateApiKeyInput!) {
  createApiKey(input: $input) {
    __typename
    ... on CreateApiKeyPayload {
      key
      apiKey { databaseId preview }
    }
    ... on Error { message code path }
  }
}
`,
    variables: { input: { name: 'Reporting', scopes: ['SESSIONS_READ'] } },
  },
  {
    noun: 'Audit log',
    name: 'Who did what',
    query: `# What was changed, by whom, and in which
# request. For admins.
query AuditLog {
  viewer {
    organization {
      auditLog(first: 20) {
        nodes {
          occurredAt
          operation
          targetType
          source
          requestId
          actor { email }
        }
      }
    }
  }
}
`,
  },
  {
    noun: 'API life cycle',
    name: 'Removed and deprecated',
    query: `# Which APIs are gone, and what replaced them.
query ApiLifecycle {
  apiLifecycle {
    removed {
      name
      pathPrefix
      removedOn
      replacement
    }
    deprecated { name paths }
  }
}
`,
  },
];
