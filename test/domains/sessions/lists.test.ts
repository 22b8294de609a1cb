import fc from 'fast-check';
import { expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, eventsOf, moveTo, mutate } from '../../support/fixtures/sessions.ts';
import { sampled, sampledRuns } from '../../support/sample.ts';

const gateway = useTestGateway();

const QUERY = `query($first: Int, $after: String, $last: Int, $before: String, $filter: SessionFilter, $orderBy: SessionOrder) { viewer { organization {
  sessions(first: $first, after: $after, last: $last, before: $before, filter: $filter, orderBy: $orderBy) {
    totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } edges { cursor } nodes { title } } } } }`;

interface List {
  readonly totalCount: number;
  readonly pageInfo: {
    hasNextPage: boolean;
    hasPreviousPage: boolean;
    startCursor: string | null;
    endCursor: string | null;
  };
  readonly edges: { cursor: string }[];
  readonly nodes: { title: string }[];
}

async function list(key: string, variables: Record<string, unknown> = {}): Promise<List> {
  const { data, errors } = await gateway.graphql<{ viewer: { organization: { sessions: List } } }>(
    key,
    QUERY,
    variables,
  );
  if (!data) throw new Error(JSON.stringify(errors));
  return data.viewer.organization.sessions;
}

const titlesOf = ({ nodes }: List) => nodes.map(({ title }) => title);

test('a member sees public sessions and their own, an admin all; totalCount counts the visible sessions', async () => {
  const admin = await gateway.createKey();
  const { organization } = admin;
  const [one, two] = [await gateway.createKey({ organization }), await gateway.createKey({ organization })];
  await createSession(gateway, one.key, { title: 'private of one' });
  await createSession(gateway, one.key, { title: 'public of one', visibility: 'PUBLIC' });
  await createSession(gateway, two.key, { title: 'private of two' });
  await createSession(gateway, (await gateway.createKey()).key, { title: 'foreign', visibility: 'PUBLIC' });
  const seen = async (key: string) => {
    const sessions = await list(key);
    expect(sessions.totalCount).toBe(sessions.nodes.length);
    return titlesOf(sessions).toSorted();
  };
  expect(await seen(admin.key)).toEqual(['private of one', 'private of two', 'public of one']);
  expect(await seen(one.key)).toEqual(['private of one', 'public of one']);
  expect(await seen(two.key)).toEqual(['private of two', 'public of one']);
  const bare = await gateway.createKey({ organization, scopes: ['sessions.write'] });
  expect((await gateway.graphql(bare.key, QUERY)).errors?.[0]).toMatchObject({
    message: 'the API key lacks the scope sessions.read',
    extensions: { code: 'FORBIDDEN' },
  });
});

test('each condition filters the list, and all given conditions must match', async () => {
  const { key } = await gateway.createKey();
  const first = await createSession(gateway, key, {
    title: 'École 100%',
    mode: 'PLANNING',
    visibility: 'PUBLIC',
    projectId: 'p1',
  });
  const second = await createSession(gateway, key, { title: 'a_b', sessionType: 'TERMINAL', projectId: 'p2' });
  await createSession(gateway, key, { title: 'axb' });
  await moveTo(gateway, key, second, 'IN_PROGRESS');
  await mutate(gateway, key, 'pinSession', { sessionId: first });
  const cases: [object | null, string[]][] = [
    [null, ['École 100%', 'a_b', 'axb']],
    [{ states: ['QUEUED', 'FAILED'] }, ['École 100%', 'axb']],
    [{ states: ['IN_PROGRESS'] }, ['a_b']],
    [{ states: [] }, []],
    [{ sessionTypes: ['TERMINAL'] }, ['a_b']],
    [{ modes: ['PLANNING'] }, ['École 100%']],
    [{ visibilities: ['PUBLIC'] }, ['École 100%']],
    [{ projectIds: ['p1', 'p2'] }, ['École 100%', 'a_b']],
    [{ projectIds: ["p1' or true --"] }, []],
    [{ isPinned: true }, ['École 100%']],
    [{ isPinned: false }, ['a_b', 'axb']],
    [{ title: 'A_B' }, ['a_b']],
    [{ title: '%' }, ['École 100%']],
    [{ title: 'éCOLE' }, ['École 100%']],
    [{ title: '' }, ['École 100%', 'a_b', 'axb']],
    [{ states: null, title: null, isPinned: null }, ['École 100%', 'a_b', 'axb']],
    [
      {
        states: ['QUEUED'],
        sessionTypes: ['CHAT'],
        modes: ['PLANNING'],
        visibilities: ['PUBLIC'],
        projectIds: ['p1'],
        isPinned: true,
        title: '100',
      },
      ['École 100%'],
    ],
  ];
  for (const [filter, expected] of cases) {
    const found = await list(key, { filter, orderBy: { field: 'CREATED_AT', direction: 'ASC' } });
    expect([filter, titlesOf(found), found.totalCount]).toEqual([filter, expected, expected.length]);
  }
});

