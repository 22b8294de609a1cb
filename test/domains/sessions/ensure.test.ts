import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { toGlobalId } from '../../../src/core/graphql/global-ids.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { mutate } from '../../support/fixtures/sessions.ts';

/** The session of a transcript: one for an organization and the owner of the key. */

const gateway = useTestGateway();
let owner: { readonly key: string; readonly email: string; readonly organization: string };
beforeAll(async () => {
  owner = await gateway.createKey();
});

type Body = { id: string; createdAt: string; title: string; error?: string };
const put = (
  sourceId: string,
  { key = owner.key, agent = 'claude', ...body }: Record<string, string> & { key?: string } = {},
) => gateway.rest<Body>('PUT', `/v1/sessions/by-source/${agent}/${encodeURIComponent(sourceId)}`, { key, body });
const count = async (sourceId: string) => {
  const [row] = await gateway.dependencies.sql.query<{ count: string }>(
    `select count(*) from session where source -> 'transcript' ->> 'id' = $1`,
    [sourceId],
  );
  return Number(row?.count);
};

test('the first request creates the session in its place in time, and later ones find it as it is', async () => {
  const sourceId = randomUUID();
  const startedAt = '2026-01-02T03:04:05.678Z';
  const first = await put(sourceId, { title: 'Fix it', startedAt, project: 'shop', branchName: 'main' });
  expect(first).toMatchObject({
    status: 201,
    body: { title: 'Fix it', createdAt: startedAt, branchName: 'main', agent: 'claude', visibility: 'private' },
  });
  expect(first.body).toMatchObject({
    project: { name: 'shop' },
    sessionSource: { name: 'claude', type: 'transcript' },
  });
  expect(Object.keys((first.body as unknown as { sessionSource: object }).sessionSource).toSorted()).toEqual([
    'id',
    'name',
    'repositories',
    'type',
  ]);
  const second = await put(sourceId, { title: 'Other', startedAt: '2025-01-01T00:00:00Z', project: 'other' });
  expect(second).toEqual({ ...first, status: 200, headers: expect.anything() });
  const query = `query ($id: ID!) { session(id: $id) { source { agent id } project { name } } }`;
  const { data } = await gateway.graphql(owner.key, query, { id: toGlobalId('Session', first.body.id) });
  expect(data).toEqual({ session: { source: { agent: 'claude', id: sourceId }, project: { name: 'shop' } } });
});

test('of concurrent requests one creates the session and its project', async () => {
  const sourceId = randomUUID();
  const project = randomUUID();
  const answers = await Promise.all(Array.from({ length: 10 }, () => put(sourceId, { project })));
  expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
    ...Array.from({ length: 9 }, () => 200),
    201,
  ]);
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
  expect(await count(sourceId)).toBe(1);
  const projects = await gateway.dependencies.sql.query(`select from project where name = $1`, [project]);
  expect(projects).toHaveLength(1);
});

