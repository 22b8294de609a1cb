import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { NOTIFICATIONS_ONLY } from '../../support/fixtures/notifications.ts';
import { grantTo } from '../../support/fixtures/oauth-grants.ts';
import { append, createSession, eventsOf, tail } from '../../support/fixtures/sessions.ts';

let gateway: TestGateway;
let peer: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway({}, { timing: NOTIFICATIONS_ONLY });
  peer = await startTestGateway({}, { beside: gateway, timing: NOTIFICATIONS_ONLY });
});
afterAll(async () => {
  await peer.close();
  await gateway.close();
});

const globalId = (type: string, id: string) => Buffer.from(`${type}:${id}`).toString('base64');

const FIELDS = 'id databaseId clientName clientHost resource scopes createdAt lastUsedAt organization { databaseId }';
const LIST = `{ viewer { connectedApps(first: 10) { totalCount nodes { ${FIELDS} } } } }`;
const REVOKE = `mutation ($id: ID!) { revokeConnectedApp(input: { connectedAppId: $id }) {
  ... on RevokeConnectedAppPayload { deletedConnectedAppId } ... on Error { code message } } }`;

interface App {
  readonly id: string;
  readonly createdAt: string;
}
interface Listed {
  readonly viewer: { readonly connectedApps: { readonly totalCount: number; readonly nodes: readonly App[] } };
}

const listOver = (key: string, from = gateway) =>
  from.rest<{ items: App[]; nextCursor: string | null }>('GET', '/v1/connected-apps', { key });
const idsOf = async (key: string) => (await listOver(key)).body.items.map(({ id }) => id);
const statusAt = async (path: string, token: string) =>
  (await gateway.fetch(path, { headers: { Authorization: `Bearer ${token}` } })).status;

test('both APIs list the same apps, newest first, with their address, scopes and organization', async () => {
  const person = await gateway.createKey();
  const scopes = ['sessions.read', 'sessions.record'] as const;
  const older = await grantTo(gateway, person, { path: '/v1/sessions', scopes, clientName: 'Recorder' });
  const newer = await grantTo(gateway, person, { path: '/mcp', clientName: 'Chat' });
  expect(await statusAt('/v1/sessions', older.token)).toBe(200);
  const app = (id: string, name: string, path: string) => ({
    id,
    clientName: name,
    clientHost: 'client.example',
    resource: `${gateway.dependencies.publicUrl()}${path}`,
    organizationId: person.organizationId,
    createdAt: expect.any(String),
  });
  const expected = [
    { ...app(newer.id, 'Chat', '/mcp'), scopes: ['sessions.read'], lastUsedAt: null },
    { ...app(older.id, 'Recorder', '/v1/sessions'), scopes, lastUsedAt: expect.any(String) },
  ];
  const { status, body } = await listOver(person.key);
  expect([status, body]).toEqual([200, { items: expected, nextCursor: null }]);
  const { data } = await gateway.graphql<Listed>(person.key, LIST);
  expect(data?.viewer.connectedApps).toEqual({
    totalCount: 2,
    nodes: expected.map(({ organizationId, scopes: granted, ...shown }) => ({
      ...shown,
      id: globalId('ConnectedApp', shown.id),
      databaseId: shown.id,
      scopes: granted.map((scope) => scope.replaceAll('.', '_').toUpperCase()),
      organization: { databaseId: organizationId },
    })),
  });
  const found = await gateway.graphql(
    person.key,
    `query ($id: ID!) { node(id: $id) { ... on ConnectedApp { clientName } } }`,
    {
      id: globalId('ConnectedApp', newer.id),
    },
  );
  expect(found).toMatchObject({ data: { node: { clientName: 'Chat' } } });
});

