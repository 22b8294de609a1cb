import { randomUUID } from 'node:crypto';
import { isObjectType } from 'graphql';
import { beforeAll, expect, test } from 'vitest';
import type { Scope } from '../../../src/core/access.ts';
import { CONTENT_COLUMNS } from '../../../src/domains/sessions/content-columns.ts';
import { READ_SESSION_CONTENT } from '../../../src/domains/sessions/policy.ts';
import { schema } from '../../../src/gateway/schema.ts';
import { caseFaults } from '../../support/completeness.ts';
import { type TestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession } from '../../support/fixtures/sessions.ts';

/** Scopes also apply to answers: a key that can only record sessions cannot read their content. */

const gateway = useTestGateway();
type Issued = Awaited<ReturnType<TestGateway['createKey']>>;
let owner: Issued;
let sessionId: string;
let serverId: string;
beforeAll(async () => {
  owner = await gateway.createKey();
  const body = { type: 'stdio', name: 'Secret server', command: 'mcp' };
  const createdConnection = await gateway.rest<{ connection: { id: string } }>('POST', '/v1/mcp-connections', {
    key: owner.key,
    body,
  });
  serverId = createdConnection.body.connection.id;
  sessionId = await createSession(gateway, owner.key, { title: 'Shown' });
  const content = { description: 'Not shown', mcpServers: [serverId] };
  await gateway.rest('PATCH', `/v1/sessions/${sessionId}`, { key: owner.key, body: content });
});

const keyWith = async (...scopes: Scope[]) =>
  (await gateway.createKey({ email: owner.email, organization: owner.organization, scopes })).key;

const CONTENT = [
  'description',
  'richContent',
  'agentOptions { reasoningLevel }',
  'projectId',
  'project { name }',
  'externalId',
  'externalUrl',
  'diffSummary { additions }',
  'artifacts { nodes { databaseId } }',
  'sourcePullRequest { title }',
  'usage { turns }',
  'hold { reason }',
  'handled { at }',
];
const nameOf = (field: string) => field.split(' ')[0] ?? '';

/** The fields of Session that are no content: a key that can only record sessions reads them if it may read the objects in them. */
const NO_CONTENT = `
  accesses agent agentId artifactType baseBranch branchName continuedFrom createdAt creator databaseId deletionPreview entries entry events failureEvent failureReason htmlUrl id
  isPinned kind lastQueuedAt lastSeenAt level mcpServers mode outline redactedAt sandboxSize sessionType sessionSource source
  state targetBranch title turns updatedAt viewerCanDelete viewerCanHold viewerCanRecord viewerCanUpdate visibility wholeOutline
`
  .trim()
  .split(/\s+/);

test('each field of Session is content or not, and each column with content is content in both APIs', () => {
  const type = schema.getType('Session');
  const fields = isObjectType(type) ? Object.values(type.getFields()) : [];
  const content = fields
    .filter(({ extensions }) => extensions['access'] === READ_SESSION_CONTENT)
    .map(({ name }) => name);
  const listed = [...NO_CONTENT, ...CONTENT.map(nameOf)];
  expect(
    caseFaults(
      'CONTENT or NO_CONTENT in test/domains/sessions/scopes.test.ts',
      listed,
      fields.map(({ name }) => name),
    ),
  ).toBe('');
  expect(content.toSorted()).toEqual(CONTENT.map(nameOf).toSorted());
  // In REST the columns are null, and objects of other tables are absent.
  const others = ['artifacts', 'handled', 'hold', 'project', 'usage'];
  const where = 'CONTENT_COLUMNS in src/domains/sessions/content-columns.ts';
  expect(caseFaults(where, [...CONTENT_COLUMNS, ...others], content)).toBe('');
});

/** Runs a mutation. Returns the session in its payload, and the fields of it that are refused. */
async function shown(key: string, mutation: string, input: object, fields: string) {
  const type = `${mutation[0]?.toUpperCase()}${mutation.slice(1)}`;
  const { data, errors = [] } = await gateway.graphql<Record<string, { session: Record<string, unknown> }>>(
    key,
    `mutation($input: ${type}Input!) { ${mutation}(input: $input) { ... on ${type}Payload { session { ${fields} } } ... on Error { message } } }`,
    { input },
  );
  return {
    session: data?.[mutation]?.session,
    refused: errors.map(({ path, extensions }) => [path?.at(-1), extensions?.['code']] as const),
  };
}

