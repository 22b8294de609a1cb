import { afterAll, beforeAll, expect, test } from 'vitest';
import { toGlobalId } from '../../../src/core/graphql/global-ids.ts';
import { indexSessions } from '../../../src/domains/session-events/search-index.ts';
import { auditRows } from '../../support/fixtures/audit-log.ts';
import { endRights } from '../../support/fixtures/changes.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { untilWaitingForLock, whileLocked } from '../../support/fixtures/locks.ts';
import { readByAllPaths } from '../../support/fixtures/read-paths.ts';
import { EventStream, append, createSession, eventsOf, moveTo, mutate } from '../../support/fixtures/sessions.ts';
import { recordSession } from '../../support/fixtures/workspace.ts';
import { runJobs } from '../../support/processes/jobs.ts';

/** Deleting and holding sessions. */

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const rows = <Row extends object>(text: string, ...values: unknown[]) =>
  gateway.dependencies.sql.query<Row>(text, values);
const index = async () => {
  while ((await indexSessions(gateway.dependencies.database.em)) > 0);
};
const remove = (key: string, sessionId: string) => gateway.rest('DELETE', `/v1/sessions/${sessionId}`, { key });
const feed = async (key: string) =>
  (
    await gateway.rest<{ items: { type: string; subjectId: string; data: object }[] }>(
      'GET',
      '/v1/feed?types=session.deleted',
      { key },
    )
  ).body.items;

test('a deleted session is found by no path of either API, and its rows are purged by a job', async () => {
  const { key, organizationId } = await gateway.createKey();
  const word = 'heliotrope';
  const { sessionId, artifactId } = await recordSession(gateway, key, { title: word, description: `A ${word} task` });
  await append(gateway, key, sessionId, eventsOf(3, { data: { accumulatedText: `the ${word} text` } }), 'first');
  const keyed = { 'Idempotency-Key': 'keyed' };
  const renamed = { key, headers: keyed, body: { title: `${word} again` } };
  await gateway.rest('PATCH', `/v1/sessions/${sessionId}`, renamed);
  await index();
  const to = { key, sessionId, artifactId, organizationId, word };
  const having = (answers: ReadonlyMap<string, string>, text: string) =>
    [...answers].flatMap(([path, answer]) => (answer.includes(text) ? [path] : []));
  const before = having(await readByAllPaths(gateway, to), word);
  expect(before).toEqual(
    expect.arrayContaining([
      '/v1/sessions',
      `/v1/sessions/${sessionId}`,
      `/v1/sessions/${sessionId}/events`,
      `/v1/sessions/${sessionId}/export`,
      `/v1/sessions/${sessionId}/export?format=markdown`,
      `/v1/session-search?text=${word}`,
      'Session.title',
      'Session.events',
      'Organization.sessions',
      'Organization.sessionSearch',
      'Query.node',
      'Query.nodes',
    ]),
  );

  expect((await remove(key, sessionId)).status).toBe(204);
  const after = await readByAllPaths(gateway, to);
  expect(having(after, word)).toEqual([]);
  // Only the entries of the feed and the audit log about the deletion have its id, and the export has these.
  const naming = [...having(after, sessionId), ...having(after, toGlobalId('Session', sessionId))];
  expect(naming.filter((path) => !/feed|audit|organizations\/.*\/export/i.test(path))).toEqual([]);
  expect((await gateway.rest('PATCH', `/v1/sessions/${sessionId}`, renamed)).status).toBe(404);
  expect(
    (await gateway.rest('POST', `/v1/sessions/${sessionId}/events`, { key, body: { events: eventsOf(1) } })).status,
  ).toBe(404);
  expect((await remove(key, sessionId)).status).toBe(404);
  expect(await feed(key)).toMatchObject([
    { type: 'session.deleted', subjectId: sessionId, data: { reason: 'requested' } },
  ]);
  expect(await auditRows(gateway)).toContainEqual(
    expect.objectContaining({ operation: 'deleteSession', targetType: 'Session', targetId: sessionId }),
  );

  await runJobs(gateway);
  for (const table of [
    'session_event',
    'session_event_batch',
    'session_text',
    'session_search',
    'session_stream',
    'deleted_session',
  ])
    expect([table, await rows(`select from "${table}" where session_id = $1`, sessionId)]).toEqual([table, []]);
  const answers = await rows<{ answer: string }>('select answer from idempotency_key where target_id = $1', sessionId);
  expect(answers).toEqual([{ answer: '' }]);
});