test('sessions can be ordered by createdAt, updatedAt and lastSeenAt in both directions; the default is newest first', async () => {
  const { key } = await gateway.createKey();
  const at = (minute: number) => gateway.setClock(new Date(Date.UTC(2026, 2, 1, 10, minute)));
  try {
    const ids: string[] = [];
    for (const [minute, title] of ['a', 'b', 'c'].entries()) {
      at(minute);
      ids.push(await createSession(gateway, key, { title }));
    }
    at(10);
    await append(gateway, key, ids[0] ?? '', eventsOf(1));
    at(11);
    await gateway.rest('PATCH', `/v1/sessions/${ids[1]}`, { key, body: { level: 1 } });
  } finally {
    gateway.setClock(undefined);
  }
  const order = async (orderBy?: object) => titlesOf(await list(key, { orderBy })).join('');
  expect(await order()).toBe('cba');
  expect(await order({ field: 'CREATED_AT' })).toBe('cba');
  expect(await order({ field: 'CREATED_AT', direction: 'ASC' })).toBe('abc');
  expect(await order({ field: 'UPDATED_AT', direction: 'DESC' })).toBe('bca');
  expect(await order({ field: 'LAST_SEEN_AT', direction: 'DESC' })).toBe('acb');
  expect(await order({ field: 'LAST_SEEN_AT', direction: 'ASC' })).toBe('bca');
});

test('pages of any size, direction and order contain each session once, even if times are equal', async () => {
  const { key } = await gateway.createKey();
  try {
    for (let index = 0; index < 23; index += 1) {
      gateway.setClock(new Date(Date.UTC(2026, 2, 1, 10, 0, 0, Math.floor(index / 5))));
      await createSession(gateway, key, { title: `${index}` });
    }
  } finally {
    gateway.setClock(undefined);
  }
  const readAllPages = async (size: number, backward: boolean, orderBy: object) => {
    const seen: string[] = [];
    for (let cursor: string | null | undefined; ;) {
      const page = await list(
        key,
        backward ? { last: size, before: cursor, orderBy } : { first: size, after: cursor, orderBy },
      );
      expect(page.totalCount).toBe(23);
      if (backward) seen.unshift(...titlesOf(page));
      else seen.push(...titlesOf(page));
      cursor = backward ? page.pageInfo.startCursor : page.pageInfo.endCursor;
      if (!(backward ? page.pageInfo.hasPreviousPage : page.pageInfo.hasNextPage)) return seen;
    }
  };
  const order = fc.record({
    field: fc.constantFrom('CREATED_AT', 'UPDATED_AT', 'LAST_SEEN_AT'),
    direction: fc.constantFrom('ASC', 'DESC'),
  });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 30 }), fc.boolean(), order, async (size, backward, orderBy) => {
      const all = titlesOf(await list(key, { first: 100, orderBy }));
      expect(new Set(all).size).toBe(23);
      expect(await readAllPages(size, backward, orderBy)).toEqual(all);
    }),
    { numRuns: sampledRuns(15, 4) },
  );
});