test('GraphQL: for a key with only sessions.record, content of the session in a payload is null with an error', async () => {
  const key = await keyWith('sessions.record');
  const fields = ['title', 'state { current }', 'baseBranch', 'mcpServers { name }', ...CONTENT].join(' ');
  await gateway.rest('PATCH', `/v1/sessions/${sessionId}`, { key: owner.key, body: { baseBranch: 'main' } });
  const { session, refused } = await shown(key, 'transitionSession', { sessionId, state: 'IN_PROGRESS' }, fields);
  const hidden = ['mcpServers', ...CONTENT.map(nameOf)];
  expect(session).toEqual({
    title: 'Shown',
    state: { current: 'IN_PROGRESS' },
    baseBranch: 'main',
    ...Object.fromEntries(hidden.map((name) => [name, null])),
  });
  expect(new Map(refused)).toEqual(new Map(hidden.map((name) => [name, 'FORBIDDEN'])));
});

test('GraphQL: with sessions.write or sessions.read, a key can read all content in a payload', async () => {
  const fields = [...CONTENT].join(' ');
  const writer = await shown(await keyWith('sessions.write'), 'updateSession', { sessionId }, fields);
  expect([writer.refused, writer.session?.['description']]).toEqual([[], 'Not shown']);
  const reader = await keyWith('sessions.record', 'sessions.read');
  const created = await shown(reader, 'createSession', { title: 'New', description: 'Said' }, fields);
  expect([created.refused, created.session?.['description']]).toEqual([[], 'Said']);
});

test('GraphQL: for a key with only sessions.record, the pull requests of a recorded artifact are null with an error', async () => {
  const { data, errors } = await gateway.graphql<{ recordArtifact: { artifact: object } }>(
    await keyWith('sessions.record'),
    `mutation($input: RecordArtifactInput!) { recordArtifact(input: $input) { ... on RecordArtifactPayload { artifact { type pullRequests { nodes { title } } } } } }`,
    { input: { sessionId, type: 'PULL_REQUEST' } },
  );
  expect(data?.recordArtifact.artifact).toEqual({ type: 'PULL_REQUEST', pullRequests: null });
  expect(errors).toMatchObject([{ extensions: { code: 'FORBIDDEN' } }]);
});

test('GraphQL: node returns a project only for keys with sessions.read', async () => {
  const project = { id: randomUUID(), name: 'Not shown either' };
  await createSession(gateway, owner.key, { title: 'In a project', project });
  const id = Buffer.from(`Project:${project.id}`).toString('base64');
  const seen = async (...scopes: Scope[]) => {
    const query = 'query($id: ID!) { node(id: $id) { ... on Project { name } } }';
    return (await gateway.graphql(await keyWith(...scopes), query, { id })).data;
  };
  expect(await seen('sessions.read')).toEqual({ node: { name: project.name } });
  expect(await seen('sessions.record')).toEqual({ node: null });
  expect(await seen('social')).toEqual({ node: null });
});

interface Document {
  readonly description: string | null;
  readonly externalId: string | null;
}

test('REST: content is null for a key with only sessions.record, and present with sessions.read or sessions.write', async () => {
  const post = async (key: string) => {
    const body = { title: 'New', description: 'Said', externalId: 'T-1' };
    const { status, body: answer } = await gateway.rest<Document>('POST', '/v1/sessions', { key, body });
    return [status, answer.description, answer.externalId];
  };
  expect(await post(await keyWith('sessions.record'))).toEqual([201, null, null]);
  expect(await post(await keyWith('sessions.record', 'sessions.read'))).toEqual([201, 'Said', 'T-1']);
  const key = await keyWith('sessions.write');
  const patched = await gateway.rest<Document>('PATCH', `/v1/sessions/${sessionId}`, { key, body: {} });
  expect([patched.status, patched.body.description]).toEqual([200, 'Not shown']);
});

test('without mcp_connections.read, a key can give ids of MCP connections, but existing and unknown names get the same refusal', async () => {
  const key = await keyWith('sessions.record', 'sessions.write');
  const create = async (mcpServers: string[]) => {
    const { status, body } = await gateway.rest<{ error?: string }>('POST', '/v1/sessions', {
      key,
      body: { title: 'Probe', mcpServers },
    });
    return [status, body.error];
  };
  const refusal = [403, 'mcpServers: an API key without the scope mcp_connections.read must give ids, not names'];
  expect(await create(['Secret server'])).toEqual(refusal);
  expect(await create(['No such server'])).toEqual(refusal);
  expect(await create([serverId])).toEqual([201, undefined]);
});
