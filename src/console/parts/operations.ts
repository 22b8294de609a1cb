import { ENTRY, FINDING } from './search-operations.ts';
import { ACTOR, FAULT, LOCK_FAULT } from './operation-faults.ts';
import { PEOPLE_OPERATIONS } from '../members/people-operations.ts';
import { TOOL_OPERATIONS } from '../mcp-connections/tool-operations.ts';
import { RETENTION_OPERATIONS } from '../organizations/retention-operations.ts';
import { OVERVIEW_OPERATIONS } from '../overview/overview-operations.ts';

/** The GraphQL operations of the console. `npm run contracts` writes the types of their variables and answers to operation-types.ts. */
const SESSION_ROW = `
  id databaseId title visibility isPinned agent updatedAt lastSeenAt createdAt viewerCanUpdate viewerCanRecord
  state { current } projectId project { name } usage { costUsd durationMs inputTokens outputTokens toolErrors } creator { ${ACTOR} } hold { reason heldAt holder { ${ACTOR} } } handled { at }`;

const PULL_REQUEST = 'id databaseId title url status isDraft sourceBranch updatedAt author { login }';

const MCP_SERVER = `
  id databaseId name type authType visibility status statusReason nextAction serverUrl command lastCheckedAt connectedAt
  tokenExpiresAt issuer viewerCanAuthorize`;

const API_KEY = `
  id databaseId name preview scopes createdAt expiresAt lastUsedAt revokedAt isBlockedHere viewerCanRevoke viewerCanUpdate
  organization { id name } owner { ${ACTOR} }`;

const WEBHOOK = `
  id databaseId url types conditions { sessionStates } isEnabled disabledAt disabledReason cursor attempts nextAttemptAt failingSince disableAfter
  lastDeliveredAt previousSecretExpiresAt createdAt updatedAt`;

const EVENT_PROPERTY = `
  name label description type fieldType isDefault updatedAt viewerCanUpdate viewerCanDelete
  options { value label description displayOrder hidden }`;

