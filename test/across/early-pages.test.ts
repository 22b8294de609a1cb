// A page of a list ends early at half of the size that an answer may have, on both APIs and in both directions. So no
// object, however large, hides the others.
import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { useTestGateway } from '../support/fixtures/gateway.ts';
import { append, createSession, eventsOf } from '../support/fixtures/sessions.ts';

const gateway = useTestGateway();

const MIB = 1024 * 1024;
const sql = (text: string, values: readonly unknown[]) => gateway.dependencies.sql.query(text, values);

/** Creates sessions of a new organization, with descriptions of a repeated text. */
async function createSessions(count: number, text: string, times: number) {
  const { key } = await gateway.createKey();
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push(await createSession(gateway, key));
  await sql('update session set description = repeat($1, $2) where id = any($3)', [text, times, ids]);
  return { key, ids };
}

interface Page {
  readonly items: readonly { readonly id: string }[];
  readonly nextCursor: string | null;
}

/** The ids on each page of a REST list. */
async function pagesOf(key: string, path: string): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const query = new URLSearchParams({ limit: '100', ...(cursor && { cursor }) });
    const { status, body, text } = await gateway.rest<Page>('GET', `${path}?${query}`, { key });
    expect(status).toBe(200);
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(8 * MIB);
    pages.push(body.items.map(({ id }) => id));
    ({ nextCursor: cursor } = body);
  }
  return pages;
}

interface Connection {
  readonly nodes: readonly { readonly databaseId: string }[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly startCursor: string;
    readonly endCursor: string;
  };
}
type Answered = { readonly viewer: { readonly organization: { readonly sessions: Connection } } };

const LIST =
  'query($first: Int, $after: String, $last: Int, $before: String) { viewer { organization { sessions(first: $first, after: $after, last: $last, before: $before) { nodes { databaseId description } pageInfo { hasNextPage hasPreviousPage startCursor endCursor } } } } }';

/** The ids on each page of the sessions in GraphQL. */
async function connectionPages(key: string, direction: 'forward' | 'backward'): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: string | undefined, more = true; more;) {
    const page = direction === 'forward' ? { first: 100, after: cursor } : { last: 100, before: cursor };
    const { data, errors } = await gateway.graphql<Answered>(key, LIST, page);
    expect(errors).toBeUndefined();
    const { nodes, pageInfo } = (data as Answered).viewer.organization.sessions;
    pages.push(nodes.map(({ databaseId }) => databaseId));
    more = direction === 'forward' ? pageInfo.hasNextPage : pageInfo.hasPreviousPage;
    cursor = direction === 'forward' ? pageInfo.endCursor : pageInfo.startCursor;
  }
  return pages;
}

describe('ten sessions with descriptions of 1 MB', () => {
  // Newest first.
  let all: string[];
  let key: string;
  beforeAll(async () => {
    const created = await createSessions(10, 'x', 1_000_000);
    key = created.key;
    all = created.ids.toReversed();
  });

  test('REST pages to the end and has each once', async () => {
    const pages = await pagesOf(key, '/v1/sessions');
    expect(pages.map(({ length }) => length)).toEqual([5, 5]);
    expect(pages.flat()).toEqual(all);
  });

  test('GraphQL pages to the end, forwards and backwards, and has each once', async () => {
    const forward = await connectionPages(key, 'forward');
    expect(forward.map(({ length }) => length)).toEqual([5, 5]);
    expect(forward.flat()).toEqual(all);
    const backward = await connectionPages(key, 'backward');
    expect(backward.map(({ length }) => length)).toEqual([5, 5]);
    expect(backward.toReversed().flat()).toEqual(all);
  });

  test('a list without the descriptions has one page', async () => {
    const query = '{ viewer { organization { sessions { nodes { databaseId } pageInfo { hasNextPage } } } } }';
    const { data } = await gateway.graphql<Answered>(key, query);
    expect((data as Answered).viewer.organization.sessions).toMatchObject({
      nodes: { length: 10 },
      pageInfo: { hasNextPage: false },
    });
  });
});

