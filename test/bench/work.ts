import { BIG_SESSION, definitionName, nestedSession } from './seed.ts';

/** A request, with the same bytes for baseline and gateway. */
export interface WorkRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly path: string;
  readonly body?: string | Buffer<ArrayBuffer>;
  /** `application/json` by default. */
  readonly accept?: string;
}

export interface Work {
  readonly name: string;
  /** The ratio to the baseline that the gateway must reach. */
  readonly target: number;
  /** Requests that are sent in rotation. */
  readonly requests: readonly WorkRequest[];
  /** The same for gateways in which the lists below sessions have no pages. */
  readonly plain?: readonly WorkRequest[];
  /** The API keys of the connections, in turn; by default that of the benchmark. */
  readonly keys?: readonly string[];
  /** Whether the workload writes, so that answers differ in `updatedAt`. */
  readonly writes?: boolean;
}

const PAGES = 20;
/** Each matches the names of more than 20 definitions. */
const SEARCHES = ['0', '1', 't_0', 't_1', 'event', '_'];

export const AUTHENTICATED = 'query Typename { __typename }';

const EVENT = 'id databaseId eventType messageId provider createdAt';
const events = (name: string, fields: string) => `query ${name}($id: ID!, $after: String) {
  sessionEvents(sessionId: $id, first: 100, after: $after) { edges { cursor node { ${EVENT} ${fields} } } pageInfo { hasNextPage endCursor } }
}`;

const TYPED = `eventData {
  type scope { kind parentToolUseId taskId } source providerEvent delivery event { event message provider messageId } index itemId sequenceNumber
  accumulatedText deltaType responsePhase toolName toolResult { status output exitCode error } snapshotId snapshotCreatedAt
}`;

const SESSIONS = `query Sessions { viewer { organization { sessions(first: 50) { edges { node {
  id databaseId title description kind sessionType mode visibility level isPinned baseBranch branchName targetBranch htmlUrl createdAt updatedAt lastSeenAt
  state { current isQueued inProgress isCompleted isFailed isCancelled }
  diffSummary { additions deletions }
  project { databaseId name icon color }
  sessionSource { databaseId name type repositories { databaseId name provider } }
  artifacts(first: 5) { nodes { databaseId type createdAt updatedAt pullRequests(first: 5) { nodes {
    databaseId url title status isDraft sourceBranch baseBranch headSha agent createdAt updatedAt
    diff { additions deletions data } author { avatarUrl login } codeRepository { databaseId name owner baseBranch provider }
  } } } }
} } pageInfo { hasNextPage } } } } }`;

/** With 8 of the 14 fields of a pull request. */
const SESSIONS_IN_PART = `query SessionsInPart { viewer { organization { sessions(first: 50) { edges { node {
  id databaseId title mode branchName createdAt updatedAt state { current }
  artifacts(first: 5) { nodes { databaseId type pullRequests(first: 5) { nodes { databaseId url title status isDraft sourceBranch baseBranch createdAt } } } }
} } pageInfo { hasNextPage } } } } }`;

/** The lists below sessions without pages. */
const inFull = (query: string) => query.replaceAll('(first: 5) { nodes {', ' {').replace('} } } }\n', '} }\n');

const DEFINITION = `id databaseId name fullyQualifiedName objectTypeId label description primaryObject includeDefaultProperties createdAt updatedAt
  properties { name label type fieldType description options { label value } displayOrder isDefault createdAt updatedAt }`;

const UPDATE = `mutation UpdateSession($input: UpdateSessionInput!) { updateSession(input: $input) {
  __typename ... on UpdateSessionPayload { session { id databaseId title level mode branchName updatedAt } } ... on Error { message }
} }`;

export function graphql(operationName: string, query: string, variables: object = {}): WorkRequest {
  return { method: 'POST', path: '/graphql', body: JSON.stringify({ query, operationName, variables }) };
}

export const restEvents = (after: number): WorkRequest => ({
  method: 'GET',
  path: `/v1/sessions/${BIG_SESSION}/events?limit=100&cursor=${after}`,
});
export const jsonEvents = (after: number) =>
  graphql('EventsJson', events('EventsJson', 'eventDataJson'), { id: BIG_SESSION, after: String(after) });
const typedEvents = (after: number) =>
  graphql('EventsTyped', events('EventsTyped', TYPED), { id: BIG_SESSION, after: String(after) });

const some = <Value>(count: number, make: (index: number) => Value) =>
  Array.from({ length: count }, (_, index) => make(index));
const changes = (index: number) => ({
  title: `Fix the flaky checkout test, take ${index}`,
  level: index % 100,
  mode: 'planning',
});

/** All workloads, for a long session with this many events. */
export function works(eventCount: number): Work[] {
  const cursors = some(PAGES, (index) => Math.floor((index * (eventCount - 101)) / (PAGES - 1)));
  const search = `query Search($search: String!) { viewer { organization {
    eventDefinitions(first: 20, filter: { search: $search }) { edges { node { ${DEFINITION} } } pageInfo { hasNextPage } }
  } } }`;
  const definitions = `query Definitions { viewer { organization { eventDefinitions(first: 50) { edges { node { ${DEFINITION} } } pageInfo { hasNextPage } } } } }`;
  return [
    { name: '{ __typename }', target: 0.9, requests: [graphql('Typename', AUTHENTICATED)] },
    { name: 'REST 100 events', target: 1.5, requests: cursors.map(restEvents) },
    { name: 'GraphQL 100 events, eventDataJson', target: 1, requests: cursors.map(jsonEvents) },
    { name: 'GraphQL 100 events, eventData', target: 0.9, requests: cursors.map(typedEvents) },
    {
      name: 'GraphQL 50 sessions, nested',
      target: 0.85,
      requests: [graphql('Sessions', SESSIONS)],
      plain: [graphql('Sessions', inFull(SESSIONS))],
    },
    {
      name: 'GraphQL 50 sessions, nested, in part',
      target: 0.85,
      requests: [graphql('SessionsInPart', SESSIONS_IN_PART)],
      plain: [graphql('SessionsInPart', inFull(SESSIONS_IN_PART))],
    },
    {
      name: 'GraphQL 1 definition, 40 properties',
      target: 0.85,
      requests: some(PAGES, (index) =>
        graphql('Definition', `query Definition($name: String!) { eventDefinition(name: $name) { ${DEFINITION} } }`, {
          name: definitionName(index),
        }),
      ),
    },
    {
      name: 'REST 1 definition, 40 properties',
      target: 0.75,
      requests: some(PAGES, (index) => ({
        method: 'GET',
        path: `/events/2026-03/event-definitions/${definitionName(index)}`,
      })),
    },
    {
      name: 'GraphQL search of 20 definitions, 40 properties each',
      target: 0.85,
      requests: SEARCHES.map((text) => graphql('Search', search, { search: text })),
    },
    { name: 'GraphQL 50 definitions', target: 0.75, requests: [graphql('Definitions', definitions)] },
    {
      name: 'REST PATCH session',
      target: 0.8,
      writes: true,
      requests: some(PAGES, (index) => ({
        method: 'PATCH',
        path: `/v1/sessions/${nestedSession(index)}`,
        body: JSON.stringify(changes(index)),
      })),
    },
    {
      name: 'GraphQL updateSession',
      target: 0.85,
      writes: true,
      requests: some(PAGES, (index) =>
        graphql('UpdateSession', UPDATE, {
          input: { ...changes(index), mode: 'PLANNING', sessionId: nestedSession(index) },
        }),
      ),
    },
  ];
}