test('a session is locked for few statements while it is deleted, which read nothing that it has recorded', async () => {
  const { key } = await gateway.createKey();
  const sessionId = await createSession(gateway, key);
  await append(gateway, key, sessionId, eventsOf(3));
  gateway.statements.length = 0;
  expect((await remove(key, sessionId)).status).toBe(204);
  const first = gateway.statements.findIndex((text) => text.includes('for update'));
  const last = gateway.statements.findIndex((text) => /^commit/i.test(text));
  // The stream, the session, its deletion, stored answers, the audit log and the feed.
  expect(gateway.statements.slice(first, last)).toHaveLength(6);
  expect(gateway.statements.filter((text) => /\.\*|description|format_memory|event_data/.test(text))).toEqual([]);
});

test('its creator and administrators can delete a session in any state; others get 403 or 404', async () => {
  const admin = await gateway.createKey();
  const { organization } = admin;
  const [creator, other] = [
    await gateway.createKey({ organization, role: 'member' }),
    await gateway.createKey({ organization, role: 'member' }),
  ];
  const [open, secret] = [
    await createSession(gateway, creator.key, { visibility: 'PUBLIC' }),
    await createSession(gateway, creator.key),
  ];
  await moveTo(gateway, creator.key, open, 'IN_PROGRESS');
  expect([(await remove(other.key, open)).status, (await remove(other.key, secret)).status]).toEqual([403, 404]);
  const deleted = await mutate(gateway, creator.key, 'deleteSession', { sessionId: open }, 'deletedSessionId');
  expect(deleted).toMatchObject({ deletedSessionId: toGlobalId('Session', open) });
  expect((await remove(admin.key, secret)).status).toBe(204);
  // Who could read a session sees that it is deleted.
  const seen = async (key: string) => (await feed(key)).map(({ subjectId }) => subjectId);
  expect([await seen(admin.key), await seen(creator.key), await seen(other.key)]).toEqual([
    [open, secret],
    [open, secret],
    [open],
  ]);
});

test('the preview counts events, artifacts and pull requests', async () => {
  const { key } = await gateway.createKey();
  const { sessionId } = await recordSession(gateway, key);
  await append(gateway, key, sessionId, eventsOf(4));
  const query = `query($id: ID!) { session(id: $id) { events { totalCount } artifacts { totalCount } deletionPreview { events artifacts pullRequests } viewerCanDelete } }`;
  const { data } = await gateway.graphql<{ session: { events: { totalCount: number } } }>(key, query, {
    id: sessionId,
  });
  expect(data?.session).toMatchObject({
    artifacts: { totalCount: 1 },
    deletionPreview: { events: data?.session.events.totalCount, artifacts: 1, pullRequests: 1 },
    viewerCanDelete: true,
  });
});

test('followers are informed: the live tail ends, and the list gets a session that has left', async () => {
  const { key } = await gateway.createKey();
  const sessionId = await createSession(gateway, key);
  await append(gateway, key, sessionId, eventsOf(1));
  const headers = { Authorization: `Bearer ${key}`, Accept: 'text/event-stream' };
  const tail = new EventStream(await gateway.fetch(`/v1/sessions/${sessionId}/events`, { headers }));
  expect(await tail.nextData()).toMatchObject({ id: '1' });
  await remove(key, sessionId);
  expect(await tail.nextData()).toMatchObject({ event: 'end' });
  expect(await tail.nextData()).toBeUndefined();
  await tail.close();
});

