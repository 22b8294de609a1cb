import { randomUUID } from 'node:crypto';
import { isObject } from '../../../src/core/is-object.ts';
import { describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { STDIO, createConnection } from '../../support/fixtures/mcp-connections.ts';
import {
  PROJECT_ID,
  PULL_REQUEST_ID,
  REPOSITORY_ID,
  pullRequestInput,
  SOURCE_ID,
  createSession,
  moveTo,
  mutate,
} from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway();

const AT = new Date('2026-03-01T10:20:30.500Z');
const patch = (key: string, sessionId: string, body: unknown) =>
  gateway.rest<Record<string, unknown>>('PATCH', `/v1/sessions/${sessionId}`, { key, body });

describe('the document', () => {
  test('a new session has every documented field, with its default', async () => {
    const { key } = await gateway.createKey();
    gateway.setClock(AT);
    const id = await createSession(gateway, key).finally(() => gateway.setClock(undefined));
    const { status, body } = await patch(key, id, {});
    expect(status).toBe(200);
    const source = body['sessionSource'] as { id: string };
    expect(body).toStrictEqual({
      id,
      agent: null,
      agentId: null,
      artifactType: null,
      baseBranch: null,
      branchName: null,
      targetBranch: null,
      createdAt: AT.toISOString(),
      updatedAt: AT.toISOString(),
      lastQueuedAt: AT.toISOString(),
      lastSeenAt: AT.toISOString(),
      externalId: null,
      externalUrl: null,
      kind: 'agent',
      level: 0,
      mcpServers: [],
      mode: 'normal',
      projectId: null,
      sandboxSize: null,
      sessionType: 'Chat',
      title: 'Mend the test',
      description: null,
      visibility: 'private',
      htmlUrl: `http://127.0.0.1:4000/sessions/${id}`,
      isPinned: false,
      diffSummary: null,
      artifacts: [],
      project: null,
      sessionSource: { id: source.id, name: 'API', type: 'api', repositories: [] },
      sourcePullRequest: null,
      state: {
        isQueued: true,
        isCancelled: false,
        isCompleted: false,
        isFailed: false,
        inProgress: false,
        current: 'queued',
      },
    });
  });

  test('both APIs return the same for a session with all fields', async () => {
    const { key } = await gateway.createKey();
    const agentId = randomUUID();
    const server = await createConnection(gateway, key, STDIO);
    const id = await createSession(gateway, key, {
      description: 'What it does',
      kind: 'review',
      sessionType: 'TERMINAL',
      mode: 'PLANNING',
      visibility: 'PUBLIC',
      level: 7,
      agent: 'coder',
      agentId,
      agentOptions: { reasoningLevel: 'high', goal: { enabled: true, objective: 'green' } },
      artifactType: 'PULL_REQUEST',
      baseBranch: 'main',
      branchName: 'fix',
      targetBranch: 'release',
      // The input has upper case; answers always have lower case.
      project: { id: PROJECT_ID.toUpperCase(), name: 'Shop', icon: 'BUG', color: 'PINK' },
      sandboxSize: 'XXL',
      externalId: 'E-1',
      externalUrl: 'https://example.com/e/1',
      mcpServers: [server.body.connection.id],
      source: {
        id: SOURCE_ID,
        name: 'Chat',
        type: 'slack',
        repositories: [{ id: REPOSITORY_ID, name: 'shop', provider: 'github' }],
      },
      sourcePullRequest: {
        id: PULL_REQUEST_ID,
        url: 'https://example.com/pr/1',
        title: 'First',
        status: 'OPEN',
        isDraft: true,
      },
      diffSummary: { additions: 3, deletions: 4 },
    });
    const { artifact } = await mutate<{ artifact: { databaseId: string } }>(
      gateway,
      key,
      'recordArtifact',
      { sessionId: id, type: 'PLAN' },
      'artifact { databaseId }',
    );
    await mutate(gateway, key, 'recordPullRequest', pullRequestInput(artifact.databaseId));
    const { body } = await patch(key, id, {});
    const query = `query($id: ID!) { session(id: $id) {
      id: databaseId agent agentId artifactType baseBranch branchName targetBranch createdAt updatedAt lastQueuedAt lastSeenAt externalId externalUrl kind level mode
      projectId sandboxSize sessionType title description visibility htmlUrl mcpServers { databaseId } isPinned diffSummary { additions deletions }
      artifacts(first: 5) { nodes { id: databaseId type createdAt updatedAt pullRequests(first: 5) { nodes { id: databaseId url title status isDraft sourceBranch baseBranch
        headSha createdAt updatedAt agent diff { additions deletions data } author { avatarUrl login } codeRepository { id: databaseId name owner baseBranch provider } } } } }
      project { id: databaseId name icon color } sessionSource { id: databaseId name type repositories { id: databaseId name provider } }
      sourcePullRequest { id: databaseId url title status isDraft }
      state { isQueued isCancelled isCompleted isFailed inProgress current } } }`;
    const answer = await gateway.graphql<{ session: object }>(key, query, { id });
    expect(answer.errors).toBeUndefined();
    const mcpServers = (body as { mcpServers: string[] }).mcpServers.map((databaseId) => ({ databaseId }));
    expect(toRestValues(answer.data?.session)).toEqual({ ...body, mcpServers });
    expect(body).toMatchObject({
      agentId,
      artifactType: 'PullRequest',
      projectId: PROJECT_ID,
      project: { id: PROJECT_ID, name: 'Shop', icon: 'bug', color: 'pink' },
      artifacts: [
        {
          id: artifact.databaseId,
          type: 'Plan',
          pullRequests: [{ title: 'A change', diff: { additions: 1, deletions: 2, data: '+a' } }],
        },
      ],
      sourcePullRequest: { status: 'open' },
    });
    expect(
      (
        await gateway.graphql(
          key,
          'query($id: ID!) { session(id: $id) { agentOptions { reasoningLevel goal { enabled objective } } } }',
          { id },
        )
      ).data,
    ).toEqual({
      session: { agentOptions: { reasoningLevel: 'high', goal: { enabled: true, objective: 'green' } } },
    });
  });

  test('null in a creation is the same as an absent field, even in agentOptions', async () => {
    const { key } = await gateway.createKey();
    for (const [agentOptions, expected] of [
      [
        { reasoningLevel: null, goal: null },
        { reasoningLevel: null, goal: null },
      ],
      [
        { reasoningLevel: 'high', goal: { enabled: null, objective: null } },
        { reasoningLevel: 'high', goal: { enabled: null, objective: null } },
      ],
    ] as const) {
      const id = await createSession(gateway, key, { agentOptions });
      const read =
        'query($id: ID!) { session(id: $id) { agentOptions { reasoningLevel goal { enabled objective } } } }';
      expect(await gateway.graphql(key, read, { id })).toMatchObject({ data: { session: { agentOptions: expected } } });
    }
  });

  test('the booleans of the state follow from the current state', async () => {
    const { key } = await gateway.createKey();
    const id = await createSession(gateway, key);
    const flags = { isQueued: false, isCancelled: false, isCompleted: false, isFailed: false, inProgress: false };
    await moveTo(gateway, key, id, 'IN_PROGRESS');
    expect((await patch(key, id, {})).body['state']).toEqual({ ...flags, inProgress: true, current: 'inProgress' });
    await moveTo(gateway, key, id, 'FAILED');
    expect((await patch(key, id, {})).body['state']).toEqual({ ...flags, isFailed: true, current: 'failed' });
    await moveTo(gateway, key, id, 'QUEUED', 'CANCELLED');
    expect((await patch(key, id, {})).body['state']).toEqual({ ...flags, isCancelled: true, current: 'cancelled' });
  });
});

describe('who may read and change a session', () => {
  const read = 'query($id: ID!) { session(id: $id) { visibility } }';

  test('creator and admins can change a session, all members can read a public one; otherwise the same 404 as for a missing one', async () => {
    const admin = await gateway.createKey();
    const { organization } = admin;
    const creator = await gateway.createKey({ organization });
    const member = await gateway.createKey({ organization });
    const foreign = await gateway.createKey();
    const id = await createSession(gateway, creator.key);
    const missing = await patch(member.key, randomUUID(), { level: 1 });
    expect([missing.status, missing.text]).toEqual([404, '{"error":"session not found","details":{"type":"Session"}}']);
    const headersOf = ({ headers }: { headers: Headers }) => [...headers].filter(([name]) => name !== 'x-request-id');
    for (const visibility of ['private', 'public'] as const) {
      expect((await patch(creator.key, id, { visibility })).status).toBe(200);
      expect((await patch(admin.key, id, { level: 2 })).status).toBe(200);
      for (const { key } of visibility === 'private' ? [member, foreign] : [foreign]) {
        const answer = await patch(key, id, { level: 3 });
        expect([answer.status, answer.text, headersOf(answer)]).toEqual([404, missing.text, headersOf(missing)]);
        expect((await gateway.graphql(key, read, { id })).data).toEqual({ session: null });
        expect(await mutate(gateway, key, 'updateSession', { sessionId: id, level: 3 })).toEqual({
          __typename: 'NotFoundError',
          message: 'session not found',
          code: 'NOT_FOUND',
          path: null,
        });
      }
    }
    const forbidden = 'only the creator of the session and administrators can change it';
    expect(await patch(member.key, id, { level: 3 })).toMatchObject({
      status: 403,
      text: JSON.stringify({ error: forbidden, details: { missing: { scopes: [], role: 'admin' } } }),
    });
    for (const [name, input] of [
      ['updateSession', {}],
      ['pinSession', {}],
      ['transitionSession', { state: 'CANCELLED' }],
      ['recordArtifact', { type: 'PLAN' }],
    ] as const) {
      expect(await mutate(gateway, member.key, name, { sessionId: id, ...input })).toEqual({
        __typename: 'ForbiddenError',
        message: forbidden,
        code: 'FORBIDDEN',
        path: null,
      });
    }
    expect((await gateway.graphql(member.key, read, { id })).data).toEqual({ session: { visibility: 'PUBLIC' } });
    expect((await patch(creator.key, id, {})).body['level']).toBe(2);
  });

  test('changing needs sessions.write, reading sessions.read, and recording sessions.record', async () => {
    const { key, organization } = await gateway.createKey();
    const id = await createSession(gateway, key);
    const bare = (scopes: ['social' | 'sessions.read' | 'sessions.write' | 'sessions.record']) =>
      gateway.createKey({ organization, role: 'admin', scopes });
    const [none, reader, writer, recorder] = [
      await bare(['social']),
      await bare(['sessions.read']),
      await bare(['sessions.write']),
      await bare(['sessions.record']),
    ];
    for (const holder of [none, reader, recorder])
      expect(await patch(holder.key, id, {})).toMatchObject({
        status: 403,
        text: expect.stringMatching(/^{"error":"the API key lacks the scope sessions.write",/),
      });
    expect((await patch(writer.key, id, {})).status).toBe(200);
    for (const holder of [none, writer, recorder])
      expect((await gateway.graphql(holder.key, read, { id })).errors?.[0]).toMatchObject({
        message: 'the API key lacks the scope sessions.read',
        extensions: { code: 'FORBIDDEN' },
      });
    const lacking = { __typename: 'ForbiddenError', message: 'the API key lacks the scope sessions.record' };
    for (const holder of [none, reader, writer]) {
      expect(await mutate(gateway, holder.key, 'createSession', { title: 'T' })).toMatchObject(lacking);
      expect(
        await mutate(gateway, holder.key, 'transitionSession', { sessionId: id, state: 'CANCELLED' }),
      ).toMatchObject(lacking);
      expect(await mutate(gateway, holder.key, 'recordArtifact', { sessionId: id, type: 'PLAN' })).toMatchObject(
        lacking,
      );
    }
  });

  test('400 for a caller who acts in no organization', async () => {
    const first = await gateway.createKey();
    await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [first.keyId]);
    await gateway.createKey({ email: first.email });
    expect(await patch(first.key, randomUUID(), {})).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining('missing required organization information') },
    });
  });
});

/** The enum values of REST for those of GraphQL, if they are not the same in lower case. */
const REST_VALUES: Record<string, string> = {
  PULL_REQUEST: 'PullRequest',
  PLAN: 'Plan',
  TERMINAL: 'Terminal',
  IN_PROGRESS: 'inProgress',
};
const ENUMS = new Set([
  'artifactType',
  'type',
  'mode',
  'sandboxSize',
  'sessionType',
  'visibility',
  'status',
  'icon',
  'color',
  'current',
]);

function toRestValues(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (name, item: unknown) =>
    // A connection is a list in REST.
    isObject(item) && Array.isArray(item['nodes'])
      ? item['nodes']
      : ENUMS.has(name) && typeof item === 'string'
        ? (REST_VALUES[item] ?? item.toLowerCase())
        : item,
  ) as unknown;
}