test('a cursor stays valid while sessions are created and deleted', async () => {
  const { key } = await gateway.createKey();
  const ids: string[] = [];
  for (const title of ['a', 'b', 'c', 'd']) ids.push(await createSession(gateway, key, { title }));
  const first = await list(key, { first: 2 });
  expect(titlesOf(first)).toEqual(['d', 'c']);
  await gateway.dependencies.sql.query('delete from session where id = $1', [ids[2]]);
  await createSession(gateway, key, { title: 'e' });
  expect(titlesOf(await list(key, { first: 2, after: first.pageInfo.endCursor }))).toEqual(['b', 'a']);
});

sampled(test, 3).each([
  [{ first: 0 }, 'first: must be from 1 to 100'],
  [{ first: 101 }, 'first: must be from 1 to 100'],
  [{ first: 1, last: 1 }, 'last: must not be given together with first'],
  // The default of `first`, but given.
  [{ first: 50, last: 1 }, 'last: must not be given together with first'],
  [{ after: '12' }, 'after: is not a cursor of this list and order'],
  [
    {
      after: Buffer.from(
        JSON.stringify(['SESSION_UPDATED_AT', '2026-03-01T10:00:00.000Z', '7d444840-9dc0-11d1-b245-5ffdce74fad2']),
      ).toString('base64url'),
    },
    'after: is not a cursor of this list and order',
  ],
  [{ filter: { title: 'a\0' } }, 'filter.title: must be well-formed text without NUL characters'],
  [{ filter: { projectIds: ['\0'] } }, 'filter.projectIds.0: must be well-formed text without NUL characters'],
  [{ filter: { projectIds: Array<string>(101).fill('a') } }, 'filter.projectIds: must have at most 100 items'],
])('%j is refused', async (variables, message) => {
  const { key } = await gateway.createKey();
  expect(
    (await gateway.graphql(key, QUERY, variables)).errors?.map((error) => [error.message, error.extensions?.['code']]),
  ).toEqual([[message, 'INVALID_INPUT']]);
});

test('last alone is the end of the list, also where first is a variable without a value or null; first as text together with last is refused', async () => {
  const { key } = await gateway.createKey();
  for (const title of ['a', 'b']) await createSession(gateway, key, { title });
  for (const variables of [{ last: 1 }, { first: null, last: 1 }])
    expect(titlesOf(await list(key, variables))).toEqual(['a']);
  const query =
    '{ viewer { organization { sessions(first: 50, last: 1) { nodes { title } } members(last: 1) { nodes { id } } } } }';
  const { data, errors } = await gateway.graphql(key, query);
  expect(errors?.map(({ message }) => message)).toEqual(['last: must not be given together with first']);
  expect(data).toEqual({
    viewer: { organization: { sessions: null, members: { nodes: [{ id: expect.any(String) }] } } },
  });
});

test('5 sessions with artifacts send as many statements as one', async () => {
  const { key } = await gateway.createKey();
  const query =
    'query($first: Int) { viewer { organization { sessions(first: $first) { nodes { title project { name } sessionSource { repositories { name } } artifacts(first: 2) { nodes { type pullRequests(first: 2) { nodes { url } } } } } } } } }';
  for (let index = 0; index < 5; index += 1)
    await mutate(gateway, key, 'recordArtifact', { sessionId: await createSession(gateway, key), type: 'PLAN' });
  const count = async (first: number) => {
    gateway.statements.length = 0;
    await gateway.graphql(key, query, { first });
    return gateway.statements.length;
  };
  await count(5);
  expect(await count(5)).toBe(await count(1));
});
