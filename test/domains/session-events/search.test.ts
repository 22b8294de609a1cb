import { expect, test } from 'vitest';
import { indexSessions } from '../../../src/domains/session-events/search-index.ts';
import { deleteSessions } from '../../../src/domains/sessions/deletion.ts';
import { purgeSessions } from '../../../src/domains/session-events/purge.ts';
import { pruneSessionEvents } from '../../../src/domains/session-events/prune.ts';
import { AGENT_LINES } from '../../support/fixtures/agent-lines.ts';
import { startTestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import { untilWaitingForLock, whileLocked } from '../../support/fixtures/locks.ts';
import { append, createSession, mutate } from '../../support/fixtures/sessions.ts';

/** Searches over the texts of sessions. No job runs in these tests: the texts are indexed when a test says so. */

const gateway = useTestGateway();

const em = () => gateway.dependencies.database.em.fork();
async function index(): Promise<void> {
  while ((await indexSessions(gateway.dependencies.database.em)) > 0);
}

interface Match {
  readonly session: { readonly id: string; readonly title: string };
  readonly eventId: number | null;
  readonly excerpt: string;
}
interface Matches {
  readonly items: Match[];
  readonly nextCursor: string | null;
  readonly error?: string;
}

const search = (key: string, text: string, rest = '') =>
  gateway.rest<Matches>('GET', `/v1/session-search?text=${encodeURIComponent(text)}${rest}`, { key });
/** The ids of the events that are found, newest first; null for a title. */
const found = async (key: string, text: string) => (await search(key, text)).body.items.map(({ eventId }) => eventId);

let minute = 0;
/** Appends one message for each text; ids are those of the events. */
async function say(key: string, sessionId: string, ...texts: string[]) {
  const events = texts.map((accumulatedText) => ({
    eventType: 'x',
    provider: 'p',
    createdAt: new Date(Date.UTC(2030, 0, 1, 0, (minute += 1))).toISOString(),
    eventData: { type: 'x', deltaType: 'text_delta', itemId: `m${minute}`, accumulatedText },
  }));
  return append(gateway, key, sessionId, events);
}

test('words in any order, quoted phrases, without case and accents, in titles, messages, and tool inputs and outputs', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key, { title: 'The coupon tótal' });
  await say(key, id, 'Le café est PRÊT', 'the total of a coupon', 'a coupon total');
  await gateway.rest('POST', `/v1/sessions/${id}/events`, {
    key,
    body: JSON.stringify({
      type: 'tool_use',
      part: {
        callID: 'c',
        tool: 'bash',
        state: { status: 'completed', input: { command: 'cat src/cart.ts' }, output: 'Zeile drei' },
      },
    }),
    headers: { 'Content-Type': 'application/x-ndjson; format=opencode' },
  });
  expect(await found(key, 'cafe')).toEqual([]);
  await index();
  expect(await found(key, 'cafe')).toEqual([1]);
  expect(await found(key, 'prêt CAFÉ')).toEqual([1]);
  expect(new Set(await found(key, 'total coupon'))).toEqual(new Set([2, 3, null]));
  expect(new Set(await found(key, '"coupon total"'))).toEqual(new Set([3, null]));
  expect(await found(key, '"total of" coupon')).toEqual([2]);
  expect(await found(key, 'src/cart.ts')).toEqual([4]);
  expect(await found(key, 'drei zeile')).toEqual([5]);
  expect(await found(key, 'coupons')).toEqual([]);
  expect(await found(key, `x' | !y:* & ) "`)).toEqual([]);
});

test('a tool is found by its name, and by words and paths in its input, whatever JSON escapes and what it puts out meanwhile', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key, { title: 'Tools' });
  const call = (itemId: string, eventData: object) => ({
    eventType: 'x',
    provider: 'p',
    eventData: { type: 'x', itemId, ...eventData },
  });
  const input = JSON.stringify({ file_path: 'C:\\new\\total.ts', content: 'const a = 1;\nexport const größe = 2;' });
  await append(gateway, key, id, [
    call('1', { toolName: 'mcp__files__write', toolResult: { status: 'running' }, accumulatedText: input }),
    call('1', { toolName: 'mcp__files__write', toolResult: { status: 'completed', output: 'written' } }),
    call('2', { toolName: 'ListPeople', toolResult: { status: 'running' } }),
    call('3', { toolName: 'Bash', accumulatedText: '{"command":"make\\t\\u0061ll"}' }),
    call('3', { toolName: 'Bash', toolResult: { status: 'running', output: '[info] C:\\new' } }),
    call('3', { toolName: 'Bash', toolResult: { status: 'error', output: '{"line":"one\\ntwo"}' } }),
  ]);
  await index();
  const finds = async (texts: readonly string[]) =>
    Object.fromEntries(await Promise.all(texts.map(async (text) => [text, await found(key, text)])));
  expect(
    await finds(['write', 'mcp__files__write', 'total.ts', 'new/total.ts', 'export', 'Größe write', 'nexport']),
  ).toEqual({
    write: [1],
    mcp__files__write: [1],
    'total.ts': [1],
    'new/total.ts': [1],
    export: [1],
    'Größe write': [1],
    nexport: [],
  });
  expect(await finds(['listpeople', 'bash', 'make all', 'two', 'new', 'written bash'])).toEqual({
    listpeople: [3],
    bash: [4],
    'make all': [4],
    two: [6],
    new: [1],
    'written bash': [],
  });
  expect((await search(key, 'export')).body.items[0]?.excerpt).toContain('a = 1; export const größe = 2;');
  expect((await search(key, 'listpeople')).body.items[0]?.excerpt).toBe('ListPeople');
});

