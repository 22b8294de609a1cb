import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from './helpers/gateway.ts';
import {
  PROJECT_ID,
  PULL_REQUEST_ID,
  REPOSITORY_ID,
  SOURCE_ID,
  createSession,
  moveTo,
  mutate,
} from './helpers/sessions.ts';

let gateway: TestGateway;
let key: string;
beforeAll(async () => {
  gateway = await startTestGateway({ RATE_LIMIT_PER_MINUTE: '0' });
  ({ key } = await gateway.createKey());
});
afterAll(() => gateway.close());

const x = (length: number) => 'x'.repeat(length);

describe('createSession', () => {
  const source = {
    id: SOURCE_ID,
    name: 's',
    type: 't',
    repositories: [{ id: REPOSITORY_ID, name: 'r', provider: 'p' }],
  };
  const sourcePullRequest = { id: PULL_REQUEST_ID, url: 'https://example.com', title: 't', status: 'OPEN' };
  const project = { id: PROJECT_ID, name: 'p' };

  test.each<[object]>([
    [
      {
        title: x(1000),
        description: x(1_000_000),
        kind: x(100),
        level: 100,
        agent: x(500),
        baseBranch: x(500),
        branchName: x(500),
        targetBranch: x(500),
      },
    ],
    [{ projectId: x(500), externalId: x(500), externalUrl: x(2048), htmlUrl: x(2048) }],
    [{ source: { ...source, name: x(500), type: x(100), repositories: Array(100).fill(source.repositories[0]) } }],
    [
      {
        description: null,
        richContent: null,
        kind: null,
        sessionType: null,
        mode: null,
        visibility: null,
        level: null,
        agent: null,
        project: null,
        mcpServers: null,
        source: null,
        diffSummary: null,
      },
    ],
    [
      {
        sourcePullRequest: { ...sourcePullRequest, isDraft: null },
        diffSummary: { additions: 2_147_483_647, deletions: 0 },
      },
    ],
  ])('takes what is within the bounds, and null for absent: %#', async (input) => {
    expect(await createSession(gateway, key, input)).toMatch(/^[0-9a-f-]{36}$/);
  });

  test.each<[object, string]>([
    [{ title: '' }, 'title: must not be empty'],
    [{ title: x(1001) }, 'title: must be at most 1000 characters'],
    [{ description: '' }, 'description: must not be empty'],
    [{ description: x(1_000_001) }, 'description: must be at most 1000000 characters'],
    [{ kind: '' }, 'kind: must not be empty'],
    [{ kind: x(101) }, 'kind: must be at most 100 characters'],
    [{ level: 101 }, 'level: must be at most 100'],
    [{ agent: x(501) }, 'agent: must be at most 500 characters'],
    [{ externalUrl: x(2049) }, 'externalUrl: must be at most 2048 characters'],
    [
      { mcpServers: ['nowhere'] },
      'mcpServers.0: nowhere is neither the id nor the name of an MCP connection that you can see',
    ],
    [{ project: { ...project, name: '' } }, 'project.name: must not be empty'],
    [{ source: { ...source, type: '' } }, 'source.type: must not be empty'],
    [
      { source: { ...source, repositories: Array(101).fill(source.repositories[0]) } },
      'source.repositories: must have at most 100 items',
    ],
    [{ sourcePullRequest: { ...sourcePullRequest, url: '' } }, 'sourcePullRequest.url: must not be empty'],
    [{ diffSummary: { additions: -1, deletions: 0 } }, 'diffSummary.additions: must be at least 0'],
    [{ richContent: { type: 'doc' } }, 'richContent.content: is required'],
  ])('refuses %j', async (input, message) => {
    const count = async () => gateway.dependencies.sql.query('select count(*) from session', []);
    const before = await count();
    const result = await mutate(gateway, key, 'createSession', { title: 'T', ...input });
    expect([result.__typename, result.message]).toEqual(['ValidationError', message]);
    expect(await count()).toEqual(before);
  });

  test('rich text gives the description; a project is created, then brought up to date, within its organization alone', async () => {
    const read = async (as: string, id: string) =>
      (
        await gateway.graphql<{ session: unknown }>(
          as,
          'query($id: ID!) { session(id: $id) { description projectId project { name icon color } } }',
          { id },
        )
      ).data?.session;
    const richContent = { type: 'doc', content: [{ type: 'paragraph', content: [{ type: 'text', text: 'Hello' }] }] };
    const first = await createSession(gateway, key, {
      richContent,
      projectId: 'ignored',
      project: { ...project, name: 'Shop', icon: 'BUG' },
    });
    expect(await read(key, first)).toEqual({
      description: 'Hello',
      projectId: PROJECT_ID,
      project: { name: 'Shop', icon: 'BUG', color: 'NEUTRAL' },
    });
    await createSession(gateway, key, { project: { ...project, name: 'Store', color: 'TEAL' } });
    expect(await read(key, first)).toMatchObject({ project: { name: 'Store', icon: 'FOLDER', color: 'TEAL' } });
    const stranger = await gateway.createKey();
    const theirs = await createSession(gateway, stranger.key, { projectId: PROJECT_ID.toUpperCase() });
    expect(await read(stranger.key, theirs)).toEqual({ description: null, projectId: PROJECT_ID, project: null });
    await createSession(gateway, stranger.key, { project: { ...project, name: 'Other' } });
    expect(await read(stranger.key, theirs)).toMatchObject({ project: { name: 'Other' } });
    expect(await read(key, first)).toMatchObject({ project: { name: 'Store' } });
  });

  test('ten at once that name the same new project: all succeed, and it is one project', async () => {
    const admin = await gateway.createKey();
    const ids = await Promise.all(Array.from({ length: 10 }, () => createSession(gateway, admin.key, { project })));
    expect(new Set(ids).size).toBe(10);
    expect(
      await gateway.dependencies.sql.query('select 1 from project where organization_id = $1', [admin.organizationId]),
    ).toHaveLength(1);
  });
});

