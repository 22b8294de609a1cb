import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { FEED_TYPES, type FeedType } from '../../../src/core/feed.ts';
import { publishSentOccurrences } from '../../../src/domains/event-occurrences/feed-job.ts';
import { workContext } from '../../../src/gateway/contexts.ts';
import { caseFaults } from '../../support/completeness.ts';
import { define, send } from '../../support/fixtures/event-occurrences.ts';
import { startTestGateway, useOwnGateway } from '../../support/fixtures/gateway.ts';
import { acceptWithoutKey, invite } from '../../support/fixtures/invitations.ts';
import { STDIO, createConnection } from '../../support/fixtures/mcp-connections.ts';
import {
  createSession,
  moveTo,
  mutate,
  pullRequestInput,
  EventStream,
  subscribe,
} from '../../support/fixtures/sessions.ts';
import { runJobs } from '../../support/processes/jobs.ts';

const gateway = useOwnGateway();

interface Entry {
  readonly id: number;
  readonly type: string;
  readonly createdAt: string;
  readonly subjectType: string;
  readonly subjectId: string | null;
  readonly data: Record<string, unknown>;
}
interface Page {
  readonly items: Entry[];
  readonly nextCursor: string;
}

async function read(key: string, query = ''): Promise<Page> {
  const { status, body, text } = await gateway.rest<Page>('GET', `/v1/feed${query}`, { key });
  if (status !== 200) throw new Error(text);
  return body;
}

async function follow(key: string, query: string, more: Record<string, string> = {}): Promise<EventStream> {
  const headers = { Authorization: `Bearer ${key}`, Accept: 'text/event-stream', ...more };
  return new EventStream(await gateway.fetch(`/v1/feed${query}`, { headers }));
}

/** Types of which other tests expect entries: the end of an account below, test/domains/webhooks/delivery.test.ts, and test/domains/sessions/deletion.test.ts. */
const EXPECTED_ELSEWHERE: readonly FeedType[] = [
  'deletion_job.finished',
  'webhook.failing',
  'webhook.disabled',
  'session.deleted',
  'mcp_connection.tools_changed',
  'tool_approval.requested',
  'tool_approval.decided',
];

const shortly = ({ type, subjectId, data }: Entry) => ({ type, subjectId, ...data });

test('every change that others wait for has one entry, in the order of the commits', async () => {
  const { key, organization, userId, email } = await gateway.createKey();
  const start = (await read(key)).nextCursor;
  const id = await createSession(gateway, key, { visibility: 'PRIVATE' });
  await moveTo(gateway, key, id, 'IN_PROGRESS', 'COMPLETED');
  const { artifact } = await mutate<{ artifact: { databaseId: string } }>(
    gateway,
    key,
    'recordArtifact',
    { sessionId: id, type: 'PULL_REQUEST' },
    'artifact { databaseId }',
  );
  const pullRequest = pullRequestInput(artifact.databaseId);
  for (const status of ['OPEN', 'MERGED']) await mutate(gateway, key, 'recordPullRequest', { ...pullRequest, status });
  const connection = (await createConnection(gateway, key, STDIO)).body.connection.id;
  await gateway.rest('DELETE', `/v1/mcp-connections/${connection}`, { key });
  const name = await define(gateway, key);
  const path = `/events/2026-03/event-definitions/${name}`;
  const definition = (await gateway.rest<{ id: string }>('GET', path, { key })).body.id;
  await gateway.rest('PATCH', path, { key, body: { label: 'Another' } });
  await gateway.rest('POST', `${path}/property`, { key, body: { label: 'More', type: 'string' } });
  gateway.setClock(new Date('2026-05-04T10:20:30Z'));
  await send(gateway, 'REST', key, [{ eventName: name, objectId: '1' }]);
  await send(gateway, 'REST', key, [
    { eventName: name, objectId: '1' },
    { eventName: name, objectId: '2' },
  ]);
  const publish = () =>
    publishSentOccurrences({ ...workContext(gateway.dependencies), signal: new AbortController().signal });
  await publish();
  gateway.setClock(new Date('2026-05-04T10:21:00Z'));
  await publish();
  gateway.setClock(undefined);
  await gateway.rest('DELETE', path, { key });
  const member = await gateway.createKey({ organization });
  await mutate(gateway, key, 'removeOrganizationMember', { userId: member.userId });

  const { items, nextCursor } = await read(key, `?cursor=${start}`);
  expect(items.map(shortly)).toEqual([
    { type: 'session.created', subjectId: id, state: 'queued' },
    { type: 'session.state_changed', subjectId: id, state: 'inProgress', previousState: 'queued' },
    { type: 'session.state_changed', subjectId: id, state: 'completed', previousState: 'inProgress' },
    ...['open', 'merged'].map((status) => ({
      type: 'session.pull_request_changed',
      subjectId: id,
      artifactId: artifact.databaseId,
      pullRequestId: expect.any(String),
      status,
    })),
    { type: 'mcp_connection.status_changed', subjectId: connection, status: 'STORED' },
    { type: 'mcp_connection.deleted', subjectId: connection },
    { type: 'event_definition.created', subjectId: definition },
    { type: 'event_definition.changed', subjectId: definition },
    { type: 'event_definition.changed', subjectId: definition },
    { type: 'event_occurrences.sent', subjectId: definition, minute: '2026-05-04T10:20:00.000Z', count: 3 },
    { type: 'event_definition.deleted', subjectId: definition },
    { type: 'member.joined', subjectId: member.userId, role: 'member' },
    { type: 'member.left', subjectId: member.userId },
  ]);
  const expected = [...items.map(({ type }) => type), ...EXPECTED_ELSEWHERE];
  expect(caseFaults('the changes of this test (test/domains/feed/feed.test.ts)', expected, FEED_TYPES)).toBe('');
  expect(items[0]).toEqual({
    id: Number(start) + 1,
    type: 'session.created',
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
    subjectType: 'Session',
    subjectId: id,
    data: { state: 'queued' },
  });
  expect(items.map((item) => item.id)).toEqual(items.map((_, index) => Number(start) + 1 + index));
  expect(nextCursor).toBe(String(items.at(-1)?.id));
  expect(JSON.stringify(items)).not.toContain(email);
  expect(userId).not.toBe(member.userId);
});