export const OPERATIONS = {
  ...FINDING,
  ...OVERVIEW_OPERATIONS,
  ...TOOL_OPERATIONS,

  Viewer: `query Viewer {
    viewer {
      user { id databaseId name email }
      role
      scopes
      apiKey { id organization { id } }
      organization { id databaseId name slug }
      organizations(first: 100) { nodes { id databaseId name slug } }
    }
  }`,

  FindSession: `query FindSession($id: ID!) { session(id: $id) { id } }`,

  FindEventDefinition: `query FindEventDefinition($id: String!) { eventDefinition(name: $id) { id } }`,

  FindMcpServer: `query FindMcpServer($id: ID!) { mcpServer(id: $id) { id } }`,

  FindToolApproval: `query FindToolApproval($id: ID!) { toolApproval(id: $id) { id } }`,

  FindWebhook: `query FindWebhook($id: ID!) { webhook(id: $id) { id } }`,

  Sessions: `query Sessions($first: Int!, $after: String, $filter: SessionFilter, $orderBy: SessionOrder, $areFailed: Boolean!) {
    viewer { organization { id sessions(first: $first, after: $after, filter: $filter, orderBy: $orderBy) {
      totalCount nodes { ${SESSION_ROW} failureReason(maxLength: 300) @include(if: $areFailed) }
      pageInfo { hasNextPage endCursor }
    } } }
  }`,

  SessionChange: `subscription SessionChange {
    sessionChange { __typename ... on SessionChanged { session { ${SESSION_ROW} } } ... on SessionLeft { sessionId } }
  }`,

  Session: `query Session($id: ID!) {
    session(id: $id) {
      ${SESSION_ROW} turns redactedAt viewerCanDelete viewerCanHold
      description(maxLength: 20000) baseBranch branchName targetBranch externalUrl source { agent id }
      diffSummary { additions deletions }
      usage { inputTokens outputTokens cachedInputTokens costUsd turns toolCalls toolErrors durationMs }
    }
  }`,

  /** Why it failed, and the entry that says so. */
  SessionFailure: `query SessionFailure($id: ID!) {
    session(id: $id) { id failureReason(maxLength: 1000) entries(last: 1, filter: { isFailed: true }) { nodes { id databaseId } } }
  }`,

  FollowSessionRow: `subscription FollowSessionRow($filter: SessionFilter) { sessionChange(filter: $filter) { __typename ... on SessionChanged { session { id } } ... on SessionLeft { sessionId } } }`,

  Artifacts: `query Artifacts($id: ID!, $after: String) {
    session(id: $id) { id artifacts(first: 10, after: $after) {
      nodes { id databaseId type createdAt pullRequests(first: 10) { nodes { ${PULL_REQUEST} } pageInfo { hasNextPage endCursor } } }
      pageInfo { hasNextPage endCursor }
    } }
  }`,

  PullRequests: `query PullRequests($id: ID!, $after: String) {
    node(id: $id) { ... on Artifact { pullRequests(first: 50, after: $after) {
      nodes { ${PULL_REQUEST} }
      pageInfo { hasNextPage endCursor }
    } } }
  }`,

  PullRequestDiff: `query PullRequestDiff($id: ID!) {
    node(id: $id) { ... on PullRequest { diff { data(maxLength: 100000) } } }
  }`,

  SessionEventJson: `query SessionEventJson($id: ID!, $after: String!) {
    sessionEvents(sessionId: $id, first: 1, after: $after) { nodes {
      databaseId eventType provider messageId createdAt eventDataJson
    } }
  }`,

  FollowSession: `subscription FollowSession($id: ID!, $after: ID) {
    sessionEntries(sessionId: $id, after: $after) { entries { ${ENTRY} } removedIds lastEventId }
  }`,

  CreateSession: `mutation CreateSession($input: CreateSessionInput!) {
    createSession(input: $input) { __typename ... on CreateSessionPayload { session { id databaseId } } ${FAULT} }
  }`,

  SessionForm: `query SessionForm($id: ID!) {
    session(id: $id) {
      id title description visibility mode agent baseBranch branchName targetBranch updatedAt state { current }
      mcpServers { id databaseId }
    }
  }`,

  UpdateSession: `mutation UpdateSession($input: UpdateSessionInput!) {
    updateSession(input: $input) { __typename ${LOCK_FAULT} }
  }`,

  TransitionSession: `mutation TransitionSession($id: ID!, $state: SessionStateName!) {
    transitionSession(input: { sessionId: $id, state: $state }) { __typename ${FAULT} }
  }`,

  MarkSessionHandled: `mutation MarkSessionHandled($id: ID!, $isHandled: Boolean!) {
    markSessionHandled(input: { sessionId: $id, isHandled: $isHandled }) {
      __typename ... on MarkSessionHandledPayload { session { id handled { at } } } ${FAULT}
    }
  }`,

  PinSession: `mutation PinSession($id: ID!, $isPinned: Boolean!) {
    pinSession(input: { sessionId: $id, isPinned: $isPinned }) { __typename ... on PinSessionPayload { session { id isPinned } } ${FAULT} }
  }`,

  EventDefinitions: `query EventDefinitions($first: Int!, $after: String, $search: String) {
    viewer { organization { id eventDefinitions(first: $first, after: $after, filter: { text: $search }) {
      nodes { id name fullyQualifiedName label description primaryObject customObjectName properties { isDefault } occurrencesPerDay { day count refusedCount } }
      pageInfo { hasNextPage endCursor }
    } } }
  }`,

  EventDefinition: `query EventDefinition($name: String!) {
    eventDefinition(name: $name) {
      id name fullyQualifiedName label description primaryObject customObjectName includeDefaultProperties createdAt updatedAt
      viewerCanUpdate viewerCanDelete
      customMatchingId { primaryObjectRule { eventPropertyName targetObjectPropertyName } }
      properties { ${EVENT_PROPERTY} }
      occurrencesPerDay { day count refusedCount }
    }
  }`,

  EventDefinitionNamePreview: `query EventDefinitionNamePreview($label: String!) {
    eventDefinitionNamePreview(label: $label) { name isFree nextFreeName reason }
  }`,

  CreateEventDefinition: `mutation CreateEventDefinition($input: CreateEventDefinitionInput!) {
    createEventDefinition(input: $input) {
      __typename ... on CreateEventDefinitionPayload { eventDefinition { id name label } } ${FAULT}
    }
  }`,

  UpdateEventDefinition: `mutation UpdateEventDefinition($input: UpdateEventDefinitionInput!) {
    updateEventDefinition(input: $input) { __typename ${LOCK_FAULT} }
  }`,

  EventDefinitionDeletionPreview: `query EventDefinitionDeletionPreview($name: String!) {
    eventDefinition(name: $name) { id deletionPreview { customPropertyCount occurrenceCount reservedName } }
  }`,

  DeleteEventDefinition: `mutation DeleteEventDefinition($name: String!) {
    deleteEventDefinition(input: { eventName: $name }) { __typename ${FAULT} }
  }`,

  AddEventProperty: `mutation AddEventProperty($input: AddEventPropertyInput!) {
    addEventProperty(input: $input) { __typename ${FAULT} }
  }`,

  UpdateEventProperty: `mutation UpdateEventProperty($input: UpdateEventPropertyInput!) {
    updateEventProperty(input: $input) { __typename ${LOCK_FAULT} }
  }`,

  ReplaceEventPropertyType: `mutation ReplaceEventPropertyType($input: ReplaceEventPropertyTypeInput!) {
    replaceEventPropertyType(input: $input) { __typename ${LOCK_FAULT} }
  }`,

  DeleteEventProperty: `mutation DeleteEventProperty($eventName: String!, $name: String!) {
    deleteEventProperty(input: { eventName: $eventName, name: $name }) { __typename ${FAULT} }
  }`,

  EventValueCount: `query EventValueCount($name: String!, $from: DateTime!, $property: String!, $value: String!) {
    eventDefinition(name: $name) { id
      occurrences(first: 1, filter: { occurredFrom: $from, properties: [{ name: $property, value: $value }] }) { totalCount }
    }
  }`,

  EventViolations: `query EventViolations($first: Int!, $after: String, $filter: EventViolationFilter!) {
    viewer { organization { id eventViolations(first: $first, after: $after, filter: $filter) {
      nodes { id hour reason property count apiKey { id name preview } }
      pageInfo { hasNextPage endCursor }
    } } }
  }`,

  McpServers: `query McpServers($first: Int!, $after: String) {
    viewer { organization { id mcpServers(first: $first, after: $after) {
      nodes { ${MCP_SERVER} }
      pageInfo { hasNextPage endCursor }
    } } }
  }`,

  McpServerChoices: `query McpServerChoices {
    viewer { organization { id mcpServers(first: 100, orderBy: { field: NAME, direction: ASC }) { nodes { id databaseId name } } } }
  }`,

  McpServer: `query McpServer($id: ID!) {
    mcpServer(id: $id) {
      ${MCP_SERVER} viewerCanUpdate viewerCanDelete
      args envKeys headerKeys clientId oauthRegistration scope grantedScopes createdAt updatedAt ownedBy { ${ACTOR} }
      handle recordToolCalls audience resource allowMissingPkceMetadata toolPolicy { mode names }
      access { mode groupIds } toolRules { tools groupIds effect } approverGroupIds onToolChange
    }
  }`,

  McpServerTools: `query McpServerTools($id: ID!) {
    mcpServer(id: $id) { id toolsNotice
      tools { name title description inputSchema annotations problem effect definition { state current accepted } } }
  }`,

  McpServerCalls: `query McpServerCalls($first: Int!, $after: String, $targetIds: [ID!]) {
    viewer { organization { id auditLog(first: $first, after: $after, filter: { operations: ["callMcpTool"], targetIds: $targetIds }) {
      nodes { id occurredAt actor { ${ACTOR} } apiKey { id name } toolCall { toolName sessionId outcome durationMs bytes } }
      pageInfo { hasNextPage endCursor }
    } } }
  }`,

  CreateMcpServer: `mutation CreateMcpServer($input: CreateMcpServerInput!) {
    createMcpServer(input: $input) { __typename ... on CreateMcpServerPayload { authorizationUrl mcpServer { id databaseId } } ${FAULT} }
  }`,

  UpdateMcpServer: `mutation UpdateMcpServer($input: UpdateMcpServerInput!) {
    updateMcpServer(input: $input) { __typename ${LOCK_FAULT} }
  }`,

  UpdateMcpServerSettings: `mutation UpdateMcpServerSettings($input: UpdateMcpServerSettingsInput!) {
    updateMcpServerSettings(input: $input) { __typename ${LOCK_FAULT} }
  }`,

  DeleteMcpServer: `mutation DeleteMcpServer($id: ID!) {
    deleteMcpServer(input: { mcpServerId: $id }) { __typename ${FAULT} }
  }`,

  CallMcpTool: `mutation CallMcpTool($input: CallMcpToolInput!) {
    callMcpTool(input: $input) { __typename ... on CallMcpToolPayload { isError content structuredContent durationMs } ${FAULT} }
  }`,

  AuthorizeMcpServer: `mutation AuthorizeMcpServer($id: ID!) {
    authorizeMcpServer(input: { mcpServerId: $id }) {
      __typename ... on AuthorizeMcpServerPayload { authorizationUrl mcpServer { ${MCP_SERVER} } } ${FAULT}
    }
  }`,

  TestMcpServer: `mutation TestMcpServer($id: ID!) {
    testMcpServer(input: { mcpServerId: $id }) { __typename ... on TestMcpServerPayload { mcpServer { ${MCP_SERVER} } } ${FAULT} }
  }`,

  OwnKey: `query OwnKey {
    viewer { user { id } apiKey { id scopes expiresAt } organizations(first: 100) { nodes { id name } } }
    __type(name: "Scope") { enumValues { name description } }
  }`,

  Webhooks: `query Webhooks($first: Int!, $after: String) {
    viewer { organization { id webhooks(first: $first, after: $after) {
      nodes { ${WEBHOOK} }
      pageInfo { hasNextPage endCursor }
    } } }
  }`,

  Webhook: `query Webhook($id: ID!) { webhook(id: $id) { ${WEBHOOK} } }`,

  WebhookDeliveries: `query WebhookDeliveries($id: ID!, $first: Int!, $after: String, $filter: WebhookDeliveryFilter) {
    webhook(id: $id) { id deliveries(first: $first, after: $after, filter: $filter) {
      nodes { id kind state type messageId feedEntryId attempt status error answer durationMs createdAt }
      pageInfo { hasNextPage endCursor }
    } }
  }`,

  CreateWebhook: `mutation CreateWebhook($input: CreateWebhookInput!) {
    createWebhook(input: $input) { __typename ... on CreateWebhookPayload { secret webhook { ${WEBHOOK} } } ${FAULT} }
  }`,

  UpdateWebhook: `mutation UpdateWebhook($input: UpdateWebhookInput!) {
    updateWebhook(input: $input) { __typename ... on UpdateWebhookPayload { webhook { ${WEBHOOK} } } ${LOCK_FAULT} }
  }`,

  RotateWebhookSecret: `mutation RotateWebhookSecret($id: ID!) {
    rotateWebhookSecret(input: { webhookId: $id }) { __typename ... on RotateWebhookSecretPayload { secret } ${FAULT} }
  }`,

  DeleteWebhook: `mutation DeleteWebhook($id: ID!) {
    deleteWebhook(input: { webhookId: $id }) { __typename ${FAULT} }
  }`,

  TryWebhookNow: `mutation TryWebhookNow($id: ID!) {
    tryWebhookNow(input: { webhookId: $id }) { __typename ${FAULT} }
  }`,

  PingWebhook: `mutation PingWebhook($id: ID!) {
    pingWebhook(input: { webhookId: $id }) { __typename ${FAULT} }
  }`,

  RedeliverWebhook: `mutation RedeliverWebhook($id: ID!, $deliveryId: ID!) {
    redeliverWebhook(input: { webhookId: $id, deliveryId: $deliveryId }) { __typename ${FAULT} }
  }`,

  ReplayWebhook: `mutation ReplayWebhook($id: ID!, $after: Int!, $onlyFailed: Boolean!) {
    replayWebhook(input: { webhookId: $id, after: $after, onlyFailed: $onlyFailed }) { __typename ${FAULT} }
  }`,

  ApiKeys: `query ApiKeys($first: Int!, $after: String, $filter: ApiKeyFilter) {
    viewer { apiKeys(first: $first, after: $after, filter: $filter) {
      nodes { ${API_KEY} }
      pageInfo { hasNextPage endCursor }
    } }
  }`,

  CreateApiKey: `mutation CreateApiKey($input: CreateApiKeyInput!) {
    createApiKey(input: $input) {
      __typename ... on CreateApiKeyPayload { key apiKey { ${API_KEY} } } ${FAULT}
    }
  }`,

  RenameApiKey: `mutation RenameApiKey($id: ID!, $name: String!) {
    renameApiKey(input: { apiKeyId: $id, name: $name }) { __typename ${FAULT} }
  }`,

  RevokeApiKey: `mutation RevokeApiKey($id: ID!) {
    revokeApiKey(input: { apiKeyId: $id }) { __typename ${FAULT} }
  }`,

  ...PEOPLE_OPERATIONS,
  ...RETENTION_OPERATIONS,

  UsageReport: `query UsageReport($from: Date!, $until: Date!, $groupBy: UsageReportGroup!, $filter: SessionFilter!) {
    viewer { organization { id
      usageReport(from: $from, before: $until, groupBy: $groupBy) {
        rows { key label sessions costUsd inputTokens outputTokens durationMs }
      }
      sessionCounts(groupBy: $groupBy, filter: $filter) { key sessions failed }
    } }
  }`,

  Usage: `query Usage {
    viewer { organization { id name memberCount
      monthlyOccurrenceUsage { month count limit resetsAt }
      subscriptions { family level }
      sessions(first: 1) { totalCount } mcpServers(first: 1) { totalCount } eventDefinitions(first: 1) { totalCount }
    } apiKeys(first: 1) { totalCount } }
  }`,
} as const;

export type OperationName = keyof typeof OPERATIONS;
