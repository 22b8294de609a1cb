import { expect, test } from 'vitest';
import { auditRows } from '../../support/fixtures/audit-log.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, moveTo, mutate } from '../../support/fixtures/sessions.ts';

/** Failed sessions: why they failed, and which of them need a person. */

const gateway = useTestGateway();

interface Listed {
  readonly databaseId: string;
  readonly failureReason: string | null;
  readonly failureEvent: { readonly databaseId: number } | null;
  readonly handled: { readonly by: { readonly databaseId: string } | null; readonly at: string } | null;
}

async function listed(key: string, needsPerson: boolean): Promise<Listed[]> {
  const query = `query ($needsPerson: Boolean) { viewer { organization { sessions(filter: {needsPerson: $needsPerson}) { nodes {
    databaseId failureReason failureEvent { databaseId } handled { by { ... on User { databaseId } } at } } } } } }`;
  const { data } = await gateway.graphql<{ viewer: { organization: { sessions: { nodes: Listed[] } } } }>(key, query, {
    needsPerson,
  });
  return data?.viewer.organization.sessions.nodes ?? [];
}
const needing = async (key: string) => (await listed(key, true)).map(({ databaseId }) => databaseId);

async function endedSession(key: string, state: 'COMPLETED' | 'FAILED', fields: object = {}): Promise<string> {
  const sessionId = await createSession(gateway, key, fields);
  await moveTo(gateway, key, sessionId, 'IN_PROGRESS', state);
  return sessionId;
}

test('a failed session says why in its list, and over REST', async () => {
  const { key } = await gateway.createKey();
  const sessionId = await createSession(gateway, key);
  await moveTo(gateway, key, sessionId, 'IN_PROGRESS');
  const ofCall = (toolResult: object) => ({
    eventType: 'x',
    provider: 'p',
    eventData: { type: 'x', itemId: 'a', toolName: 'Bash', toolResult },
  });
  const ended = { status: 'error', output: 'Exit code 1\nmore' };
  await append(gateway, key, sessionId, [ofCall({ status: 'running' }), ofCall(ended)]);
  const path = `/v1/sessions/${sessionId}/failure`;
  expect(await gateway.rest('GET', path, { key })).toMatchObject({ status: 200, body: { reason: null, event: null } });
  await moveTo(gateway, key, sessionId, 'FAILED');
  expect(await listed(key, true)).toMatchObject([
    { databaseId: sessionId, failureReason: 'Bash: Exit code 1', failureEvent: { databaseId: 2 }, handled: null },
  ]);
  expect((await gateway.rest('GET', path, { key })).body).toMatchObject({
    reason: 'Bash: Exit code 1',
    event: { id: 2, sessionId },
  });
  const { key: stranger } = await gateway.createKey();
  expect((await gateway.rest('GET', path, { key: stranger })).status).toBe(404);
});

test('everybody who can read a failed session marks it as handled, until its state changes', async () => {
  const admin = await gateway.createKey({ role: 'admin' });
  const { key, userId } = await gateway.createKey({ organization: admin.organization });
  const sessionId = await endedSession(admin.key, 'FAILED', { visibility: 'PUBLIC' });
  const hidden = await endedSession(admin.key, 'FAILED', { visibility: 'PRIVATE' });
  const input = { sessionId, isHandled: true };
  expect(await mutate(gateway, key, 'markSessionHandled', input)).toMatchObject({
    __typename: 'MarkSessionHandledPayload',
  });
  expect(await mutate(gateway, key, 'markSessionHandled', { ...input, sessionId: hidden })).toMatchObject({
    __typename: 'NotFoundError',
  });
  expect(await needing(admin.key)).toEqual([hidden]);
  expect((await listed(admin.key, false)).map(({ handled }) => handled)).toEqual([
    { by: { databaseId: userId }, at: expect.any(String) },
  ]);
  const marks = (await auditRows(gateway)).filter(({ operation }) => operation === 'markSessionHandled');
  expect(marks).toMatchObject([{ targetId: sessionId }]);
  const path = `/v1/sessions/${sessionId}/handled`;
  expect((await gateway.rest('DELETE', path, { key })).status).toBe(204);
  expect((await needing(admin.key)).toSorted()).toEqual([sessionId, hidden].toSorted());
  expect(await gateway.rest('PUT', path, { key })).toMatchObject({ status: 200, body: { by: userId } });
  await moveTo(gateway, admin.key, sessionId, 'QUEUED', 'IN_PROGRESS', 'FAILED');
  expect((await needing(admin.key)).toSorted()).toEqual([sessionId, hidden].toSorted());
});

test('a failed session whose work was done again needs nobody, unless it was done in a session that others cannot see', async () => {
  const admin = await gateway.createKey({ role: 'admin' });
  const { key } = await gateway.createKey({ organization: admin.organization });
  const failed = (fields: object) => endedSession(key, 'FAILED', { visibility: 'PUBLIC', ...fields });
  const source = { id: crypto.randomUUID(), name: 'Issue 12', type: 'issue' };
  const ofTitle = await failed({ title: 'Nightly', projectId: 'shop' });
  const ofSource = await failed({ title: 'Fix it', source });
  await endedSession(key, 'COMPLETED', { title: 'Nightly', projectId: 'other' });
  await endedSession(admin.key, 'COMPLETED', { title: 'Nightly', projectId: 'shop', visibility: 'PRIVATE' });
  expect((await needing(key)).toSorted()).toEqual([ofTitle, ofSource].toSorted());
  await endedSession(key, 'COMPLETED', { title: 'Nightly', projectId: 'shop' });
  expect(await needing(key)).toEqual([ofSource]);
  await endedSession(admin.key, 'COMPLETED', { title: 'Another', source, visibility: 'PUBLIC' });
  expect(await needing(key)).toEqual([]);
  await failed({ title: 'Nightly', projectId: 'shop' });
  expect(await needing(key)).toHaveLength(1);
});

test('the deletion of several sessions is previewed: those that stay are named', async () => {
  const admin = await gateway.createKey({ role: 'admin' });
  const { key } = await gateway.createKey({ organization: admin.organization });
  const [own, held] = [await createSession(gateway, key), await createSession(gateway, key)];
  const foreign = await createSession(gateway, admin.key, { visibility: 'PUBLIC' });
  await moveTo(gateway, key, own, 'IN_PROGRESS');
  await append(gateway, key, own, [{ eventType: 'x', eventData: { type: 'x' } }]);
  await gateway.rest('PUT', `/v1/sessions/${held}/hold`, { key: admin.key, body: { reason: 'Kept' } });
  const query = `query ($ids: [ID!]!) { viewer { organization { sessionsDeletionPreview(sessionIds: $ids) { sessions events held { databaseId } } } } }`;
  expect((await gateway.graphql(key, query, { ids: [own, held, foreign] })).data).toEqual({
    viewer: {
      organization: { sessionsDeletionPreview: { sessions: 1, events: 1, held: [{ databaseId: held }] } },
    },
  });
});