test('an applied tracking plan has one entry for each definition that it creates, changes or deletes; a dry run has none', async () => {
  const { key } = await gateway.createKey();
  const apply = async (plan: object) => {
    const { status, text } = await gateway.rest('POST', '/v1/tracking-plan', { key, body: plan });
    if (status !== 200) throw new Error(text);
  };
  const event = (name: string, names: readonly string[] = [], rest: object = {}) => ({
    name,
    label: name,
    includeDefaultProperties: false,
    propertyDefinitions: names.map((each) => ({ name: each, label: each, type: 'string' })),
    ...rest,
  });
  const versionOf = async (name: string) =>
    (await gateway.rest<{ id: string; updatedAt: string }>('GET', `/events/2026-03/event-definitions/${name}`, { key }))
      .body;
  await apply({ definitions: [event('a', ['x']), event('b'), event('c')], isDryRun: true });
  await apply({ definitions: [event('a', ['x']), event('b'), event('c')] });
  const [a, b, c] = [await versionOf('a'), await versionOf('b'), await versionOf('c')];
  // Only the properties of the first one differ.
  const definitions = [
    event('a', ['x', 'y'], { expectedUpdatedAt: a.updatedAt }),
    event('b', [], { expectedUpdatedAt: b.updatedAt }),
  ];
  gateway.setClock(new Date(Date.now() + 60_000));
  await apply({ definitions, deletions: [{ name: 'c', expectedUpdatedAt: c.updatedAt }] });
  gateway.setClock(undefined);
  const { items } = await read(
    key,
    '?types=event_definition.created,event_definition.changed,event_definition.deleted',
  );
  const sorted = (list: readonly string[]) => list.toSorted();
  const found = items.map(({ type, subjectId }) => `${type} ${subjectId}`);
  expect(sorted(found.slice(0, 3))).toEqual(sorted([a, b, c].map(({ id }) => `event_definition.created ${id}`)));
  expect(sorted(found.slice(3))).toEqual([`event_definition.changed ${a.id}`, `event_definition.deleted ${c.id}`]);
});

