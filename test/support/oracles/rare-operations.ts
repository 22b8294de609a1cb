import { OperationTypeNode } from 'graphql';
import { globalId } from '../operations/references.ts';
import type { GeneratedOperation } from './graphql-operations.ts';
import { type Pools, dayIn } from './graphql-values.ts';

/** What lists have, but for the names of types. */
const LISTS = `{ viewer { organization {
  signInSettings { adminGroups allowedGroups domains isOnly issuer joins organizationSlug viewerGroups }
  webhooks(first: 1) { totalCount pageInfo { hasNextPage } nodes { id } edges { cursor node { conditions { sessionStates } deliveries(first: 1) { edges { cursor node { id status } } } } } }
  auditLog(first: 20) { totalCount edges { cursor node { changedFields refusal requestId source actor { ... on Account { id } } actorLabel clientAddress operation requestIdOrigin targetId targetLabel targetType userAgent } } }
  feed(first: 3) { edges { cursor node { id } } }
  eventTypes(first: 3) { totalCount edges { cursor node { name } } }
  agents(first: 3) { edges { cursor node { name } } }
  invitations(first: 3) { totalCount edges { cursor node { databaseId email role viewerCanRevoke organizationName } } }
  formerMembers(first: 3) { totalCount edges { cursor node { label leftAt userDatabaseId userId } } }
  serviceAccounts(first: 1) { edges { cursor node { id } } }
  toolApprovals(first: 3) { totalCount edges { cursor node { id databaseId arguments argumentsDigest caller { ... on Account { id } } createdAt decidedAt decidedBy { ... on Account { id } }
    expiresAt mcpServer { id } preview state toolName viewerCanDecide } } }
} } }`;