test('events(filter: {itemIds}) has the call of a tool with its result', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key, { title: 'Items' });
  const event = (itemId: string | null) => ({ eventType: 'x', provider: 'p', eventData: { type: 'x', itemId } });
  await append(gateway, key, id, ['a', 'b', null, 'a', 'c"\\'].map(event));
  const query = `query($id: ID!, $itemIds: [String!]) { session(id: $id) { events(filter: {itemIds: $itemIds}) { totalCount nodes { databaseId } } } }`;
  const idsOf = async (itemIds: readonly string[] | null) => {
    const { data } = await gateway.graphql<{ session: { events: { nodes: { databaseId: number }[] } } }>(key, query, {
      id,
      itemIds,
    });
    return data?.session.events.nodes.map(({ databaseId }) => databaseId);
  };
  expect(await idsOf(['a', 'c"\\', 'd'])).toEqual([1, 4, 5]);
  expect(await idsOf([])).toEqual([]);
  expect(await idsOf(null)).toEqual([1, 2, 3, 4, 5]);
});

test('a match has its session, its event and the part of the text around the first word, the same over both APIs', async () => {
  const { key, organization } = await gateway.createKey();
  const id = await createSession(gateway, key, { title: 'Long' });
  await say(key, id, `${'vorher '.repeat(400)}die Größe der Schachtel ${'nachher '.repeat(400)}`);
  await index();
  const { status, body } = await search(key, 'schachtel große');
  expect([status, body.nextCursor, body.items.map(({ eventId }) => eventId)]).toEqual([200, null, [1]]);
  expect(body.items[0]?.excerpt).toMatch(/^… vorher .*die Größe der Schachtel nachher.* …$/);
  expect(body.items[0]?.session).toMatchObject({ id, title: 'Long' });
  const { data } = await gateway.graphql<{ organization: { sessionSearch: { totalCount: number; nodes: object[] } } }>(
    key,
    `query($slug: String!) { organization(slug: $slug) { sessionSearch(text: "schachtel große", first: 5) { totalCount nodes { session { databaseId } eventId excerpt } } } }`,
    { slug: organization },
  );
  expect(data?.organization.sessionSearch).toEqual({
    totalCount: 1,
    nodes: [{ session: { databaseId: id }, eventId: 1, excerpt: body.items[0]?.excerpt }],
  });
});

test('pages do not repeat or skip a match, newest first', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key, { title: 'Pages' });
  await say(key, id, ...Array.from({ length: 25 }, (_, number) => `needle ${number}`));
  await index();
  const ids: unknown[] = [];
  let cursor: string | null = '';
  for (; cursor !== null;) {
    const { body }: { body: Matches } = await search(key, 'needle', `&limit=10${cursor && `&cursor=${cursor}`}`);
    ids.push(...body.items.map(({ eventId }) => eventId));
    cursor = body.nextCursor;
  }
  expect(ids).toEqual(Array.from({ length: 25 }, (_, number) => 25 - number));
});