test('a held session is kept: deletion is refused, also of its organization, until it is released', async () => {
  const admin = await gateway.createKey();
  const { key, organization } = admin;
  const member = await gateway.createKey({ organization, role: 'member' });
  const sessionId = await createSession(gateway, member.key);
  const hold = (by: string) =>
    gateway.rest<{ reason: string; error: string }>('PUT', `/v1/sessions/${sessionId}/hold`, {
      key: by,
      body: { reason: 'Evidence' },
    });
  expect((await hold(member.key)).status).toBe(403);
  expect(await hold(key)).toMatchObject({ status: 200, body: { reason: 'Evidence', heldBy: admin.userId } });
  const refused = { status: 409, body: { error: expect.stringContaining('held') } };
  expect(await remove(member.key, sessionId)).toMatchObject(refused);
  expect(await mutate(gateway, key, 'deleteSession', { sessionId })).toMatchObject({ __typename: 'ConflictError' });
  expect(
    await gateway.rest('POST', `/v1/sessions/${sessionId}/redact`, { key, body: { text: 'anything' } }),
  ).toMatchObject(refused);
  expect(await mutate(gateway, key, 'deleteOrganization', { confirmSlug: organization })).toMatchObject({
    __typename: 'ConflictError',
    message: expect.stringContaining('held'),
  });
  const query = `query($held: Boolean!) { viewer { organization { sessions(filter: {isHeld: $held}) { nodes { databaseId hold { reason heldBy { databaseId } heldAt } viewerCanDelete viewerCanHold } } } } }`;
  const listed = async (held: boolean) =>
    (await gateway.graphql<{ viewer: { organization: { sessions: { nodes: object[] } } } }>(key, query, { held })).data
      ?.viewer.organization.sessions.nodes;
  expect([await listed(true), await listed(false)]).toMatchObject([
    [
      {
        databaseId: sessionId,
        hold: { reason: 'Evidence', heldBy: { databaseId: admin.userId }, heldAt: expect.any(String) },
        viewerCanDelete: false,
        viewerCanHold: true,
      },
    ],
    [],
  ]);
  expect((await gateway.rest('DELETE', `/v1/sessions/${sessionId}/hold`, { key })).status).toBe(204);
  expect(await listed(true)).toEqual([]);
  expect((await remove(member.key, sessionId)).status).toBe(204);
});

test('an account is not deleted while sessions are held in an organization that would be deleted with it', async () => {
  const { key, userId, organization } = await gateway.createKey({ role: 'admin' });
  const sessionId = await createSession(gateway, key);
  const hold = () => gateway.rest('PUT', `/v1/sessions/${sessionId}/hold`, { key, body: { reason: 'Evidence' } });
  const release = () => gateway.rest('DELETE', `/v1/sessions/${sessionId}/hold`, { key });
  const leave = () => gateway.rest<{ error: string }>('DELETE', `/v1/users/${userId}`, { key, body: {} });
  await hold();
  expect(await leave()).toMatchObject({ status: 409, body: { error: expect.stringContaining('have held sessions') } });
  expect(await mutate(gateway, key, 'deleteUser', { userId })).toMatchObject({
    __typename: 'ConflictError',
    message: expect.stringContaining('have held sessions'),
  });
  await release();
  expect((await leave()).status).toBe(202);
  // It is checked again when the job begins.
  await hold();
  await runJobs(gateway);
  expect(
    (await gateway.graphql(key, '{ viewer { deletionJobs(first: 1) { nodes { state error } } } }')).data,
  ).toMatchObject({
    viewer: { deletionJobs: { nodes: [{ state: 'FAILED', error: expect.stringContaining('have held sessions') }] } },
  });
  expect((await gateway.rest('GET', `/v1/sessions/${sessionId}`, { key })).status).toBe(200);
  // With another member the organization stays, and so does the session.
  await gateway.createKey({ organization, role: 'admin' });
  expect((await leave()).status).toBe(202);
  await runJobs(gateway);
  expect(await rows('select creator_id, held_by_id from session where id = $1', sessionId)).toEqual([
    { creator_id: null, held_by_id: null },
  ]);
});