test('pages, filters by type, and refusals', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  await moveTo(gateway, key, id, 'IN_PROGRESS', 'FAILED');
  const first = await gateway.rest<Page>('GET', '/v1/feed?limit=2', { key });
  expect(first.body.items).toHaveLength(2);
  const link = /<[^>]*(\/v1\/feed[^>]*)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
  const second = await gateway.rest<Page>('GET', link, { key });
  const all = (await read(key)).items;
  expect([...first.body.items, ...second.body.items]).toEqual(all);
  expect(second.headers.get('link')).toBeNull();
  const filtered = await read(key, '?types=session.created,member.left');
  expect(filtered.items.map(({ type }) => type)).toEqual(['session.created']);
  // Entries of other types do not hold up the cursor.
  expect(filtered.nextCursor).toBe(String(all.at(-1)?.id));
  expect(await read(key, `?cursor=${filtered.nextCursor}`)).toEqual({ items: [], nextCursor: filtered.nextCursor });
  // Larger than any id, but a client can poll with it.
  const beyond = '9223372036854775807';
  expect(await read(key, `?cursor=${beyond}`)).toEqual({ items: [], nextCursor: beyond });
  for (const [query, message] of [
    ['cursor=9223372036854775808', /^cursor: must be at most 9223372036854775807$/],
    ['types=session.nothing', /^types\.0: must be one of/],
    ['limit=1001', /^limit: must be from 1 to 1000/],
    ['cursor=x', /^cursor: must be the id of an event, in decimal digits/],
    ['after=1', /^after: /],
  ] as const) {
    const { status, body } = await gateway.rest<{ error: string }>('GET', `/v1/feed?${query}`, { key });
    expect([status, body.error]).toEqual([400, expect.stringMatching(message)]);
  }
});

test('a caller sees what they may see, and what is hidden does not hold up their cursor', async () => {
  const admin = await gateway.createKey();
  const [one, other] = [
    await gateway.createKey({ organization: admin.organization }),
    await gateway.createKey({ organization: admin.organization }),
  ];
  const recorder = await gateway.createKey({ organization: admin.organization, scopes: ['sessions.record'] });
  const start = (await read(admin.key)).nextCursor;
  const since = async (key: string) => {
    const { items, nextCursor } = await read(key, `?cursor=${start}`);
    return [items.map(({ subjectId }) => subjectId), nextCursor];
  };
  const open = await createSession(gateway, one.key, { visibility: 'PUBLIC' });
  const hidden = await createSession(gateway, one.key, { visibility: 'PRIVATE' });
  const personal = (await createConnection(gateway, one.key, { ...STDIO, visibility: 'personal' })).body.connection.id;
  const end = String(Number(start) + 3);
  expect(await since(admin.key)).toEqual([[open, hidden], end]);
  expect(await since(one.key)).toEqual([[open, hidden, personal], end]);
  expect(await since(other.key)).toEqual([[open], end]);
  expect(await since(recorder.key)).toEqual([[], end]);
  await gateway.rest('PATCH', `/v1/sessions/${open}`, { key: one.key, body: { visibility: 'private' } });
  expect(await since(other.key)).toEqual([[], end]);
  const stranger = await gateway.createKey();
  expect((await read(stranger.key)).items.map(({ subjectId }) => subjectId)).not.toContain(open);
});

test('the deletion of an account is an entry for administrators, and its id is forgotten', async () => {
  const admin = await gateway.createKey();
  const { key: inviting } = admin;
  const email = `${randomUUID()}@example.com`;
  const { token } = await invite(gateway, inviting, email);
  const { body } = await acceptWithoutKey(gateway, { token });
  const joined = (await read(admin.key, '?types=member.joined')).items.at(-1);
  const member = await gateway.createKey({ organization: admin.organization });
  const deletion = await gateway.rest<{ deletionJobId?: string }>('DELETE', `/v1/users/${joined?.subjectId}`, {
    key: body.apiKey.key,
  });
  expect(deletion.status).toBe(202);
  await runJobs(gateway);
  const items = (await read(admin.key, '?types=member.left,deletion_job.finished')).items.map(shortly);
  expect(items).toEqual([
    { type: 'member.left', subjectId: null },
    { type: 'deletion_job.finished', subjectId: expect.any(String), state: 'done' },
  ]);
  expect((await read(member.key, '?types=deletion_job.finished')).items).toEqual([]);
});

test('ids grow in commit order: a reader that follows the cursor sees each of many concurrent changes once', async () => {
  const { key } = await gateway.createKey();
  const seen: number[] = [];
  let cursor = '0';
  let isWriting = true;
  const reading = (async () => {
    for (let page = await read(key); isWriting || page.items.length > 0; page = await read(key, `?cursor=${cursor}`)) {
      cursor = page.nextCursor;
      seen.push(...page.items.map(({ id }) => id));
    }
  })();
  const write = async () => {
    for (let count = 0; count < 10; count += 1) await createSession(gateway, key);
  };
  await Promise.all(Array.from({ length: 8 }, write));
  isWriting = false;
  await reading;
  const all = (await read(key, '?limit=1000')).items.map(({ id }) => id);
  expect(all.length).toBeGreaterThanOrEqual(80);
  expect(seen).toEqual(all);
});

test('a refused change has no entry', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  const { nextCursor } = await read(key);
  await mutate(gateway, key, 'transitionSession', { sessionId: id, state: 'COMPLETED' });
  await mutate(gateway, key, 'createSession', { title: 'x', mcpServers: ['nothing'] });
  expect(await read(key, `?cursor=${nextCursor}`)).toEqual({ items: [], nextCursor });
});

