import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { REPOSITORY_ID, createSession, mutate } from '../../support/fixtures/sessions.ts';
import { sampled } from '../../support/sample.ts';

const gateway = useTestGateway();
let key: string;
beforeAll(async () => {
  ({ key } = await gateway.createKey());
});

const textOf = (length: number) => 'x'.repeat(length);

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

  test('artifacts of every type are listed in the order in which they were recorded', async () => {
    const id = await createSession(gateway, key);
    const types = ['PULL_REQUEST', 'TOOL_CALL', 'PLAN', 'RESPONSE', 'FILE', 'SERVICE', 'SOURCE'];
    const ids: string[] = [];
    for (const type of types) ids.push(await artifactOf(id, type));
    const query = `query($id: ID!) { session(id: $id) { artifacts { totalCount nodes { databaseId type pullRequests { totalCount nodes { url } } } } } }`;
    const nodes = types.map((type, index) => ({
      databaseId: ids[index],
      type,
      pullRequests: { totalCount: 0, nodes: [] },
    }));
    expect((await gateway.graphql(key, query, { id })).data).toEqual({
      session: { artifacts: { totalCount: types.length, nodes } },
    });
  });

  /** A session with an artifact of two pull requests, one of one, and one of none. */
  async function recordedSession(): Promise<{ id: string; artifacts: string[] }> {
    const id = await createSession(gateway, key);
    const artifacts = [await artifactOf(id), await artifactOf(id), await artifactOf(id, 'PLAN')];
    for (const [index, name] of [
      [1, 'c'],
      [0, 'a'],
      [0, 'b'],
    ] as const)
      await mutate(gateway, key, 'recordPullRequest', {
        ...input,
        artifactId: artifacts[index],
        url: `https://example.com/${name}`,
        title: name,
        status: name === 'b' ? 'MERGED' : 'OPEN',
      });
    return { id, artifacts };
  }

  test('artifacts that are selected several times with other fields of their pull requests have the selected ones', async () => {
    const { id, artifacts } = await recordedSession();
    const query = `query($id: ID!, $no: Boolean!) { session(id: $id) {
      bare: artifacts(first: 5) { nodes { databaseId } }
      names: artifacts(first: 5) { nodes { pullRequests(first: 5) { nodes { title } } } }
      both: artifacts(first: 5) { nodes { pullRequests(first: 5) { nodes { artifact { databaseId } } } again: pullRequests(first: 1) { nodes { agent } } } }
      whole: artifacts(first: 1) { edges { node { pullRequests(first: 1) { edges { node { codeRepository { name } ... on PullRequest { status } } } } } } }
      left: artifacts(first: 5) { nodes { type pullRequests @include(if: $no) { nodes { url } } } }
    } }`;
    const { data, errors } = await gateway.graphql(key, query, { id, no: false });
    expect(errors).toBeUndefined();
    const of = (...lists: object[][]) => ({ nodes: lists.map((nodes) => ({ pullRequests: { nodes } })) });
    const [one, two] = artifacts.map((databaseId) => ({ artifact: { databaseId } }));
    expect(data).toEqual({
      session: {
        bare: { nodes: artifacts.map((databaseId) => ({ databaseId })) },
        names: of([{ title: 'a' }, { title: 'b' }], [{ title: 'c' }], []),
        both: {
          nodes: of([one ?? {}, one ?? {}], [two ?? {}], []).nodes.map((node, index) => ({
            ...node,
            again: { nodes: index < 2 ? [{ agent: 'coder' }] : [] },
          })),
        },
        whole: {
          edges: [{ node: { pullRequests: { edges: [{ node: { codeRepository: { name: 'n' }, status: 'OPEN' } }] } } }],
        },
        left: { nodes: ['PULL_REQUEST', 'PULL_REQUEST', 'PLAN'].map((type) => ({ type })) },
      },
    });
  });

  test('pages of both lists lead forward and backward over all items, with filter and order, for each parent', async () => {
    const { id, artifacts } = await recordedSession();
    type Walked = { nodes: { databaseId: string }[]; pageInfo: { endCursor: string; startCursor: string } };
    const ask = async (list: string, field = 'databaseId') => {
      const page = `nodes { ${field} } pageInfo { hasNextPage hasPreviousPage startCursor endCursor }`;
      const { data, errors } = await gateway.graphql<{ session: { artifacts: Walked } }>(
        key,
        `query($id: ID!) { session(id: $id) { artifacts(${list}) { ${page} } } }`,
        { id },
      );
      expect(errors).toBeUndefined();
      return (data as { session: { artifacts: Walked } }).session.artifacts;
    };
    const first = await ask('first: 2');
    const next = await ask(`first: 2, after: "${first.pageInfo.endCursor}"`);
    expect([...first.nodes, ...next.nodes].map(({ databaseId }) => databaseId)).toEqual(artifacts);
    expect([first.pageInfo, next.pageInfo]).toMatchObject([
      { hasNextPage: true, hasPreviousPage: false },
      { hasNextPage: false, hasPreviousPage: true },
    ]);
    const back = await ask(`last: 2, before: "${next.pageInfo.startCursor}"`);
    expect(back.nodes).toEqual(first.nodes);
    expect((await ask('filter: { types: [PLAN] }')).nodes).toEqual(next.nodes);
    const newest = await ask('orderBy: { field: CREATED_AT, direction: DESC }');
    expect(newest.nodes.map(({ databaseId }) => databaseId)).toEqual(artifacts.toReversed());
    const lists = await ask(
      'first: 3',
      'databaseId merged: pullRequests(first: 5, filter: { statuses: [MERGED] }) { totalCount nodes { title } } last: pullRequests(last: 1) { totalCount nodes { title } pageInfo { hasPreviousPage } }',
    );
    expect(lists.nodes).toMatchObject([
      { merged: { totalCount: 1, nodes: [{ title: 'b' }] }, last: { totalCount: 2, nodes: [{ title: 'b' }] } },
      { merged: { totalCount: 0, nodes: [] }, last: { totalCount: 1, nodes: [{ title: 'c' }] } },
      { merged: { totalCount: 0, nodes: [] }, last: { totalCount: 0, nodes: [] } },
    ]);
  });

  test.each([
    ['pullRequests @include(if: false) { nodes { url } }', ''],
    ['... on Artifact @include(if: false) { pullRequests { nodes { url } } }', ''],
    ['...F @skip(if: true)', 'fragment F on Artifact { pullRequests { nodes { url } } }'],
  ])('pull requests that are left out are not read: %s', async (left, fragment) => {
    const id = await createSession(gateway, key);
    await mutate(gateway, key, 'recordPullRequest', { artifactId: await artifactOf(id), ...input });
    gateway.statements.length = 0;
    const query = `query($id: ID!) { session(id: $id) { artifacts { nodes { type ${left} } } } } ${fragment}`;
    expect(await gateway.graphql(key, query, { id })).toMatchObject({
      data: { session: { artifacts: { nodes: [{ type: 'PULL_REQUEST' }] } } },
    });
    expect(gateway.statements.filter((statement) => statement.includes('"pull_request"'))).toEqual([]);
  });

  test('recording a pull request with a known URL updates it, and twenty concurrent recordings of one URL create one', async () => {
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

  test('a session has at most 1,000 artifacts, and an artifact 100 pull requests, which can still be updated', async () => {
    const sessionId = await createSession(gateway, key);
    const artifactId = await artifactOf(sessionId);
    const record = (changes: object) =>
      mutate(gateway, key, 'recordPullRequest', { artifactId, ...input, ...changes }, 'pullRequest { title }');
    const last = { url: 'https://example.com/pr/100' };
    await record({});
    const { sql } = gateway.dependencies;
    await sql.query(
      `insert into pull_request select (p).* from pull_request q, generate_series(2, 99) n,
        jsonb_populate_record(q, jsonb_build_object('id', gen_random_uuid(), 'url', 'https://example.com/pr/' || n)) p where q.artifact_id = $1`,
      [artifactId],
    );
    expect(await record(last)).toMatchObject({ __typename: 'RecordPullRequestPayload' });
    expect(await record({ url: 'https://example.com/pr/101' })).toMatchObject({
      __typename: 'ConflictError',
      message: 'an artifact has at most 100 pull requests',
    });
    expect(await record({ ...last, title: 'Again' })).toMatchObject({ pullRequest: { title: 'Again' } });
    await sql.query(
      `insert into artifact select (p).* from artifact a, generate_series(2, 999) n,
        jsonb_populate_record(a, jsonb_build_object('id', gen_random_uuid(), 'n', n)) p where a.id = $1`,
      [artifactId],
    );
    await artifactOf(sessionId);
    expect(await mutate(gateway, key, 'recordArtifact', { sessionId, type: 'PLAN' })).toMatchObject({
      __typename: 'ConflictError',
      message: 'a session has at most 1000 artifacts',
    });
  });

  sampled(test, 4).each<[object, string]>([
    [{ url: 'pr/1' }, 'url: must be an http or https URL'],
    [{ url: `https://example.com/${textOf(2029)}` }, 'url: must be at most 2048 characters'],
    [{ title: textOf(1001) }, 'title: must be at most 1000 characters'],
    [{ sourceBranch: textOf(501) }, 'sourceBranch: must be at most 500 characters'],
    [{ baseBranch: '' }, 'baseBranch: must not be empty'],
    [{ headSha: textOf(101) }, 'headSha: must be at most 100 characters'],
    [{ agent: '' }, 'agent: must not be empty'],
    [{ diff: { ...input.diff, additions: -1 } }, 'diff.additions: must be at least 0'],
    [{ diff: { ...input.diff, data: textOf(1_000_001) } }, 'diff.data: must be at most 1000000 characters'],
    [{ author: { ...input.author, login: '' } }, 'author.login: must not be empty'],
    [
      { codeRepository: { ...input.codeRepository, provider: textOf(101) } },
      'codeRepository.provider: must be at most 100 characters',
    ],
  ])('refuses %j', async (fault, message) => {
    const result = await mutate(gateway, key, 'recordPullRequest', { artifactId: randomUUID(), ...input, ...fault });
    expect([result.__typename, result.message]).toEqual(['ValidationError', message]);
  });

  test('missing, foreign and private artifacts get the same error; FORBIDDEN in a public session that the caller may not change', async () => {
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
