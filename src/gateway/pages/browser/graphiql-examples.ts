import type { Example } from './graphiql-example.ts';
import { FEED, RECORDING } from './graphiql-recording-examples.ts';

/** Reads the values for `fills`. */
export const LATEST = `query Latest {
  viewer {
    organization {
      sessions(first: 1) { nodes { databaseId } }
      eventDefinitions(first: 50) {
        nodes { name occurrences(first: 1) { nodes { receivedAt } } }
      }
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
    query: `# The latest sessions and their results.
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
          artifacts(first: 5) {
            nodes {
              type
              pullRequests(first: 5) {
                nodes { url title status }
              }
            }
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
    query: `# The last events of a session, in order.
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
    name: 'Find a text',
    query: `# Words in any order, and quoted phrases, in the
# titles and events of all sessions.
query Find($text: String!) {
  viewer {
    organization {
      sessionSearch(text: $text, first: 10) {
        nodes {
          eventId
          excerpt
          session { databaseId title }
        }
      }
    }
  }
}
`,
    variables: { text: 'error' },
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
  ...RECORDING,
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
    query: `# The result is a union of the payload
    # and all possible errors.
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
    query: `# Occurrences of an event, and their
    # number on each day.
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
    noun: 'Event occurrences',
    name: 'Send an occurrence',
    query: `# Up to 500 at once: all are accepted, or none.
mutation Send(
  $eventName: String!
  $email: String
  $properties: JSON
) {
  sendEventOccurrences(
    input: {
      inputs: [
        {
          eventName: $eventName
          email: $email
          properties: $properties
        }
      ]
    }
  ) {
    __typename
    ... on SendEventOccurrencesPayload { acceptedCount }
    ... on ValidationError {
      faults { path message }
    }
    ... on Error { message code }
  }
}
`,
    variables: { eventName: '…', email: 'ann@example.com', properties: {} },
    fills: 'eventName',
  },
  {
    noun: 'MCP connections',
    name: 'Connections and status',
    query: `# MCP connections with their status and
    # the next step.
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
    noun: 'MCP connections',
    name: 'Create a connection',
    query: `# A stdio server: the command is stored, not run.
# For a server with an address, send "remote".
mutation Connect($input: CreateMcpServerInput!) {
  createMcpServer(input: $input) {
    __typename
    ... on CreateMcpServerPayload {
      authorizationUrl
      mcpServer { databaseId status nextAction }
    }
    ... on Error { message code path }
  }
}
`,
    variables: {
      input: {
        stdio: { name: 'files', command: 'npx', args: ['@modelcontextprotocol/server-filesystem', '.'] },
      },
    },
  },
  ...FEED,
  {
    noun: 'Organization',
    name: 'Members and API keys',
    query: `# Members and API keys.
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
    query: `# The key is shown only in this answer.
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
    # request. For administrators.
query AuditLog {
  viewer {
    organization {
      auditLog(first: 20) {
        nodes {
          occurredAt
          operation
          changedFields
          target { __typename id }
          actor { email }
          requestId
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
    query: `# Removed APIs and their replacements.
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