test('live over REST and GraphQL: stored entries, then new ones of another process; resumed with the id', async () => {
  const peer = await startTestGateway({}, { beside: gateway });
  const { key } = await gateway.createKey();
  const first = await createSession(gateway, key);
  const cursor = (await read(key)).nextCursor;
  const stream = await follow(key, '?types=session.created');
  const events = await subscribe(
    gateway,
    key,
    'subscription { feed(types: [SESSION_CREATED]) { databaseId type data } }',
    {},
  );
  const second = await createSession(peer, key);
  const sent = await stream.take(2);
  expect(sent.map(({ data = '' }) => (JSON.parse(data) as Entry).subjectId)).toEqual([first, second]);
  expect((await events.take(2)).map(({ id, data = '' }) => [id, JSON.parse(data)])).toEqual(
    sent.map(({ id }) => [
      id,
      { data: { feed: { databaseId: Number(id), type: 'SESSION_CREATED', data: { state: 'queued' } } } },
    ]),
  );
  await Promise.all([stream.close(), events.close()]);
  const resumed = await follow(key, '', { 'Last-Event-ID': cursor });
  expect((await resumed.take(1))[0]?.id).toBe(sent[1]?.id);
  await resumed.close();
  await peer.close();
});

test('GraphQL: pages from both ends, the count, and nodes', async () => {
  const { key } = await gateway.createKey();
  const id = await createSession(gateway, key);
  await moveTo(gateway, key, id, 'IN_PROGRESS', 'FAILED');
  const query = `query($first: Int, $last: Int, $after: String, $filter: FeedEntryFilter, $orderBy: FeedEntryOrder) { viewer { organization {
    feed(first: $first, last: $last, after: $after, filter: $filter, orderBy: $orderBy) { totalCount pageInfo { hasNextPage hasPreviousPage endCursor } nodes { id databaseId } } } } }`;
  interface List {
    totalCount: number;
    pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; endCursor: string };
    nodes: { id: string; databaseId: number }[];
  }
  const page = async (variables: object) => {
    const { data, errors } = await gateway.graphql<{ viewer: { organization: { feed: List } } }>(key, query, {
      filter: { types: ['SESSION_CREATED', 'SESSION_STATE_CHANGED'] },
      ...variables,
    });
    if (!data) throw new Error(JSON.stringify(errors));
    return data.viewer.organization.feed;
  };
  const all = await page({ first: 10 });
  const ids = all.nodes.map(({ databaseId }) => databaseId);
  expect([all.totalCount, ids.length, all.pageInfo.hasNextPage]).toEqual([3, 3, false]);
  const first = await page({ first: 2 });
  expect(first.pageInfo).toEqual({ hasNextPage: true, hasPreviousPage: false, endCursor: String(ids[1]) });
  const rest = await page({ first: 2, after: first.pageInfo.endCursor });
  expect([...first.nodes, ...rest.nodes]).toEqual(all.nodes);
  expect((await page({ last: 1 })).nodes).toEqual(all.nodes.slice(2));
  const latest = await page({ first: 1, orderBy: { field: 'ID', direction: 'DESC' } });
  expect(latest.nodes).toEqual(all.nodes.slice(2));
  const { data } = await gateway.graphql<{ node: object }>(
    key,
    'query($id: ID!) { node(id: $id) { ... on FeedEntry { type subjectType subjectId data } } }',
    { id: all.nodes[1]?.id },
  );
  expect(data?.node).toEqual({
    type: 'SESSION_STATE_CHANGED',
    subjectType: 'Session',
    subjectId: Buffer.from(`Session:${id}`).toString('base64'),
    data: { state: 'inProgress', previousState: 'queued' },
  });
});

test('a page has at most 1,000 entries, from either end', async () => {
  const { key } = await gateway.createKey();
  const feed = async (asked: string) => {
    const { data, errors } = await gateway.graphql<object>(
      key,
      `{ viewer { organization { feed(${asked}) { nodes { id } } } } }`,
    );
    return errors?.map(({ message }) => message) ?? data;
  };
  const empty = { viewer: { organization: { feed: { nodes: expect.any(Array) } } } };
  for (const asked of ['first: 1', 'last: 1', 'first: 1000', 'last: 1000']) expect(await feed(asked)).toEqual(empty);
  for (const name of ['first', 'last'])
    for (const size of [0, 1001]) expect(await feed(`${name}: ${size}`)).toEqual([`${name}: must be from 1 to 1000`]);
});