describe('transitionSession', () => {
  const STATES = ['QUEUED', 'IN_PROGRESS', 'COMPLETED', 'FAILED', 'CANCELLED'];
  const WAYS: Record<string, string[]> = {
    QUEUED: [],
    IN_PROGRESS: ['IN_PROGRESS'],
    COMPLETED: ['IN_PROGRESS', 'COMPLETED'],
    FAILED: ['IN_PROGRESS', 'FAILED'],
    CANCELLED: ['CANCELLED'],
  };
  const ALLOWED: Record<string, string[]> = {
    QUEUED: ['IN_PROGRESS', 'CANCELLED'],
    IN_PROGRESS: ['COMPLETED', 'FAILED', 'CANCELLED'],
    COMPLETED: ['QUEUED'],
    FAILED: ['QUEUED'],
    CANCELLED: ['QUEUED'],
  };
  const NAMES: Record<string, string> = {
    QUEUED: 'queued',
    IN_PROGRESS: 'inProgress',
    COMPLETED: 'completed',
    FAILED: 'failed',
    CANCELLED: 'cancelled',
  };

  test.each(STATES.flatMap((from) => STATES.map((to) => [from, to] as const)))('%s → %s', async (from, to) => {
    const id = await createSession(gateway, key);
    await moveTo(gateway, key, id, ...(WAYS[from] ?? []));
    const result = await mutate(
      gateway,
      key,
      'transitionSession',
      { sessionId: id, state: to },
      'session { state { current } }',
    );
    const next = ALLOWED[from] ?? [];
    const message = `state: a session that is ${NAMES[from]} can become ${next.map((state) => NAMES[state]).join(' or ')}, not ${NAMES[to]}`;
    const moved = { __typename: 'TransitionSessionPayload', session: { state: { current: to } } };
    expect(result).toEqual(
      next.includes(to) ? moved : { __typename: 'ConflictError', message, code: 'CONFLICT', path: ['state'] },
    );
    const read = await gateway.graphql(key, 'query($id: ID!) { session(id: $id) { state { current } } }', { id });
    expect(read.data).toEqual({ session: { state: { current: next.includes(to) ? to : from } } });
  });

  test('moves the times: last seen and changed always, last queued when queued again', async () => {
    const at = (minute: number) => new Date(Date.UTC(2026, 2, 1, 10, minute));
    const times = async (id: string) =>
      (
        await gateway.graphql<{ session: object }>(
          key,
          'query($id: ID!) { session(id: $id) { createdAt updatedAt lastSeenAt lastQueuedAt } }',
          { id },
        )
      ).data?.session;
    try {
      gateway.setClock(at(0));
      const id = await createSession(gateway, key);
      gateway.setClock(at(1));
      await moveTo(gateway, key, id, 'CANCELLED');
      const iso = (minute: number) => at(minute).toISOString();
      expect(await times(id)).toEqual({
        createdAt: iso(0),
        updatedAt: iso(1),
        lastSeenAt: iso(1),
        lastQueuedAt: iso(0),
      });
      gateway.setClock(at(2));
      await moveTo(gateway, key, id, 'QUEUED');
      expect(await times(id)).toEqual({
        createdAt: iso(0),
        updatedAt: iso(2),
        lastSeenAt: iso(2),
        lastQueuedAt: iso(2),
      });
    } finally {
      gateway.setClock(undefined);
    }
  });

  test('of ten who end it at once one does, and nine are told: 409', async () => {
    const id = await createSession(gateway, key);
    await moveTo(gateway, key, id, 'IN_PROGRESS');
    const results = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        mutate(gateway, key, 'transitionSession', {
          sessionId: id,
          state: ['COMPLETED', 'FAILED', 'CANCELLED'][index % 3],
        }),
      ),
    );
    expect(results.map(({ __typename }) => __typename).toSorted()).toEqual([
      ...Array<string>(9).fill('ConflictError'),
      'TransitionSessionPayload',
    ]);
  });
});