test('a page in the answer of a mutation with an idempotency key, which has a transaction, ends early too', async () => {
  const { key, ids } = await createSessions(1, 'x', 1);
  const [id = ''] = ids;
  for (let count = 0; count < 6; count += 1)
    await append(gateway, key, id, eventsOf(1, { data: { text: 'x'.repeat(1_000_000) } }));
  const query =
    'mutation($id: ID!) { pinSession(input: { sessionId: $id }) { ... on PinSessionPayload { session { events(first: 100) { nodes { databaseId eventDataJson } pageInfo { hasNextPage } } } } } }';
  const headers = { 'Idempotency-Key': randomUUID() };
  expect(await gateway.graphql(key, query, { id }, headers)).toMatchObject({
    data: { pinSession: { session: { events: { nodes: { length: 5 }, pageInfo: { hasNextPage: true } } } } },
  });
});

test('text counts as it is answered: six bytes for a control character', async () => {
  const { key, ids } = await createSessions(5, '\u0001', 700_000);
  const all = ids.toReversed();
  for (const pages of [await pagesOf(key, '/v1/sessions'), await connectionPages(key, 'forward')]) {
    expect(pages.map(({ length }) => length)).toEqual([1, 1, 1, 1, 1]);
    expect(pages.flat()).toEqual(all);
  }
});

test('pages of events below several sessions end each for itself; a session with few events is answered whole', async () => {
  const { key, ids } = await createSessions(3, 'x', 1);
  const data = { text: 'x'.repeat(1_000_000) };
  for (let count = 0; count < 6; count += 1) await append(gateway, key, ids[1] ?? '', eventsOf(1, { data }));
  for (const id of [ids[0], ids[2]]) await append(gateway, key, id ?? '', eventsOf(3));
  const query =
    '{ viewer { organization { sessions { nodes { databaseId events(first: 100) { nodes { eventDataJson } pageInfo { hasNextPage } } } } } } }';
  const { data: answered, errors } = await gateway.graphql<Answered>(key, query);
  expect(errors).toBeUndefined();
  expect((answered as Answered).viewer.organization.sessions.nodes).toMatchObject([
    { databaseId: ids[2], events: { nodes: { length: 3 } } },
    { databaseId: ids[1], events: { nodes: { length: 5 }, pageInfo: { hasNextPage: true } } },
    { databaseId: ids[0], events: { nodes: { length: 3 }, pageInfo: { hasNextPage: false } } },
  ]);
});

