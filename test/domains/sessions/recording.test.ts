import { beforeAll, describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import {
  PROJECT_ID,
  PULL_REQUEST_ID,
  REPOSITORY_ID,
  SOURCE_ID,
  createSession,
  moveTo,
  mutate,
} from '../../support/fixtures/sessions.ts';
import { sampled } from '../../support/sample.ts';

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

const textOf = (length: number) => 'x'.repeat(length);

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
        title: textOf(1000),
        description: textOf(1_000_000),
        kind: textOf(100),
        level: 100,
        agent: textOf(500),
        baseBranch: textOf(500),
        branchName: textOf(500),
        targetBranch: textOf(500),
      },
    ],
    [{ projectId: textOf(500), externalId: textOf(500), externalUrl: `https://example.com/${textOf(2028)}` }],
    [
      {
        source: {
          ...source,
          name: textOf(500),
          type: textOf(100),
          repositories: Array(100).fill(source.repositories[0]),
        },
      },
    ],
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
  ])('accepts values of the maximum length, and null for absent fields: %#', async (input) => {
    expect(await createSession(gateway, key, input)).toMatch(/^[0-9a-f-]{36}$/);
  });

  sampled(test, 6).each<[object, string]>([
    [{ title: '' }, 'title: must not be empty'],
    [{ externalUrl: 'javascript:alert(1)' }, 'externalUrl: must be an http or https URL'],
    [{ externalUrl: ' JAVA\tSCRIPT:alert(1)' }, 'externalUrl: must be an http or https URL'],
    ...['view-source:javascript:alert(1)', 'feed:javascript:alert(1)', 'file:///etc/passwd', 'blob:x', 'x'].map(
      (externalUrl): [object, string] => [{ externalUrl }, 'externalUrl: must be an http or https URL'],
    ),
    [{ externalUrl: 'data:text/html,x' }, 'externalUrl: must be an http or https URL'],
    [{ title: textOf(1001) }, 'title: must be at most 1000 characters'],
    [{ description: '' }, 'description: must not be empty'],
    [{ description: textOf(1_000_001) }, 'description: must be at most 1000000 characters'],
    [{ kind: '' }, 'kind: must not be empty'],
    [{ kind: textOf(101) }, 'kind: must be at most 100 characters'],
    [{ level: 101 }, 'level: must be at most 100'],
    [{ agent: textOf(501) }, 'agent: must be at most 500 characters'],
    [{ externalUrl: `https://example.com/${textOf(2029)}` }, 'externalUrl: must be at most 2048 characters'],
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
    [{ sourcePullRequest: { ...sourcePullRequest, url: 'x' } }, 'sourcePullRequest.url: must be an http or https URL'],
    [{ diffSummary: { additions: -1, deletions: 0 } }, 'diffSummary.additions: must be at least 0'],
    [{ richContent: { type: 'doc' } }, 'richContent.content: is required'],
  ])('refuses %j', async (input, message) => {
    const count = async () => gateway.dependencies.sql.query('select count(*) from session', []);
    const before = await count();
    const result = await mutate(gateway, key, 'createSession', { title: 'T', ...input });
    expect([result.__typename, result.message]).toEqual(['ValidationError', message]);
    expect(await count()).toEqual(before);
  });

  test('the description comes from the rich text; a project is created or updated, but only in its organization', async () => {
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

  test('ten concurrent creations with the same new project all succeed and create one project', async () => {
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
  const TRANSITIONS_TO: Record<string, string[]> = {
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
  sampled(test, 8).each(STATES.flatMap((from) => STATES.map((to) => [from, to] as const)))(
    '%s → %s',
    async (from, to) => {
      const id = await createSession(gateway, key);
      await moveTo(gateway, key, id, ...(TRANSITIONS_TO[from] ?? []));
      const result = await mutate(
        gateway,
        key,
        'transitionSession',
        { sessionId: id, state: to },
        'session { state { current } }',
      );
      const next = ALLOWED[from] ?? [];
      const message = `state: a session that is ${from} can become ${next.join(' or ')}, not ${to}`;
      const moved = { __typename: 'TransitionSessionPayload', session: { state: { current: to } } };
      expect(result).toEqual(
        next.includes(to) ? moved : { __typename: 'ConflictError', message, code: 'CONFLICT', path: ['state'] },
      );
      const read = await gateway.graphql(key, 'query($id: ID!) { session(id: $id) { state { current } } }', { id });
      expect(read.data).toEqual({ session: { state: { current: next.includes(to) ? to : from } } });
    },
  );

  test('sets updatedAt and lastSeenAt, and sets lastQueuedAt when the session is queued again', async () => {
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

  test('of ten concurrent requests that end a session, one succeeds and nine get a conflict', async () => {
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