/** Operations that need several matching values or an answer of a remote server, and are therefore rarely generated. */
export function rareOperations(pool: Pools): GeneratedOperation[] {
  const ask = (kind: OperationTypeNode, query: string, variables: object): GeneratedOperation => ({
    kind,
    query,
    variables: { ...variables },
  });
  const mcpServerId = globalId('McpServer', pool['mcpConnectionId']?.[0] ?? '');
  return [
    ask(
      OperationTypeNode.QUERY,
      `query ($id: ID!) { node(id: $id) { __typename ... on McpServer { __typename tools { __typename name description inputSchema } } } }`,
      { id: mcpServerId },
    ),
    ask(
      OperationTypeNode.QUERY,
      `query ($id: ID!) { node(id: $id) { __typename ... on Session { __typename artifacts(first: 5) { __typename nodes { __typename
        pullRequests(first: 5) { __typename nodes { __typename author { __typename login avatarUrl } } } } } } } }`,
      { id: globalId('Session', pool['sessionId']?.[0] ?? '') },
    ),
    ask(
      OperationTypeNode.QUERY,
      `query ($id: ID!) { node(id: $id) { __typename ... on Session { __typename entries(first: 50) { __typename nodes { __typename
        id databaseId kind turn startedAt endedAt isOpen isFailed lastEventId events(first: 1) { __typename nodes { __typename id } } subagent { __typename databaseId entries(first: 1) { __typename nodes { __typename id } } }
        ... on UserMessage { text isTextCut } ... on AgentMessage { text isTextCut isFinal model } ... on SessionNote { provider text isTextCut }
        ... on ToolCall { toolName title input output exitCode durationMs startedSubagent { __typename id } } } } } } }`,
      { id: globalId('Session', pool['sessionId']?.[0] ?? '') },
    ),
    ask(
      OperationTypeNode.QUERY,
      `query ($id: ID!) { node(id: $id) { __typename ... on Session { __typename artifacts(first: 5) { __typename nodes { __typename
        pullRequests(first: 5) { __typename pageInfo { __typename hasNextPage } edges { __typename cursor node { __typename id databaseId url title status
          isDraft sourceBranch baseBranch headSha agent createdAt updatedAt diff { __typename additions deletions data }
          codeRepository { __typename id databaseId name owner provider baseBranch } } } } } } } } }`,
      { id: globalId('Session', pool['sessionId']?.[0] ?? '') },
    ),
    ask(OperationTypeNode.QUERY, LISTS.replaceAll('{', '{ __typename '), {}),
    ask(
      OperationTypeNode.QUERY,
      `query ($from: Date!, $before: Date!, $ids: [ID!]!) { viewer { __typename organization { __typename
        usageReport(from: $from, before: $before, groupBy: CREATOR) { __typename
          rows { __typename key label sessions failedSessions turns toolCalls toolErrors durationMs costUsd inputTokens outputTokens
            cachedInputTokens subject { __typename id } }
          totals { __typename sessions failedSessions turns toolCalls toolErrors durationMs costUsd inputTokens outputTokens cachedInputTokens } }
        sessionsDeletionPreview(sessionIds: $ids) { __typename sessions events held { __typename id } } } } }`,
      { from: dayIn(-30), before: dayIn(1), ids: pool['sessionId']?.slice(0, 1) },
    ),
    ask(
      OperationTypeNode.MUTATION,
      `mutation ($input: TestMcpServerInput!) { testMcpServer(input: $input) { __typename
        ... on TestMcpServerPayload { __typename info { __typename name version protocolVersion } } } }`,
      { input: { mcpServerId } },
    ),
    ask(
      OperationTypeNode.MUTATION,
      `mutation ($input: SendEventOccurrencesInput!) { sendEventOccurrences(input: $input) { __typename
        ... on SendEventOccurrencesPayload { __typename acceptedCount } } }`,
      { input: { inputs: [{ eventName: pool['eventName']?.[0], email: 'ann@example.com', properties: {} }] } },
    ),
    ask(
      OperationTypeNode.MUTATION,
      `mutation ($input: HoldSessionInput!) { holdSession(input: $input) { __typename ... on HoldSessionPayload { __typename
        session { __typename hold { __typename reason heldAt heldBy { __typename id } } } } } }`,
      { input: { sessionId: pool['sessionId']?.[0], reason: 'A dispute' } },
    ),
    ask(
      OperationTypeNode.MUTATION,
      `mutation ($input: PinSessionInput!) { pinSession(input: $input) { __typename ... on PinSessionPayload { __typename
        session { __typename hold { __typename creatorLabel holder { __typename ... on Account { id } } } } } } }`,
      { input: { sessionId: pool['sessionId']?.[0] } },
    ),
    ask(
      OperationTypeNode.MUTATION,
      `mutation ($input: CreateWebhookInput!) { createWebhook(input: $input) { __typename ... on CreateWebhookPayload { __typename
        secret webhook { __typename conditions { __typename sessionStates } } } } }`,
      { input: { url: 'https://example.com/conditions', conditions: { sessionStates: ['COMPLETED'] } } },
    ),
    ...['addEventProperty', 'updateEventProperty', 'deleteEventProperty'].map((name) => {
      const type = `${name[0]?.toUpperCase()}${name.slice(1)}`;
      const answered =
        name === 'deleteEventProperty'
          ? 'deletedId deletedName organization { __typename id }'
          : 'property { __typename options { __typename id value description displayOrder hidden } }';
      const options = { label: 'Size', options: [{ label: 'Large', value: 'large', description: 'Over ten' }] };
      return ask(
        OperationTypeNode.MUTATION,
        `mutation ($input: ${type}Input!) { ${name}(input: $input) { __typename ... on ${type}Payload { __typename
          eventDefinition { __typename id } ${answered} } } }`,
        {
          input: {
            eventName: pool['eventName']?.[0],
            name: 'size',
            ...(name === 'deleteEventProperty' ? {} : options),
            ...(name === 'addEventProperty' ? { type: 'ENUMERATION' } : {}),
          },
        },
      );
    }),
    // This one is refused, so that the next one finds a violation beside the occurrence.
    ask(
      OperationTypeNode.MUTATION,
      `mutation ($input: SendEventOccurrencesInput!) { sendEventOccurrences(input: $input) { __typename } }`,
      {
        input: { inputs: [{ eventName: pool['eventName']?.[0], email: 'ann@example.com', properties: { absent: 1 } }] },
      },
    ),
    ask(
      OperationTypeNode.QUERY,
      `query ($name: String!) { viewer { __typename organization { __typename
        eventViolations(first: 1) { __typename edges { __typename cursor node { __typename id databaseId count hour reason property
          apiKey { __typename id } eventDefinition { __typename id } } } } }
        } eventDefinition(name: $name) { __typename occurrences(first: 1) { __typename edges { __typename cursor node { __typename
          id databaseId objectId occurredAt receivedAt properties utk uuid } } } } }`,
      { name: pool['eventName']?.[0] },
    ),
  ];
}