test('only sessions that the caller can read are searched', async () => {
  const owner = await gateway.createKey();
  const { organization } = owner;
  const admin = await gateway.createKey({ organization, role: 'admin' });
  const member = await gateway.createKey({ organization });
  const stranger = await gateway.createKey();
  const secret = await createSession(gateway, member.key, { title: 'Private' });
  const open = await createSession(gateway, member.key, { title: 'Public', visibility: 'PUBLIC' });
  await say(member.key, secret, 'heliotrope of Private');
  await say(member.key, open, 'heliotrope of Public');
  await index();
  const titles = async (key: string) =>
    (await search(key, 'heliotrope')).body.items.map(({ session }) => session.title).toSorted();
  expect(await titles(member.key)).toEqual(['Private', 'Public']);
  expect(await titles(admin.key)).toEqual(['Private', 'Public']);
  expect(await titles((await gateway.createKey({ organization })).key)).toEqual(['Public']);
  expect(await titles(stranger.key)).toEqual([]);
  // Excerpts without their sessions, whose visibility REST and the field `session` check again.
  const excerpts = async (key: string) => {
    const { data } = await gateway.graphql<{ organization: { sessionSearch: { totalCount: number; nodes: Match[] } } }>(
      key,
      `query($slug: String!) { organization(slug: $slug) { sessionSearch(text: "heliotrope") { totalCount nodes { eventId excerpt } } } }`,
      { slug: organization },
    );
    const { totalCount, nodes } = data?.organization.sessionSearch ?? { totalCount: 0, nodes: [] };
    return [totalCount, ...nodes.map(({ excerpt }) => excerpt).toSorted()];
  };
  const all = [2, 'heliotrope of Private', 'heliotrope of Public'];
  expect([await excerpts(member.key), await excerpts(admin.key)]).toEqual([all, all]);
  const other = await gateway.createKey({ organization });
  expect(await excerpts(other.key)).toEqual([1, 'heliotrope of Public']);
  const { email } = member;
  const recorder = await gateway.createKey({ email, organization, scopes: ['sessions.record'] });
  expect((await search(recorder.key, 'heliotrope')).status).toBe(403);
});

test('only sessions that meet the filter are searched, over both APIs', async () => {
  const { key, organization } = await gateway.createKey();
  const other = await gateway.createKey({ organization });
  const [one, two] = [
    await createSession(gateway, key, { title: 'One', agent: 'claude', visibility: 'PUBLIC' }),
    await createSession(gateway, other.key, { title: 'Two', agent: 'codex', visibility: 'PUBLIC' }),
  ];
  await say(key, one, 'celadon');
  await say(other.key, two, 'celadon');
  await index();
  const rest = async (parameters: string) =>
    (await search(key, 'celadon', parameters)).body.items.map(({ session }) => session.title);
  expect(await rest('')).toEqual(['Two', 'One']);
  expect([await rest('&title=on'), await rest('&state=completed'), await rest('&visibility=public&title=two')]).toEqual(
    [['One'], [], ['Two']],
  );
  const inGraphQL = async (filter: object) => {
    const { data, errors } = await gateway.graphql<{
      organization: { sessionSearch: { totalCount: number; nodes: Match[] } };
    }>(
      key,
      `query($slug: String!, $filter: SessionFilter) { organization(slug: $slug) { sessionSearch(text: "celadon", filter: $filter) {
        totalCount nodes { session { title } } } } }`,
      { slug: organization, filter },
    );
    expect(errors).toBeUndefined();
    const { totalCount, nodes = [] } = data?.organization.sessionSearch ?? {};
    expect(totalCount).toBe(nodes.length);
    return nodes.map(({ session }) => session.title);
  };
  expect(await inGraphQL({})).toEqual(['Two', 'One']);
  expect(await inGraphQL({ agents: ['codex'] })).toEqual(['Two']);
  expect(await inGraphQL({ creatorIds: [other.userId], states: ['QUEUED'] })).toEqual(['Two']);
  expect(await inGraphQL({ createdBefore: '2000-01-01T00:00:00Z' })).toEqual([]);
  expect(await inGraphQL({ agents: [] })).toEqual([]);
});

test('a new title is found, and the old one is not', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key, { title: 'Aquamarine' });
  await index();
  await mutate(gateway, key, 'updateSession', { sessionId: id, title: 'Turquoise' });
  await index();
  expect([await found(key, 'aquamarine'), await found(key, 'turquoise')]).toEqual([[], [null]]);
});

test('a message that arrives in parts is found once, by its last text', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key, { title: 'Parts' });
  for (const line of AGENT_LINES.gemini) {
    await gateway.rest('POST', `/v1/sessions/${id}/events`, {
      key,
      body: line,
      headers: { 'Content-Type': 'application/x-ndjson; format=gemini' },
    });
    await index();
  }
  expect([await found(key, 'hel'), await found(key, 'hello')]).toEqual([[], [5, 2]]);
});

test('what is recorded while a session is indexed is indexed by the next run', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key, { title: 'Meanwhile' });
  await index();
  await say(key, id, 'vermilion one');
  // The run has read the events, and waits to store their texts.
  const lock = `select from session_text where session_id = ? and item = 'title' for update`;
  await whileLocked(gateway, lock, [id], async (release) => {
    const indexing = indexSessions(gateway.dependencies.database.em);
    await untilWaitingForLock(gateway, 1);
    await say(key, id, 'vermilion two');
    await release();
    await indexing;
  });
  expect(await found(key, 'vermilion')).toEqual([1]);
  await index();
  expect(await found(key, 'vermilion')).toEqual([2, 1]);
});

