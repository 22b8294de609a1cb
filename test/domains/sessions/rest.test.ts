import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { type TestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import { eventsOf } from '../../support/fixtures/sessions.ts';
import { recordSession } from '../../support/fixtures/workspace.ts';
import { sampled } from '../../support/sample.ts';

const gateway = useTestGateway();

type Issued = Awaited<ReturnType<TestGateway['createKey']>>;
interface SessionDocument {
  readonly id: string;
  readonly title: string;
  readonly [field: string]: unknown;
}
interface List {
  readonly items: SessionDocument[];
  readonly nextCursor: string | null;
  readonly error?: string;
}

const list = (key: string, query = '') => gateway.rest<List>('GET', `/v1/sessions${query}`, { key });
const create = (key: string, body: object) => gateway.rest<SessionDocument>('POST', '/v1/sessions', { key, body });
const read = (key: string, id: string) => gateway.rest<SessionDocument>('GET', `/v1/sessions/${id}`, { key });
const titles = ({ body }: { body: List }) => body.items.map(({ title }) => title);

test('a session can be created, read, listed and recorded with REST only', async () => {
  const { key, userId } = await gateway.createKey();
  const created = await create(key, { title: 'One', kind: 'review', source: { name: 'Issue 1', type: 'issue' } });
  expect([created.status, created.body]).toMatchObject([201, { title: 'One', kind: 'review', visibility: 'private' }]);
  const { id } = created.body;
  const events = await gateway.rest('POST', `/v1/sessions/${id}/events`, { key, body: { events: eventsOf(3) } });
  expect([events.status, events.body]).toEqual([
    201,
    {
      sessionId: id,
      firstId: 1,
      lastId: 3,
      isReplayed: false,
      events: 3,
      repairedTexts: 0,
      redactedSecrets: 0,
      repeatedLines: 0,
    },
  ]);
  const found = await read(key, id);
  expect([found.status, found.body]).toEqual([200, created.body]);
  expect(await list(key)).toMatchObject({ status: 200, body: { items: [found.body], nextCursor: null } });
  const creators = await gateway.dependencies.sql.query('select creator_id as "creatorId" from session where id = $1', [
    id,
  ]);
  expect(creators).toEqual([{ creatorId: userId }]);
});

test('a repeated batch gets the same ids, and other events with its batchId are 409', async () => {
  const { key } = await gateway.createKey();
  const { body } = await create(key, { title: 'One' });
  const append = (events: object[]) =>
    gateway.rest('POST', `/v1/sessions/${body.id}/events`, { key, body: { batchId: 'b', events } });
  const stored = { sessionId: body.id, firstId: 1, lastId: 2 };
  expect(await append(eventsOf(2))).toMatchObject({ status: 201, body: { ...stored, isReplayed: false } });
  expect(await append(eventsOf(2))).toMatchObject({ status: 201, body: { ...stored, isReplayed: true } });
  expect(await append(eventsOf(2, { from: 5 }))).toMatchObject({
    status: 409,
    body: { error: 'batchId: already used for other events; use another batchId' },
  });
});

test('the list returns each session with artifacts, pull requests and project, exactly like a request for that session', async () => {
  const { key } = await gateway.createKey();
  const recorded = [await recordSession(gateway, key), await recordSession(gateway, key)];
  await create(key, { title: 'Bare', projectId: 'free text' });
  const { body } = await list(key);
  expect(body.items.map(({ artifacts }) => (artifacts as { pullRequests: object[] }[]).length)).toEqual([0, 1, 1]);
  for (const item of body.items) expect((await read(key, item.id)).body).toEqual(item);
  expect(body.items.map(({ id }) => id).slice(1)).toEqual(recorded.map(({ sessionId }) => sessionId).toReversed());
  expect(body.items[1]).toMatchObject({
    project: { name: 'Gateway' },
    artifacts: [{ pullRequests: [{ status: 'open' }] }],
  });
});

describe('pages', () => {
  let caller: Issued;
  beforeAll(async () => {
    caller = await gateway.createKey();
    for (let index = 1; index <= 5; index += 1)
      await create(caller.key, {
        title: `Session ${index}`,
        visibility: index % 2 === 0 ? 'public' : 'private',
        mode: index === 5 ? 'planning' : 'normal',
      });
  });

  test('nextCursor leads through all sessions, with any limit and in both orders, and is null at the end', async () => {
    for (const [query, expected] of [
      ['', [5, 4, 3, 2, 1]],
      ['sortOrder=ASC&', [1, 2, 3, 4, 5]],
      ['orderBy=updatedAt&sortOrder=ASC&', [1, 2, 3, 4, 5]],
    ] as const)
      for (const limit of [1, 2, 5, 100]) {
        const seen: string[] = [];
        let cursor: string | null = '';
        while (cursor !== null) {
          const page = await list(caller.key, `?${query}limit=${limit}${cursor && `&cursor=${cursor}`}`);
          expect(page.body.items.length).toBeLessThanOrEqual(limit);
          seen.push(...titles(page));
          cursor = page.body.nextCursor;
        }
        expect(seen).toEqual(expected.map((index) => `Session ${index}`));
      }
  });

  sampled(test, 3).each([
    ['visibility=public', [4, 2]],
    ['visibility=public&visibility=private&mode=planning', [5]],
    ['state=queued&title=session%203', [3]],
    ['state=failed', []],
    ['isPinned=true', []],
    ['isPinned=false&limit=1', [5]],
    ['projectId=none', []],
  ])('%s filters the list', async (query, expected) => {
    expect(titles(await list(caller.key, `?${query}`))).toEqual(expected.map((index) => `Session ${index}`));
  });

  sampled(test, 4).each([
    ['limit=0', 'limit: must be at least 1'],
    ['limit=101', 'limit: must be at most 100'],
    ['limit=1.5', 'limit: must be an integer'],
    ['limit=x', 'limit: must be a number'],
    ['limit=1&limit=2', 'limit: must be given only once'],
    ['cursor=x', 'cursor: is not a cursor of this list and order'],
    ['cursor=', 'cursor: must not be empty'],
    ['state=running', 'state.0: must be one of "queued", "inProgress", "completed", "failed", "cancelled"'],
    [
      'orderBy=title',
      'orderBy: must be one of "createdAt", "updatedAt", "lastSeenAt", "cost", "inputTokens", "outputTokens", "tokens", "duration", "toolErrors"',
    ],
    ['page=2', 'page: is not a known property'],
  ])('%s is refused: %s', async (query, error) => {
    const { status, body } = await list(caller.key, `?${query}`);
    expect([status, body]).toEqual([400, { error }]);
  });
});

describe('permissions', () => {
  test('members see public sessions and their own, administrators all, others none; private and foreign sessions are 404', async () => {
    const admin = await gateway.createKey();
    const { organization } = admin;
    const [creator, member, stranger] = [
      await gateway.createKey({ organization }),
      await gateway.createKey({ organization }),
      await gateway.createKey(),
    ];
    const secret = (await create(creator.key, { title: 'Private' })).body.id;
    const open = (await create(creator.key, { title: 'Public', visibility: 'public' })).body.id;
    for (const [{ key }, expected] of [
      [creator, ['Public', 'Private']],
      [admin, ['Public', 'Private']],
      [member, ['Public']],
      [stranger, []],
    ] as const)
      expect(titles(await list(key))).toEqual(expected);
    const missing = await read(member.key, randomUUID());
    expect([missing.status, missing.text]).toEqual([404, '{"error":"session not found","details":{"type":"Session"}}']);
    for (const [key, id] of [
      [member.key, secret],
      [stranger.key, secret],
      [stranger.key, open],
    ] as const) {
      const refused = await read(key, id);
      expect([refused.status, refused.text]).toEqual([404, missing.text]);
    }
  });

  test('each operation needs its scope', async () => {
    const { organization } = await gateway.createKey();
    const recorder = await gateway.createKey({ organization, scopes: ['sessions.record'] });
    const reader = await gateway.createKey({ organization, scopes: ['sessions.read'] });
    const { body } = await create(recorder.key, { title: 'One', visibility: 'public' });
    expect(body.title).toBe('One');
    const lacks = (scope: string) => ({ error: `the API key lacks the scope ${scope}` });
    expect(await list(recorder.key)).toMatchObject({ status: 403, body: lacks('sessions.read') });
    expect(await read(recorder.key, body.id)).toMatchObject({ status: 403, body: lacks('sessions.read') });
    expect(await create(reader.key, { title: 'Two' })).toMatchObject({ status: 403, body: lacks('sessions.record') });
    const append = { key: reader.key, body: { events: eventsOf(1) } };
    expect(await gateway.rest('POST', `/v1/sessions/${body.id}/events`, append)).toMatchObject({
      status: 403,
      body: lacks('sessions.record'),
    });
    expect((await list(reader.key)).body.items).toHaveLength(1);
  });
});