describe('a session with 34 pull requests of 1 MB', () => {
  let key: string;
  let id: string;
  let pullRequests: string[];
  beforeAll(async () => {
    ({
      key,
      ids: [id = ''],
    } = await createSessions(3, 'x', 1));
    const artifactId = await recordArtifact();
    const rows = await gateway.dependencies.sql.query<{ id: string }>(
      `insert into pull_request
        select gen_random_uuid(), organization_id, id, 'https://example.com/' || n, 'Title', 'open', false, 'a', 'b', 'c', 'agent',
          jsonb_build_object('additions', n, 'deletions', 0, 'data', repeat('x', 1000000)),
          '{"avatarUrl": "https://example.com", "login": "a"}',
          jsonb_build_object('id', gen_random_uuid(), 'name', 'n', 'owner', 'o', 'baseBranch', 'b', 'provider', 'p'),
          created_at + n * interval '1 s', created_at
        from artifact, generate_series(1, 34) n where id = $1 returning id`,
      [artifactId],
    );
    pullRequests = rows.map((row) => row.id);
  });

  async function recordArtifact(): Promise<string> {
    const { data } = await gateway.graphql<{ recordArtifact: { artifact: { databaseId: string } } }>(
      key,
      'mutation($id: ID!) { recordArtifact(input: { sessionId: $id, type: PULL_REQUEST }) { ... on RecordArtifactPayload { artifact { databaseId } } } }',
      { id },
    );
    return (data as { recordArtifact: { artifact: { databaseId: string } } }).recordArtifact.artifact.databaseId;
  }

  interface Document {
    readonly id: string;
    readonly artifacts: readonly {
      readonly pullRequests: readonly { readonly diff: { readonly data: string | null } }[];
    }[];
  }
  const diffsOf = ({ artifacts }: Document) => artifacts[0]?.pullRequests.map(({ diff }) => diff.data?.length ?? null);
  const first = [1_000_000, ...Array<null>(33).fill(null)];

  test('REST: it is read, listed and changed with 1 MiB of diffs', async () => {
    const read = await gateway.rest<Document>('GET', `/v1/sessions/${id}`, { key });
    expect([read.status, diffsOf(read.body)]).toEqual([200, first]);
    const list = await gateway.rest<{ items: Document[]; nextCursor: string | null }>('GET', '/v1/sessions', { key });
    expect([list.status, list.body.items.length, list.body.nextCursor]).toEqual([200, 3, null]);
    expect(diffsOf(list.body.items.find((item) => item.id === id) as Document)).toEqual(first);
    const changed = await gateway.rest<Document>('PATCH', `/v1/sessions/${id}`, { key, body: { title: 'Changed' } });
    expect(changed).toMatchObject({ status: 200, body: { title: 'Changed' } });
    expect(diffsOf(changed.body)).toEqual(first);
  });

  test('REST: its pull requests are whole on their own pages', async () => {
    const path = `/v1/sessions/${id}/pull-requests`;
    const pages = await pagesOf(key, path);
    expect(pages.map(({ length }) => length)).toEqual([5, 5, 5, 5, 5, 5, 4]);
    expect(pages.flat()).toEqual(pullRequests);
    const { body } = await gateway.rest<{ items: { diff: object }[] }>('GET', `${path}?limit=1`, { key });
    expect(body.items[0]?.diff).toEqual({ additions: 1, deletions: 0, data: 'x'.repeat(1_000_000) });
    expect(await gateway.rest('GET', `/v1/sessions/${randomUUID()}/pull-requests`, { key })).toMatchObject({
      status: 404,
      body: { error: 'session not found' },
    });
  });

  interface Pulls {
    readonly nodes: readonly { readonly databaseId: string; readonly diff: { readonly data: string } }[];
    readonly pageInfo: Readonly<Record<'startCursor' | 'endCursor', string>> &
      Readonly<Record<'hasNextPage' | 'hasPreviousPage', boolean>>;
  }

  test('GraphQL: it is read, listed and changed with the first diffs, and pages lead over all in both directions', async () => {
    const fields = 'databaseId diff { data }';
    const pullsOf = (args: string) =>
      `title artifacts(first: 1) { nodes { pullRequests(${args}) { totalCount nodes { ${fields} } pageInfo { startCursor endCursor hasNextPage hasPreviousPage } } } }`;
    const whole = (title: string) => ({
      title,
      artifacts: {
        nodes: [{ pullRequests: { totalCount: 34, nodes: { length: 5 }, pageInfo: { hasNextPage: true } } }],
      },
    });
    const read = await gateway.graphql(key, `query($id: ID!) { session(id: $id) { ${pullsOf('first: 100')} } }`, {
      id,
    });
    expect([read.errors, read.data]).toMatchObject([undefined, { session: whole('Changed') }]);
    const change = `mutation($id: ID!) { updateSession(input: { sessionId: $id, title: "Again" }) { ... on UpdateSessionPayload { session { ${pullsOf('first: 100')} } } } }`;
    const changed = await gateway.graphql(key, change, { id });
    expect([changed.errors, changed.data]).toMatchObject([undefined, { updateSession: { session: whole('Again') } }]);
    const list = await gateway.graphql<{ viewer: { organization: { sessions: { nodes: object[] } } } }>(
      key,
      `{ viewer { organization { sessions(first: 3) { nodes { ${pullsOf('first: 34')} } } } } }`,
    );
    expect(list.errors).toBeUndefined();
    expect(
      (list.data as { viewer: { organization: { sessions: { nodes: object[] } } } }).viewer.organization.sessions.nodes,
    ).toContainEqual(expect.objectContaining({ title: 'Again' }));
    for (const [size, cursor, edge, more] of [
      ['first', 'after', 'endCursor', 'hasNextPage'],
      ['last', 'before', 'startCursor', 'hasPreviousPage'],
    ] as const) {
      const found: string[] = [];
      let place = '';
      for (let hasMore = true; hasMore;) {
        const { data } = await gateway.graphql<{ session: { artifacts: { nodes: { pullRequests: Pulls }[] } } }>(
          key,
          `query($id: ID!) { session(id: $id) { ${pullsOf(`${size}: 34${place}`)} } }`,
          { id },
        );
        const page = data?.session.artifacts.nodes[0]?.pullRequests as Pulls;
        const ids = page.nodes.map(({ databaseId, diff }) => (diff.data.length === 1_000_000 ? databaseId : ''));
        found.push(...(size === 'first' ? ids : ids.toReversed()));
        place = `, ${cursor}: "${page.pageInfo[edge]}"`;
        hasMore = page.pageInfo[more];
      }
      expect(found).toEqual(size === 'first' ? pullRequests : pullRequests.toReversed());
    }
  });

  test('REST: a page of such sessions ends early', async () => {
    const { key: other, ids } = await createSessions(8, 'x', 1);
    await sql(
      `with recorded as (insert into artifact select gen_random_uuid(), organization_id, id, 'PullRequest', created_at, created_at from session where id = any($1) returning *)
      insert into pull_request select gen_random_uuid(), r.organization_id, r.id, p.url, p.title, p.status, false, 'a', 'b', 'c', 'agent', p.diff, p.author, p.code_repository, p.created_at, p.updated_at
      from recorded r, pull_request p where p.id = any($2)`,
      [ids, pullRequests.slice(0, 2)],
    );
    const pages = await pagesOf(other, '/v1/sessions');
    expect(pages.flat()).toEqual(ids.toReversed());
    expect(pages.length).toBe(2);
  });
});