test('deleted sessions and pruned events are found no more, and nothing of them stays in the index', async () => {
  const { key, organizationId } = await gateway.createKey();
  const [kept, gone] = [
    await createSession(gateway, key, { title: 'Kept' }),
    await createSession(gateway, key, { title: 'Gone' }),
  ];
  for (const id of [kept, gone]) await say(key, id, 'chartreuse one', 'chartreuse two');
  await index();
  expect(await found(key, 'chartreuse')).toHaveLength(4);
  const { now, newId, sql, notifier } = gateway.dependencies;
  await pruneSessionEvents({ em: em(), now, newId, sql, notifier }, { sessionId: kept });
  expect(await found(key, 'chartreuse')).toHaveLength(2);
  const [whole, batch] = [{ organizationId }, { batch: 10, deletionJobId: null }];
  await em().transactional(async (inner) => deleteSessions(inner, whole, batch));
  expect(await found(key, 'chartreuse')).toEqual([]);
  await purgeSessions({ em: em(), signal: AbortSignal.timeout(60_000) }, { sessionIds: [kept, gone] });
  const rows = await gateway.dependencies.sql.query('select from session_text where session_id = any($1)', [
    [kept, gone],
  ]);
  expect(rows).toEqual([]);
});

test('events(filter: {text}) finds events of one session, in their order, with a count; a subscription refuses it', async () => {
  const { key } = await gateway.createKey();
  const [id, other] = [await createSession(gateway, key, { title: 'Filter' }), await createSession(gateway, key)];
  await say(key, id, 'magenta one', 'nothing', 'magenta two');
  await say(key, other, 'magenta three');
  await index();
  const query = `query($id: ID!, $text: String!) { session(id: $id) { events(filter: {text: $text}) { totalCount nodes { databaseId } } } }`;
  const { data } = await gateway.graphql<{ session: object }>(key, query, { id, text: 'MAGENTA' });
  expect(data?.session).toEqual({ events: { totalCount: 2, nodes: [{ databaseId: 1 }, { databaseId: 3 }] } });
  const refused = await gateway.graphql(key, query, { id, text: '?!' });
  expect(refused.errors?.[0]?.message).toContain('must have at least one letter or digit');
  const response = await gateway.fetch('/graphql', {
    method: 'POST',
    headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: 'text/event-stream' },
    body: JSON.stringify({
      query: `subscription { sessionEvents(sessionId: "${id}", filter: {text: "x"}) { databaseId } }`,
    }),
  });
  expect(await response.text()).toContain('filter.text: is not possible in a subscription');
});

test.each([
  ['', 'text: must not be empty'],
  ['?!', 'text: must have at least one letter or digit'],
  ['x'.repeat(1001), 'text: must be at most 1000 characters'],
])('400: %j', async (text, error) => {
  const { key } = await gateway.createKey();
  const { status, body } = await search(key, text);
  expect([status, body.error]).toEqual([400, error]);
});

test('GraphQL has the found event, with one statement for all matches; a found title has none', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key, { title: 'A xylophone' });
  await say(key, id, 'xylophone one', 'xylophone two', 'xylophone three');
  await index();
  const query = `query($first: Int) { viewer { organization { sessionSearch(text: "xylophone", first: $first) {
    nodes { eventId event { databaseId eventData { accumulatedText } } } } } } }`;
  const read = async (first: number) => {
    gateway.statements.length = 0;
    const { data } = await gateway.graphql<{
      viewer: { organization: { sessionSearch: { nodes: { eventId: number | null; event: object | null }[] } } };
    }>(key, query, { first });
    return { nodes: data?.viewer.organization.sessionSearch.nodes, statements: gateway.statements.length };
  };
  const all = await read(50);
  const event = (databaseId: number, text: string) => ({
    eventId: databaseId,
    event: { databaseId, eventData: { accumulatedText: `xylophone ${text}` } },
  });
  expect(all.nodes?.filter(({ eventId }) => eventId !== null)).toEqual([
    event(3, 'three'),
    event(2, 'two'),
    event(1, 'one'),
  ]);
  expect(all.nodes?.filter(({ eventId }) => eventId === null)).toEqual([{ eventId: null, event: null }]);
  // A page that is full is found by one statement.
  const [more, few] = [await read(3), await read(1)];
  expect(more.statements).toBe(few.statements);
});

test('the metric counts the sessions with texts that are not indexed', async () => {
  const own = await startTestGateway();
  const { key } = await own.createKey();
  const pending = async () => {
    const text = await (await own.fetch('/metrics')).text();
    return Number(/^gateway_search_pending_sessions (\d+)$/m.exec(text)?.[1]);
  };
  const [one] = await Promise.all([createSession(own, key), createSession(own, key)]);
  await expect.poll(pending).toBe(2);
  await append(own, key, one, [{ eventType: 'x', provider: 'p', createdAt: new Date().toISOString(), eventData: {} }]);
  while ((await indexSessions(own.dependencies.database.em)) > 0);
  await expect.poll(pending).toBe(0);
  await own.close();
});
