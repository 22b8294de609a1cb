import { ACTOR } from './operation-faults.ts';

const OUTLINE = `
  marks { firstId createdAt messages toolCalls failures failureId inputTokens outputTokens costUsd }
  entries { eventId createdAt kind text lastId endedAt toolCalls failures failureId subagentId parentId }
  tools { name calls failures durationMs firstId failureId }
  models lastId hasMore`;

/** An entry of a session, with the beginnings of its texts. */
export const entryOf = (maxLength: number) => `
  __typename id databaseId turn startedAt lastEventId isFailed isOpen subagent { databaseId }
  ... on UserMessage { text(maxLength: ${maxLength}) } ... on AgentMessage { text(maxLength: ${maxLength}) isFinal }
  ... on Thinking { text(maxLength: ${maxLength}) } ... on SessionNote { text(maxLength: ${maxLength}) }
  ... on ToolCall {
    toolName input(maxLength: ${maxLength}) output(maxLength: ${maxLength}) exitCode durationMs startedSubagent { databaseId }
  }`;
export const ENTRY = entryOf(10_000);

/** The operations with which the console finds something; a part of `OPERATIONS`. */
export const FINDING = {
  FindByName: `query FindByName($search: String) { viewer { organization { id
    sessions(first: 7, filter: { search: $search }, orderBy: { field: LAST_SEEN_AT, direction: DESC }) { nodes { id databaseId title } }
    eventDefinitions(first: 5, filter: { search: $search }) { nodes { id name label } }
    mcpServers(first: 5, filter: { search: $search }) { nodes { id databaseId name } }
  } } }`,

  SessionSearch: `query SessionSearch($text: String!, $filter: SessionFilter, $first: Int!, $after: String) {
    viewer { organization { id sessionSearch(search: $text, filter: $filter, first: $first, after: $after) {
      nodes { eventId excerpt session { id databaseId title agent lastSeenAt state { current } } }
      pageInfo { hasNextPage endCursor }
    } } }
  }`,

  /** What the sessions and the audit log can be filtered by. */
  Agents: `query Agents($from: Date!, $until: Date!) { viewer { organization { id
    agents(first: 100) { nodes { name } } projects(first: 100) { nodes { id databaseId name } }
    models: usageReport(from: $from, before: $until, groupBy: MODEL) { rows { key } }
    tools: usageReport(from: $from, before: $until, groupBy: TOOL) { rows { key } }
  } } }`,

  People: `query People($first: Int!, $after: String) {
    viewer { organization { id members(first: $first, after: $after) {
      nodes { user { id databaseId name email } } pageInfo { hasNextPage endCursor }
    } } }
  }`,

  OtherActors: `query OtherActors($isAdministrator: Boolean!) { viewer { user { id } organization { id
    serviceAccounts(first: 100) @include(if: $isAdministrator) { nodes { databaseId displayName } }
    suspendedMembers(first: 100) @include(if: $isAdministrator) { nodes { user { databaseId name email } } }
    formerMembers(first: 100) @include(if: $isAdministrator) { nodes { userDatabaseId label } }
  } } }`,

  History: `query History($id: ID!, $first: Int!, $after: String, $isRecording: Boolean) {
    viewer { organization { id auditLog(first: $first, after: $after, filter: { targetIds: [$id], isRecording: $isRecording }) {
      nodes { id databaseId occurredAt operation source changedFields detail refusal actorLabel actor { ${ACTOR} } }
      pageInfo { hasNextPage endCursor }
    } } }
  }`,

  EventOccurrences: `query EventOccurrences($name: String!, $first: Int!, $after: String, $filter: EventOccurrenceFilter) {
    eventDefinition(name: $name) { id occurrences(first: $first, after: $after, filter: $filter) {
      nodes { id occurredAt objectId email unmatchedReason properties }
      pageInfo { hasNextPage endCursor }
    } }
  }`,

  EventMatching: `query EventMatching($name: String!, $from: DateTime!) {
    eventDefinition(name: $name) {
      id
      notRegistered: occurrences(filter: { unmatchedReasons: [NOT_REGISTERED], occurredFrom: $from }) { totalCount }
      noValue: occurrences(filter: { unmatchedReasons: [NO_VALUE], occurredFrom: $from }) { totalCount }
    }
  }`,

  UnknownEvents: `query UnknownEvents {
    viewer { organization { id eventViolations(first: 20, filter: { isUnknownEvent: true }) {
      nodes { id hour unknownEventName count apiKey { id name preview } }
    } } }
  }`,

  AuditLog: `query AuditLog($first: Int!, $after: String, $filter: AuditEntryFilter) {
    viewer { organization { id auditLog(first: $first, after: $after, filter: $filter) {
      nodes {
        id databaseId occurredAt operation source targetType targetId targetLabel requestId refusal changedFields detail actorLabel clientAddress userAgent actor { ${ACTOR} }
        target {
          __typename
          ... on ApiKey { name preview }
          ... on EventDefinition { name label }
          ... on McpServer { databaseId name }
          ... on Organization { name }
          ... on OrganizationInvitation { email }
          ... on PullRequest { title url }
          ... on Session { databaseId title }
          ... on ServiceAccount { displayName } ... on User { ownName: name address: email }
          ... on Webhook { databaseId url }
        }
      }
      pageInfo { hasNextPage endCursor }
    } } }
  }`,

  SessionOutline: `query SessionOutline($id: ID!, $after: ID) {
    session(id: $id) { id outline: wholeOutline(after: $after) { ${OUTLINE} } }
  }`,

  SessionOutlinePart: `query SessionOutlinePart($id: ID!, $after: ID) {
    session(id: $id) { id outline(after: $after) { ${OUTLINE} } }
  }`,

  SessionEntries: `query SessionEntries($id: ID!, $first: Int, $after: String, $last: Int, $before: String, $filter: SessionEntryFilter) {
    session(id: $id) { id entries(first: $first, after: $after, last: $last, before: $before, filter: $filter) {
      nodes { ${ENTRY} }
      pageInfo { hasNextPage hasPreviousPage endCursor }
    } }
  }`,

  /** With its whole texts. */
  SessionEntry: `query SessionEntry($id: ID!, $entryId: ID!) {
    session(id: $id) { id entry(id: $entryId) {
      __typename id databaseId ... on UserMessage { text } ... on AgentMessage { text } ... on Thinking { text } ... on SessionNote { text }
      ... on ToolCall { input output }
    } }
  }`,

  SessionEntryEvents: `query SessionEntryEvents($id: ID!, $entryId: ID!, $after: String) {
    session(id: $id) { id entry(id: $entryId) {
      __typename id databaseId events(first: 1000, after: $after) { nodes { id databaseId } pageInfo { hasNextPage endCursor } }
    } }
  }`,

  SessionEdits: `query SessionEdits($id: ID!, $first: Int, $after: String, $filter: SessionEntryFilter) {
    session(id: $id) { id entries(first: $first, after: $after, filter: $filter) {
      nodes { __typename id databaseId ... on ToolCall { toolName input(maxLength: 40000) } }
      pageInfo { hasNextPage endCursor }
    } }
  }`,
} as const;