test('REST: event definitions with large properties; one that is larger than a page has none in the list', async () => {
  const { key } = await gateway.createKey();
  const path = '/events/2026-03/event-definitions';
  const property = { label: 'Color', type: 'enumeration', options: [{ label: 'Red', value: 'red' }] };
  for (const [name, count] of [
    ['event_a', 3_000],
    ['event_b', 3_000],
    ['event_c', 3_000],
    ['event_d', 12_000],
    ['event_e', 1],
  ] as const) {
    const created = await gateway.rest('POST', path, {
      key,
      body: { label: name, name, propertyDefinitions: [{ ...property, name: 'color' }] },
    });
    expect(created.text).toContain('"color"');
    await sql(
      `update event_property p set options = (select jsonb_agg(jsonb_build_object('label', repeat('x', 500), 'value', repeat('y', 300) || n)) from generate_series(1, $2) n)
        from event_definition d where d.id = p.definition_id and d.name = $1`,
      [name, count],
    );
  }
  interface List {
    readonly results: readonly { readonly name: string; readonly properties: readonly unknown[] | null }[];
    readonly paging?: { readonly next: { readonly after: string } };
  }
  const found: string[][] = [];
  for (let after: string | undefined = ''; after !== undefined;) {
    const query = new URLSearchParams({ includeProperties: 'true', limit: '100', ...(after && { after }) });
    const { status, body } = await gateway.rest<List>('GET', `${path}?${query}`, { key });
    expect(status).toBe(200);
    found.push(body.results.map(({ name, properties }) => (properties === null ? `${name} alone` : name)));
    after = body.paging?.next.after;
  }
  expect(found).toEqual([['event_a'], ['event_b'], ['event_c'], ['event_d alone'], ['event_e']]);
  const changed = await gateway.rest('PATCH', `${path}/event_d`, { key, body: { label: 'Changed' } });
  expect(changed).toMatchObject({ status: 200, body: { label: 'Changed', properties: null } });
});