test('another agent, another owner and another organization have sessions of their own', async () => {
  const sourceId = randomUUID();
  const member = await gateway.createKey({ organization: owner.organization });
  const stranger = await gateway.createKey();
  const answers = [
    await put(sourceId),
    await put(sourceId, { agent: 'an agent' }),
    await put(sourceId, { key: member.key }),
    await put(sourceId, { key: stranger.key }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(4);
});

test('a later title of the transcript renames the session, unless a person has renamed it', async () => {
  const sourceId = randomUUID();
  const { body: created } = await put(sourceId, { title: 'first words' });
  expect(await put(sourceId, { title: 'Named', previousTitle: 'other words' })).toMatchObject({
    status: 200,
    body: { title: 'first words' },
  });
  const { body: renamed } = await put(sourceId, { title: 'Named', previousTitle: 'first words' });
  expect(renamed).toMatchObject({ id: created.id, title: 'Named' });
  expect((await put(sourceId, { title: 'Named', previousTitle: 'first words' })).body).toEqual(renamed);
  const query = `{ viewer { organization { auditLog(first: 1) { nodes { operation changedFields } } } } }`;
  expect((await gateway.graphql(owner.key, query)).data).toEqual({
    viewer: { organization: { auditLog: { nodes: [{ operation: 'ensureSession', changedFields: ['title'] }] } } },
  });
  await gateway.rest('PATCH', `/v1/sessions/${created.id}`, { key: owner.key, body: { title: 'Mine' } });
  expect((await put(sourceId, { title: 'Again', previousTitle: 'Named' })).body.title).toBe('Mine');
});

test('a transcript has its place in time, whenever it is imported', async () => {
  const startedAt = '2026-01-02T03:04:05.000Z';
  const { body } = await put(randomUUID(), { startedAt });
  const path = `/v1/sessions/${body.id}`;
  const seen = async () =>
    (await gateway.rest<{ lastSeenAt: string }>('GET', path, { key: owner.key })).body.lastSeenAt;
  expect(await seen()).toBe(startedAt);
  await gateway.rest('POST', `${path}/transition`, { key: owner.key, body: { state: 'inProgress' } });
  const send = (...times: readonly string[]) =>
    gateway.rest('POST', `${path}/events`, {
      key: owner.key,
      body: times.map((timestamp) => JSON.stringify({ type: 'user', timestamp })).join('\n'),
      headers: { 'Content-Type': 'application/x-ndjson; format=claude-transcript' },
    });
  await send('2026-01-02T05:00:00Z', '2026-01-02T04:00:00Z');
  await send('none');
  await send('2026-01-02T04:30:00Z');
  expect(await seen()).toBe('2026-01-02T05:00:00.000Z');
  await gateway.rest('POST', `${path}/transition`, { key: owner.key, body: { state: 'completed' } });
  expect(await seen()).toBe('2026-01-02T05:00:00.000Z');
});

test('409: a deleted session is not created again', async () => {
  const sourceId = randomUUID();
  const { body } = await put(sourceId);
  await gateway.rest('DELETE', `/v1/sessions/${body.id}`, { key: owner.key });
  expect(await put(sourceId)).toMatchObject({ status: 409, body: { error: expect.stringMatching(/was deleted/) } });
  const input = { agent: 'claude', sourceId };
  const again = await mutate(gateway, owner.key, 'ensureSession', input, 'session { id }');
  expect(again).toMatchObject({ __typename: 'ConflictError', path: ['sourceId'] });
  expect(await count(sourceId)).toBe(0);
});

describe('the input', () => {
  test('a key that only records is enough, and one that only reads is not', async () => {
    const { email, organization } = owner;
    const { key } = await gateway.createKey({ email, organization, scopes: ['sessions.record'] });
    expect(await put(randomUUID(), { key })).toMatchObject({ status: 201 });
    const reader = await gateway.createKey({ email, organization, scopes: ['sessions.read'] });
    expect(await put(randomUUID(), { key: reader.key })).toMatchObject({ status: 403 });
  });

  test('names the field and its bound', async () => {
    expect(await put('x'.repeat(255))).toMatchObject({ status: 201 });
    const tooLong = await put('x'.repeat(256));
    expect(tooLong).toMatchObject({ status: 400, body: { error: expect.stringMatching(/^sourceId: .*255/) } });
    const noTime = await put(randomUUID(), { startedAt: 'yesterday' });
    expect(noTime).toMatchObject({ status: 400, body: { error: expect.stringMatching(/^startedAt: /) } });
  });

  test('a time in the future is now, and credentials in the title are replaced', async () => {
    const now = new Date();
    gateway.setClock(now);
    const { body } = await put(randomUUID(), {
      startedAt: '2999-01-01T00:00:00Z',
      title: `Use ghp_${'a1B2'.repeat(9)}`,
    });
    gateway.setClock(undefined);
    expect(body.createdAt).toBe(now.toISOString());
    expect(body.title).toBe('Use [redacted]');
  });
});
