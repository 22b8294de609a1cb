import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { takesBody } from '../src/core/route.ts';
import { routes } from '../src/gateway/routes.ts';
import { schema } from '../src/gateway/schema.ts';
import { type TestGateway, startTestGateway } from './helpers/gateway.ts';
import { dumpTables, send } from './helpers/peer.ts';

/** What operations refer to: of the other organization, or of nobody. */
interface References {
  readonly organizationId: string;
  readonly userId: string;
  readonly apiKeyId: string;
  readonly sessionId: string;
  readonly artifactId: string;
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

const globalId = (type: string, id: string) => Buffer.from(`${type}:${id}`).toString('base64');
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

const MUTATIONS: Readonly<Record<string, Case>> = {
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

const QUERIES: Readonly<Record<string, ((to: References) => string[]) | undefined>> = {
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

const nodeIds = (to: References) => [
  globalId('Organization', to.organizationId),
  globalId('User', to.userId),
  globalId('ApiKey', to.apiKeyId),
  globalId('Session', to.sessionId),
  globalId('Artifact', to.artifactId),
  globalId('McpServer', to.mcpConnectionId),
  globalId('DeletionJob', to.deletionJobId),
  ...to.eventNames.map((name) => globalId('EventDefinition', name)),
];

/** Values of the path's parameters; undefined for routes without. */
const PARAMETERS: Readonly<Record<string, (to: References) => string[]>> = {
  apiKeyId: (to) => [to.apiKeyId, to.apiKeyId.toUpperCase()],
  sessionId: (to) => [to.sessionId, to.sessionId.toUpperCase()],
  mcpConnectionId: (to) => [to.mcpConnectionId, to.mcpConnectionId.toUpperCase()],
  userId: (to) => [to.userId, to.userId.toUpperCase()],
  eventName: (to) => [...to.eventNames],
  propertyName: (to) => [to.property],
  broadcast_guid: (to) => [to.broadcastGuid, to.broadcastGuid.toUpperCase()],
};

let gateway: TestGateway;
let attackers: readonly { key: string }[];
let victim: References;
let nobody: References;

const gql = async (key: string, query: string, variables: object = {}) => {
  const { data, errors } = await gateway.graphql<Record<string, never>>(key, query, { ...variables });
  if (!data) throw new Error(JSON.stringify(errors));
  return data as unknown;
};

beforeAll(async () => {
  gateway = await startTestGateway();
  const owner = await gateway.createKey();
  const member = await gateway.createKey({ organization: owner.organization });
  const thief = await gateway.createKey();
  const accomplice = await gateway.createKey({ organization: thief.organization });
  // A key that is bound to its organization, and one that reaches all of its user's.
  const unbound = await gateway.createKey({ organization: thief.organization, role: 'admin' });
  await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [unbound.keyId]);
  attackers = [{ key: thief.key }, { key: accomplice.key }, { key: unbound.key }];
  const definition = await gateway.rest<{ id: string; fullyQualifiedName: string }>(
    'POST',
    '/events/2026-03/event-definitions',
    {
      key: owner.key,
      body: {
        label: 'Secret plan',
        name: 'secret_plan',
        propertyDefinitions: [{ label: 'Secret amount', name: 'secret_amount', type: 'string' }],
      },
    },
  );
  const session = (await gql(
    owner.key,
    'mutation { createSession(input: {title: "Secret session", visibility: PUBLIC}) { ... on CreateSessionPayload { session { databaseId } } } }',
  )) as { createSession: { session: { databaseId: string } } };
  const sessionId = session.createSession.session.databaseId;
  const artifact = (await gql(
    owner.key,
    'mutation($input: RecordArtifactInput!) { recordArtifact(input: $input) { ... on RecordArtifactPayload { artifact { databaseId } } } }',
    { input: { sessionId, type: 'PLAN' } },
  )) as { recordArtifact: { artifact: { databaseId: string } } };
  const connection = await gateway.rest<{ connection: { id: string } }>('POST', '/v1/mcp-connections', {
    key: owner.key,
    body: { type: 'stdio', name: 'Secret server', command: 'secret-command' },
  });
  const leaver = await gateway.createKey({ organization: owner.organization });
  const deletion = await gateway.rest<{ deletionJobId: string }>('DELETE', `/v1/users/${leaver.userId}`, {
    key: leaver.key,
    body: {},
  });
  const channels = await gateway.rest<{ channelGuid: string }[]>(
    'GET',
    '/broadcast/v1/channels/setting/publish/current',
    { key: owner.key },
  );
  const broadcast = await gateway.rest<{ broadcastGuid: string }>('POST', '/broadcast/v1/broadcasts', {
    key: owner.key,
    body: { channelGuid: channels.body[0]?.channelGuid, content: { body: 'Secret message' } },
  });
  victim = {
    broadcastGuid: broadcast.body.broadcastGuid,
    mcpConnectionId: connection.body.connection.id,
    deletionJobId: deletion.body.deletionJobId,
    organizationId: owner.organizationId,
    userId: member.userId,
    apiKeyId: member.keyId,
    sessionId,
    artifactId: artifact.recordArtifact.artifact.databaseId,
    eventNames: ['secret_plan', definition.body.fullyQualifiedName, definition.body.id],
    property: 'secret_amount',
  };
  nobody = {
    broadcastGuid: randomUUID(),
    mcpConnectionId: randomUUID(),
    deletionJobId: randomUUID(),
    organizationId: randomUUID(),
    userId: randomUUID(),
    apiKeyId: randomUUID(),
    sessionId: randomUUID(),
    artifactId: randomUUID(),
    eventNames: ['absent_plan', definition.body.fullyQualifiedName.replace('secret_plan', 'absent_plan'), randomUUID()],
    property: 'absent_amount',
  };
  // Each key is used once beforehand: `lastUsedAt` is the one thing that a refused request may write.
  for (const { key } of attackers) await gql(key, '{ __typename }');
});
afterAll(() => gateway.close());

/** An answer with what was referred to taken out, so that two that say the same are the same text. */
function anonymous(text: string, { eventNames, property, ...ids }: References): string {
  const values = [...eventNames, property, ...Object.values(ids)].toSorted((a, b) => b.length - a.length);
  return values.reduce((rest, value) => rest.replaceAll(value, '…').replaceAll(value.toUpperCase(), '…'), text);
}

/** Sends the same to what is foreign and to what is missing. Answers whatever changed, or tells the two apart, or is no refusal: nothing. */
async function leaks(run: (to: References) => Promise<string[]>, refusal: RegExp): Promise<string[]> {
  const before = await dumpTables(gateway);
  const foreign = await run(victim);
  const missing = await run(nobody);
  const changed = (await dumpTables(gateway)) === before ? [] : ['something changed'];
  if (foreign.length === 0) return ['nothing was tried'];
  const different = foreign.filter(
    (text, index) => anonymous(text, victim) !== anonymous(missing[index] ?? '', nobody),
  );
  return [...changed, ...different, ...foreign.filter((text) => !refusal.test(text))];
}

const headers = { 'X-Request-Id': 'same', 'Content-Type': 'application/json' };

describe('A1: nothing of another organization can be seen or changed, and foreign is as missing, byte for byte', () => {
  test('every mutation, query, subscription and path parameter has its case here', () => {
    const fieldsOf = (...types: ReturnType<typeof schema.getQueryType>[]) =>
      types.flatMap((type) => Object.keys(type?.getFields() ?? {})).toSorted();
    expect(Object.keys(MUTATIONS).toSorted()).toEqual(fieldsOf(schema.getMutationType()));
    expect(Object.keys(QUERIES).toSorted()).toEqual(fieldsOf(schema.getQueryType(), schema.getSubscriptionType()));
    const parameters = new Set(
      routes.flatMap(({ path }) => [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => name)),
    );
    expect(new Set(Object.keys(PARAMETERS))).toEqual(parameters);
  });

  test.each(Object.entries(MUTATIONS).flatMap(([name, inputs]) => (inputs ? [[name, inputs] as const] : [])))(
    'mutation %s',
    async (name, inputs) => {
      const query = `mutation($input: ${name.charAt(0).toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { __typename ... on Error { message code path } } }`;
      for (const { key } of attackers) {
        const run = async (to: References) => {
          const answers = inputs(to).map((input) =>
            send(gateway, 'POST', '/graphql', { key, headers, body: JSON.stringify({ query, variables: { input } }) }),
          );
          return (await Promise.all(answers)).map(({ status, text }) => `${status} ${text}`);
        };
        expect(await leaks(run, /"code":"(?:NOT_FOUND|FORBIDDEN)"/)).toEqual([]);
      }
    },
  );

  test.each(Object.entries(QUERIES).flatMap(([name, fields]) => (fields ? [[name, fields] as const] : [])))(
    'query %s',
    async (name, fields) => {
      const isSubscription = schema.getSubscriptionType()?.getFields()[name] !== undefined;
      for (const { key } of attackers) {
        const run = async (to: References) => {
          const answers = fields(to).map((field) =>
            send(gateway, 'POST', '/graphql', {
              key,
              headers: isSubscription ? { ...headers, Accept: 'text/event-stream' } : headers,
              body: JSON.stringify({ query: `${isSubscription ? 'subscription' : 'query'} { ${field} }` }),
            }),
          );
          return (await Promise.all(answers)).map(({ status, text }) => `${status} ${text}`);
        };
        expect(await leaks(run, /"code":"NOT_FOUND"|:null|\[(?:null,?)+\]/)).toEqual([]);
      }
    },
  );

  const withParameters = routes.filter(({ path }) => path.includes(':'));
  test.each(withParameters.map((route) => [route.method, route.path, route] as const))(
    '%s %s',
    async (_, __, route) => {
      const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name]) => name ?? '');
      for (const { key } of attackers) {
        const run = async (to: References) => {
          const paths = names.reduce(
            (made, name) =>
              made.flatMap((path) => (PARAMETERS[name]?.(to) ?? []).map((value) => path.replace(`:${name}`, value))),
            [route.path],
          );
          const example = route.examples?.input ?? {};
          const answers = paths.map((path) =>
            send(gateway, route.method, path, {
              key,
              headers,
              ...(takesBody(route) && { body: JSON.stringify(example) }),
            }),
          );
          return (await Promise.all(answers)).map(({ status, text }) => `${status} ${text}`);
        };
        expect(await leaks(run, /^40[34] /)).toEqual([]);
      }
    },
  );

  test('lists, searches and everything below viewer show only what is the caller’s', async () => {
    const query = `{ viewer { user { email } organizations { nodes { slug members { nodes { user { email } } } } }
      organization { memberCount members { nodes { user { email } } } apiKeys(includeRevoked: true) { nodes { databaseId } } eventDefinitions(search: "plan") { totalCount nodes { name } } sessions { nodes { databaseId title } } } } }`;
    for (const { key } of attackers) {
      const own = JSON.stringify(await gql(key, query));
      const list = await send(
        gateway,
        'GET',
        '/events/2026-03/event-definitions?searchString=plan&includeProperties=true',
        { key },
      );
      expect(list.body).toEqual({ results: [], total: 0 });
      for (const value of [...Object.values(victim).flat(), 'Secret']) expect(own).not.toContain(value);
    }
  });

  test('a name that another organization uses is free', async () => {
    const answer = await gateway.rest('POST', '/events/2026-03/event-definitions', {
      key: attackers[0]?.key ?? '',
      body: { label: 'Secret plan', name: 'secret_plan' },
    });
    expect(answer.status).toBe(201);
  });
});
