import { randomUUID } from 'node:crypto';

/** How every operation can be pointed at something: what the tests of isolation try with what is foreign and with what is missing. */

/** What operations refer to: of the other organization, or of nobody. */
export interface References {
  readonly organizationId: string;
  readonly userId: string;
  readonly apiKeyId: string;
  readonly sessionId: string;
  readonly artifactId: string;
  readonly channelGuid: string;
  /** What a global id of an occurrence says. */
  readonly occurrenceKey: string;
  readonly mcpConnectionId: string;
  readonly deletionJobId: string;
  readonly broadcastGuid: string;
  /** By name, by fully qualified name, by id. */
  readonly eventNames: readonly string[];
  readonly property: string;
}

type Input = Record<string, unknown>;
/** Every way in which an operation could be pointed at something; undefined for those that take no reference at all. */
type Case = ((to: References) => Input[]) | undefined;

export const globalId = (type: string, id: string) => Buffer.from(`${type}:${id}`).toString('base64');
const either = (name: string, type: string, id: string, rest: Input = {}): Input[] => [
  { [name]: id, ...rest },
  { [name]: id.toUpperCase(), ...rest },
  { [name]: globalId(type, id), ...rest },
];
const ofEvent = (rest: Input) => (to: References) => to.eventNames.map((eventName) => ({ eventName, ...rest }));
const ofProperty = (rest: Input) => (to: References) =>
  to.eventNames.map((eventName) => ({ eventName, name: to.property, ...rest }));
const ofSession = (rest: Input) => (to: References) => either('sessionId', 'Session', to.sessionId, rest);

const PULL_REQUEST = {
  url: 'https://example.com/1',
  title: 'T',
  status: 'OPEN',
  sourceBranch: 's',
  baseBranch: 'b',
  headSha: 'abc',
  agent: 'a',
  diff: { additions: 1, deletions: 1, data: '' },
  author: { login: 'l', avatarUrl: 'https://example.com/a.png' },
  codeRepository: { id: randomUUID(), name: 'n', owner: 'o', baseBranch: 'b', provider: 'p' },
};

const ofMcpServer = (rest: Input) => (to: References) => either('mcpServerId', 'McpServer', to.mcpConnectionId, rest);

export const MUTATIONS: Readonly<Record<string, Case>> = {
  createOrganization: undefined,
  createApiKey: undefined,
  createEventDefinition: undefined,
  createSession: undefined,
  createMcpServer: undefined,
  addOrganizationMember: undefined,
  updateOrganization: (to) => either('organizationId', 'Organization', to.organizationId, { name: 'Stolen' }),
  changeOrganizationMemberRole: (to) => either('userId', 'User', to.userId, { role: 'MEMBER' }),
  removeOrganizationMember: (to) => either('userId', 'User', to.userId),
  renameApiKey: (to) => either('apiKeyId', 'ApiKey', to.apiKeyId, { name: 'Stolen' }),
  revokeApiKey: (to) => either('apiKeyId', 'ApiKey', to.apiKeyId),
  updateEventDefinition: ofEvent({ label: 'Stolen' }),
  deleteEventDefinition: ofEvent({}),
  addEventProperty: ofEvent({ label: 'Stolen', type: 'STRING' }),
  updateEventProperty: ofProperty({ label: 'Stolen' }),
  replaceEventPropertyType: ofProperty({ type: 'NUMBER' }),
  deleteEventProperty: ofProperty({}),
  sendEventOccurrences: (to) =>
    to.eventNames.map((eventName) => ({ inputs: [{ eventName, properties: {}, email: 'thief@example.com' }] })),
  registerObjectIdentifiers: undefined,
  updateMcpServer: ofMcpServer({ name: 'Stolen' }),
  deleteMcpServer: ofMcpServer({}),
  authorizeMcpServer: ofMcpServer({}),
  testMcpServer: ofMcpServer({}),
  deleteUser: (to) => either('userId', 'User', to.userId),
  cancelUserDeletion: (to) => [
    { deletionJobId: to.deletionJobId },
    { deletionJobId: globalId('DeletionJob', to.deletionJobId) },
  ],
  updateSession: ofSession({ title: 'Stolen' }),
  pinSession: ofSession({ isPinned: true }),
  transitionSession: ofSession({ state: 'CANCELLED' }),
  appendSessionEvents: ofSession({
    events: [{ eventType: 'message', provider: 'anthropic', eventData: { type: 'message' } }],
  }),
  recordArtifact: ofSession({ type: 'PLAN' }),
  recordPullRequest: (to) => [{ artifactId: to.artifactId, ...PULL_REQUEST }],
};