test('a held private session stays without its creator when that account is deleted', async () => {
  const { key, organization } = await gateway.createKey();
  const member = await gateway.createKey({ organization, role: 'member' });
  const [held, other] = [await createSession(gateway, member.key), await createSession(gateway, member.key)];
  await gateway.rest('PUT', `/v1/sessions/${held}/hold`, { key, body: { reason: 'Evidence' } });
  expect((await gateway.rest('DELETE', `/v1/users/${member.userId}`, { key: member.key, body: {} })).status).toBe(202);
  await runJobs(gateway);
  expect((await gateway.rest('GET', `/v1/sessions/${other}`, { key })).status).toBe(404);
  const query = `query($id: ID!) { session(id: $id) { creator { ... on Node { id } } hold { reason creatorLabel } } }`;
  const creatorLabel = member.email;
  expect((await gateway.graphql(key, query, { id: held })).data).toEqual({
    session: { creator: null, hold: { reason: 'Evidence', creatorLabel } },
  });
  // Of a session that is held anew, it stays; it ends with the hold.
  await gateway.rest('PUT', `/v1/sessions/${held}/hold`, { key, body: { reason: 'Trial' } });
  await gateway.rest('PATCH', `/v1/sessions/${held}`, { key, body: { visibility: 'public' } });
  const { key: ofMember } = await gateway.createKey({ organization, role: 'member' });
  expect((await gateway.graphql(ofMember, query, { id: held })).data).toEqual({
    session: { creator: null, hold: { reason: 'Trial', creatorLabel: null } },
  });
  await gateway.rest('DELETE', `/v1/sessions/${held}/hold`, { key });
  expect(await rows('select hold_creator_label as label from session where id = $1', held)).toEqual([{ label: null }]);
});

test('holding and releasing change `updatedAt`, with which a change that was begun before is refused', async () => {
  const { key } = await gateway.createKey();
  const path = `/v1/sessions/${await createSession(gateway, key)}`;
  const begun = async (at: string) => {
    gateway.setClock(new Date(at));
    return (await gateway.rest<{ updatedAt: string }>('GET', path, { key })).body.updatedAt;
  };
  const change = (expectedUpdatedAt: string) =>
    gateway.rest('PATCH', path, { key, body: { title: 'Late', expectedUpdatedAt } });
  const beforeHold = await begun('2030-01-01T00:00:00Z');
  await gateway.rest('PUT', `${path}/hold`, { key, body: { reason: 'Evidence' } });
  expect((await change(beforeHold)).status).toBe(409);
  const beforeRelease = await begun('2030-01-02T00:00:00Z');
  expect(beforeRelease).toBe('2030-01-01T00:00:00.000Z');
  await gateway.rest('DELETE', `${path}/hold`, { key });
  expect((await change(beforeRelease)).status).toBe(409);
  gateway.setClock(undefined);
});

test('an administrator who is demoted while the hold waits for the organization holds nothing', async () => {
  const admin = await gateway.createKey();
  const other = await gateway.createKey({ organization: admin.organization, role: 'admin' });
  const sessionId = await createSession(gateway, other.key, { visibility: 'PUBLIC' });
  const membership = 'select from membership where user_id = ? for update';
  const [demoted, held] = await whileLocked(gateway, membership, [other.userId], async (release) => {
    // It has locked the organization, and waits for the membership.
    const demotion = endRights(gateway, admin.key, 'demoted', other);
    await untilWaitingForLock(gateway, 1);
    const hold = gateway.rest('PUT', `/v1/sessions/${sessionId}/hold`, { key: other.key, body: { reason: 'Late' } });
    await untilWaitingForLock(gateway, 2);
    await release();
    return Promise.all([demotion, hold]);
  });
  expect([demoted, held.status]).toEqual([undefined, 403]);
  expect((await remove(other.key, sessionId)).status).toBe(204);
});