test('nobody sees the apps of others; the apps are those of the acting organization', async () => {
  const admin = await gateway.createKey();
  const member = await gateway.createKey({ organization: admin.organization, role: 'member' });
  const elsewhere = await gateway.createKey({ email: member.email });
  const here = await grantTo(gateway, member, { path: '/mcp' });
  const there = await grantTo(gateway, elsewhere, { path: '/mcp' });
  const unbound = await gateway.createKey({ email: member.email, organization: admin.organization });
  await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [unbound.keyId]);
  expect([await idsOf(admin.key), await idsOf(member.key), await idsOf(elsewhere.key)]).toEqual([
    [],
    [here.id],
    [there.id],
  ]);
  const acting = { key: unbound.key, headers: { 'X-Organization-Id': admin.organization } };
  expect((await gateway.rest('GET', '/v1/connected-apps', acting)).body).toMatchObject({ items: [{ id: here.id }] });
  expect((await gateway.rest('GET', '/v1/connected-apps', { key: unbound.key })).status).toBe(400);
  for (const key of [admin.key, elsewhere.key]) {
    const refused = await gateway.rest('DELETE', `/v1/connected-apps/${here.id}`, { key });
    expect([refused.status, refused.body]).toEqual([
      404,
      { error: 'connected app not found', details: { type: 'ConnectedApp' } },
    ]);
    const node = await gateway.graphql(key, `query ($id: ID!) { node(id: $id) { id } }`, {
      id: globalId('ConnectedApp', here.id),
    });
    expect(node.data).toEqual({ node: null });
  }
  expect(await statusAt('/mcp', here.token)).toBe(405);
});

test('a revoked app is refused at once, is in no list, and cannot be revoked again', async () => {
  const person = await gateway.createKey();
  const [rest, graphql] = [
    await grantTo(gateway, person, { path: '/mcp' }),
    await grantTo(gateway, person, { path: '/mcp' }),
  ];
  expect((await gateway.rest('DELETE', `/v1/connected-apps/${rest.id}`, person)).status).toBe(204);
  expect((await gateway.graphql(person.key, REVOKE, { id: globalId('ConnectedApp', graphql.id) })).data).toEqual({
    revokeConnectedApp: { deletedConnectedAppId: globalId('ConnectedApp', graphql.id) },
  });
  expect([await statusAt('/mcp', rest.token), await statusAt('/mcp', graphql.token)]).toEqual([401, 401]);
  expect(await idsOf(person.key)).toEqual([]);
  for (const id of [rest.id, randomUUID(), person.keyId])
    expect((await gateway.rest('DELETE', `/v1/connected-apps/${id}`, person)).status).toBe(404);
  const entries = await gateway.dependencies.sql.query(
    `select operation, target_type, target_id, target_label from audit_entry where target_id = $1 and operation = 'revokeConnectedApp'`,
    [rest.id],
  );
  expect(entries).toEqual([
    { operation: 'revokeConnectedApp', target_type: 'ApiKey', target_id: rest.id, target_label: 'Client' },
  ]);
});

test('open streams of a revoked app end, in this process or another', async () => {
  const person = await gateway.createKey();
  const id = await createSession(gateway, person.key);
  await append(gateway, person.key, id, eventsOf(1));
  for (const revoker of [gateway, peer]) {
    const app = await grantTo(gateway, person, { path: '/v1/sessions' });
    const stream = await tail(gateway, app.token, id);
    await stream.take(1);
    const rest = stream.take(2);
    expect((await revoker.rest('DELETE', `/v1/connected-apps/${app.id}`, person)).status).toBe(204);
    expect(await rest).toEqual([{ event: 'error', data: '{"error":"missing or invalid API key"}' }]);
    await stream.close();
  }
});

test('a key needs the scopes of API keys, and a grant can neither list nor revoke', async () => {
  const person = await gateway.createKey({ scopes: ['sessions.read'] });
  const app = await grantTo(gateway, person, { path: '/v1/sessions' });
  const path = `/v1/connected-apps/${app.id}`;
  expect([(await listOver(person.key)).status, (await gateway.rest('DELETE', path, person)).status]).toEqual([
    403, 403,
  ]);
  const token = { key: app.token };
  expect([(await listOver(app.token)).status, (await gateway.rest('DELETE', path, token)).status]).toEqual([401, 401]);
  expect(await statusAt('/v1/sessions', app.token)).toBe(200);
});