describe('recordArtifact and recordPullRequest', () => {
  const input = {
    url: 'https://example.com/pr/1',
    title: 'First',
    status: 'OPEN',
    isDraft: true,
    sourceBranch: 'fix',
    baseBranch: 'main',
    headSha: 'abc',
    agent: 'coder',
    diff: { additions: 1, deletions: 2, data: '' },
    author: { avatarUrl: 'https://example.com/a', login: 'l' },
    codeRepository: { id: REPOSITORY_ID, name: 'n', owner: 'o', baseBranch: 'main', provider: 'github' },
  };
  const FIELDS = `pullRequest { databaseId url title status isDraft sourceBranch baseBranch headSha agent diff { additions deletions data }
    author { avatarUrl login } codeRepository { id: databaseId name owner baseBranch provider } createdAt updatedAt }`;

  async function artifactOf(sessionId: string, type = 'PULL_REQUEST', as = key): Promise<string> {
    return (
      await mutate<{ artifact: { databaseId: string } }>(
        gateway,
        as,
        'recordArtifact',
        { sessionId, type },
        'artifact { databaseId }',
      )
    ).artifact.databaseId;
  }

  test('artifacts of every type stand in the order of their recording', async () => {
    const id = await createSession(gateway, key);
    const types = ['PULL_REQUEST', 'TOOL_CALL', 'PLAN', 'RESPONSE', 'FILE', 'SERVICE', 'SOURCE'];
    const ids: string[] = [];
    for (const type of types) ids.push(await artifactOf(id, type));
    const wanted = types.map((type, index) => ({ databaseId: ids[index], type, pullRequests: [] }));
    expect(
      (
        await gateway.graphql(
          key,
          'query($id: ID!) { session(id: $id) { artifacts { databaseId type pullRequests { url } } } }',
          { id },
        )
      ).data,
    ).toEqual({ session: { artifacts: wanted } });
  });

  test('a pull request is known by its address: recorded again it is brought up to date, also by twenty at once', async () => {
    const artifactId = await artifactOf(await createSession(gateway, key));
    const first = await mutate<{ pullRequest: { databaseId: string; createdAt: string } }>(
      gateway,
      key,
      'recordPullRequest',
      { artifactId, ...input },
      FIELDS,
    );
    expect(first).toEqual({
      __typename: 'RecordPullRequestPayload',
      pullRequest: {
        ...input,
        databaseId: first.pullRequest.databaseId,
        createdAt: first.pullRequest.createdAt,
        updatedAt: first.pullRequest.createdAt,
      },
    });
    const changed = {
      ...input,
      status: 'MERGED',
      isDraft: false,
      title: 'Second',
      diff: { additions: 9, deletions: 9, data: 'd' },
      author: { avatarUrl: 'https://example.com/b', login: 'm' },
    };
    const second = await mutate<{ pullRequest: { updatedAt: string } }>(
      gateway,
      key,
      'recordPullRequest',
      { artifactId, ...changed },
      FIELDS,
    );
    expect(second).toEqual({
      ...first,
      pullRequest: { ...first.pullRequest, ...changed, updatedAt: second.pullRequest.updatedAt },
    });
    const other = { ...input, url: 'https://example.com/pr/2' };
    const twins = await Promise.all(
      Array.from({ length: 20 }, () =>
        mutate<{ pullRequest: { databaseId: string } }>(
          gateway,
          key,
          'recordPullRequest',
          { artifactId, ...other },
          FIELDS,
        ),
      ),
    );
    expect(new Set(twins.map(({ pullRequest }) => pullRequest.databaseId)).size).toBe(1);
    expect(
      await gateway.dependencies.sql.query('select 1 from pull_request where artifact_id = $1', [artifactId]),
    ).toHaveLength(2);
  });

  test.each<[object, string]>([
    [{ url: '' }, 'url: must not be empty'],
    [{ url: x(2049) }, 'url: must be at most 2048 characters'],
    [{ title: x(1001) }, 'title: must be at most 1000 characters'],
    [{ sourceBranch: x(501) }, 'sourceBranch: must be at most 500 characters'],
    [{ baseBranch: '' }, 'baseBranch: must not be empty'],
    [{ headSha: x(101) }, 'headSha: must be at most 100 characters'],
    [{ agent: '' }, 'agent: must not be empty'],
    [{ diff: { ...input.diff, additions: -1 } }, 'diff.additions: must be at least 0'],
    [{ diff: { ...input.diff, data: x(1_000_001) } }, 'diff.data: must be at most 1000000 characters'],
    [{ author: { ...input.author, login: '' } }, 'author.login: must not be empty'],
    [
      { codeRepository: { ...input.codeRepository, provider: x(101) } },
      'codeRepository.provider: must be at most 100 characters',
    ],
  ])('refuses %j', async (fault, message) => {
    const result = await mutate(gateway, key, 'recordPullRequest', { artifactId: randomUUID(), ...input, ...fault });
    expect([result.__typename, result.message]).toEqual(['ValidationError', message]);
  });

  test('missing, foreign and private artifacts look the same; of a public session, who may not change it is told so', async () => {
    const creator = await gateway.createKey({ organization: (await gateway.createKey()).organization });
    const member = await gateway.createKey({ organization: creator.organization });
    const sessionId = await createSession(gateway, creator.key);
    const artifactId = await artifactOf(sessionId, 'PLAN', creator.key);
    const missing = { __typename: 'NotFoundError', message: 'artifact not found', code: 'NOT_FOUND', path: null };
    expect(await mutate(gateway, creator.key, 'recordPullRequest', { artifactId: randomUUID(), ...input })).toEqual(
      missing,
    );
    for (const as of [member.key, key])
      expect(await mutate(gateway, as, 'recordPullRequest', { artifactId, ...input })).toEqual(missing);
    await gateway.rest('PATCH', `/v1/sessions/${sessionId}`, { key: creator.key, body: { visibility: 'public' } });
    expect(await mutate(gateway, member.key, 'recordPullRequest', { artifactId, ...input })).toMatchObject({
      __typename: 'ForbiddenError',
    });
    expect(await mutate(gateway, key, 'recordPullRequest', { artifactId, ...input })).toEqual(missing);
  });
});