export const QUERIES: Readonly<Record<string, ((to: References) => string[]) | undefined>> = {
  apiLifecycle: undefined,
  viewer: undefined,
  eventDefinitionNamePreview: undefined,
  eventDefinition: (to) => to.eventNames.map((name) => `eventDefinition(name: "${name}") { __typename }`),
  deleteEventDefinitionPreview: (to) =>
    to.eventNames.map((name) => `deleteEventDefinitionPreview(eventName: "${name}") { __typename }`),
  session: (to) => [to.sessionId, globalId('Session', to.sessionId)].map((id) => `session(id: "${id}") { id title }`),
  deletionJob: (to) => [`deletionJob(id: "${to.deletionJobId}") { __typename }`],
  mcpServer: (to) =>
    [to.mcpConnectionId, globalId('McpServer', to.mcpConnectionId)].map(
      (id) => `mcpServer(mcpServerId: "${id}") { __typename }`,
    ),
  node: (to) => nodeIds(to).map((id) => `node(id: "${id}") { id __typename }`),
  nodes: (to) => [`nodes(ids: ${JSON.stringify(nodeIds(to))}) { id __typename }`],
  sessionEvents: (to) =>
    [to.sessionId, globalId('Session', to.sessionId)].map((id) => `sessionEvents(sessionId: "${id}") { __typename }`),
};

/** Of every type that `node` finds. */
export const nodeIds = (to: References) => [
  globalId('Organization', to.organizationId),
  globalId('User', to.userId),
  globalId('ApiKey', to.apiKeyId),
  globalId('Session', to.sessionId),
  globalId('Artifact', to.artifactId),
  globalId('McpServer', to.mcpConnectionId),
  globalId('DeletionJob', to.deletionJobId),
  globalId('SessionEvent', `${to.sessionId}:1`),
  globalId('EventOccurrence', to.occurrenceKey),
  ...to.eventNames.map((name) => globalId('EventDefinition', name)),
];

/** Values of the path's parameters; undefined for routes without. */
export const PARAMETERS: Readonly<Record<string, (to: References) => string[]>> = {
  apiKeyId: (to) => [to.apiKeyId, to.apiKeyId.toUpperCase()],
  sessionId: (to) => [to.sessionId, to.sessionId.toUpperCase()],
  mcpConnectionId: (to) => [to.mcpConnectionId, to.mcpConnectionId.toUpperCase()],
  userId: (to) => [to.userId, to.userId.toUpperCase()],
  eventName: (to) => [...to.eventNames],
  propertyName: (to) => [to.property],
  broadcast_guid: (to) => [to.broadcastGuid, to.broadcastGuid.toUpperCase()],
};

export interface RestCase {
  readonly method: string;
  readonly path: string;
  readonly body?: object;
  readonly headers?: Record<string, string>;
}

const events = '/events/2026-03';

/** References that stand elsewhere than in a path. */
export const BESIDE_PATHS: Readonly<Record<string, (to: References) => RestCase[]>> = {
  'the channel of a broadcast': ({ channelGuid }) => [
    { method: 'POST', path: '/broadcast/v1/broadcasts', body: { channelGuid, content: { body: 'Hello' } } },
  ],
  'the cursor of broadcasts': ({ broadcastGuid }) => [
    { method: 'GET', path: `/broadcast/v1/broadcasts?after=${broadcastGuid}` },
  ],
  'the event of an occurrence': ({ eventNames }) =>
    eventNames.flatMap((eventName) => {
      const occurrence = { eventName, properties: {}, email: 'thief@example.com' };
      return [
        { method: 'POST', path: `${events}/send`, body: occurrence },
        { method: 'POST', path: `${events}/send/batch`, body: { inputs: [occurrence] } },
      ];
    }),
  'the property in a body': ({ eventNames, property }) =>
    eventNames.map((eventName) => ({
      method: 'PATCH',
      path: `${events}/event-definitions/${eventName}/property`,
      body: { name: property, label: 'Stolen' },
    })),
  'the organization of a header': ({ organizationId }) => [
    { method: 'POST', path: `${events}/send`, body: {}, headers: { 'X-Organization-Id': organizationId } },
  ],
};
