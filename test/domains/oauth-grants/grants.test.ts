import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { revokeGrant } from '../../../src/domains/oauth-grants/public.ts';
import { revokeAnyApiKey, revokeKeys } from '../../../src/domains/api-keys/public.ts';
import { workContext } from '../../../src/gateway/contexts.ts';
import { maintenanceJob } from '../../../src/gateway/background-jobs.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { LEAVE } from '../../support/fixtures/organizations.ts';
import { grantTo } from '../../support/fixtures/oauth-grants.ts';

const gateway = useTestGateway();

const INITIALIZE = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
};
const headersOf = (token: string) => ({
  Authorization: `Bearer ${token}`,
  'Content-Type': 'application/json',
  Accept: 'application/json, text/event-stream',
});
const initialize = async (path: string, token: string) =>
  (await gateway.fetch(path, { method: 'POST', headers: headersOf(token), body: JSON.stringify(INITIALIZE) })).status;
const statusOf = async (method: string, path: string, token: string, body?: object) =>
  (await gateway.fetch(path, { method, headers: headersOf(token), body: body && JSON.stringify(body) })).status;

describe('an access token', () => {
  test('is accepted at its resource, and refused with 401 at every other address', async () => {
    const person = await gateway.createKey();
    const { token } = await grantTo(gateway, person, { path: '/mcp' });
    expect([await initialize('/mcp', token), await initialize('/mcp/', token)]).toEqual([200, 200]);
    const id = randomUUID();
    const others = [
      ['POST', `/v1/mcp-connections/${id}/mcp`],
      ['POST', `/v1/sessions/${id}/mcp`],
      ['POST', '/graphql'],
      ['GET', '/v1/sessions'],
      ['GET', '/v1/users/me'],
      ['POST', '/events/2026-03/send'],
      ['GET', '/nothing'],
      ['POST', '/MCP'],
      ['POST', '/%6dcp'],
      ['POST', '/v1/sessions/..%2F..%2Fmcp'],
    ] as const;
    for (const [method, path] of others)
      expect([path, await statusOf(method, path, token, method === 'POST' ? INITIALIZE : undefined)]).toEqual([
        path,
        401,
      ]);
    const asPrivateApp = { 'private-app': token, 'Content-Type': 'application/json' };
    const sent = await gateway.fetch('/events/2026-03/send', { method: 'POST', headers: asPrivateApp, body: '{}' });
    expect(sent.status).toBe(401);
    const signIn = await gateway.fetch('/sign-in', { method: 'POST', body: JSON.stringify({ key: token }) });
    expect(signIn.status).toBe(401);
  });

  test('for front ends is accepted by GraphQL and by the REST paths of both APIs, but at no address of MCP clients', async () => {
    const person = await gateway.createKey();
    const { token } = await grantTo(gateway, person, { path: '/graphql' });
    const id = randomUUID();
    const asked = await gateway.graphql<{ viewer: { user: { databaseId: string } } }>(
      token,
      '{ viewer { user { databaseId } } }',
    );
    expect(asked.data?.viewer.user.databaseId).toBe(person.userId);
    expect([
      await statusOf('GET', '/v1/sessions', token),
      await statusOf('GET', `/v1/sessions/${id}`, token),
      await statusOf('GET', '/events/2026-03/event-definitions', token),
    ]).toEqual([200, 404, 403]);
    const ofConnections = [`/v1/mcp-connections/${id}/mcp`, `/v1/sessions/${id}/mcp`, `/v1/sessions/${id}/mcp/`];
    const others = ['/mcp', '/v1/mcp', '/v1/mcp/', '/scim/v2/Users', ...ofConnections];
    for (const path of others) expect([path, await statusOf('POST', path, token, INITIALIZE)]).toEqual([path, 401]);
  });

  test('for recording is accepted at the paths below /v1/sessions, but at none of the endpoints for MCP clients', async () => {
    const person = await gateway.createKey();
    const scopes = ['sessions.record', 'sessions.read', 'mcp_connections.use'] as const;
    const { token } = await grantTo(gateway, person, { path: '/v1/sessions', scopes });
    const created = await gateway.rest<{ id: string }>('POST', '/v1/sessions', { key: token, body: { title: 'Run' } });
    expect(created.status).toBe(201);
    const path = `/v1/sessions/${created.body.id}`;
    expect(await statusOf('GET', path, token)).toBe(200);
    expect(await initialize(`${path}/mcp`, token)).toBe(401);
    expect(await statusOf('GET', '/v1/sessionsx', token)).toBe(401);
    expect(await statusOf('GET', '/v1/users/me', token)).toBe(401);
  });

  test('of a resource of another gateway, and one that is no resource, is refused everywhere', async () => {
    const person = await gateway.createKey();
    const { id, token } = await grantTo(gateway, person, { path: '/mcp' });
    const moved = async (resource: string) => {
      await gateway.dependencies.sql.query('update oauth_grant set resource = $1 where key_id = $2', [resource, id]);
      return [await initialize('/mcp', token), await statusOf('POST', '/graphql', token, { query: '{ __typename }' })];
    };
    expect(await moved('https://other.example/mcp')).toEqual([401, 401]);
    expect(await moved(`${gateway.dependencies.publicUrl()}.example/mcp`)).toEqual([401, 401]);
    expect(await moved(`${gateway.dependencies.publicUrl()}/v1/organizations`)).toEqual([401, 401]);
    expect(await moved(`${gateway.dependencies.publicUrl()}/mcp`)).toEqual([200, 401]);
  });

  test('ends after an hour, and is no other kind of artifact', async () => {
    const person = await gateway.createKey();
    const at = Date.now();
    gateway.setClock(new Date(at));
    const { id, token } = await grantTo(gateway, person, { path: '/mcp' });
    gateway.setClock(new Date(at + 3_599_000));
    expect(await initialize('/mcp', token)).toBe(200);
    gateway.setClock(new Date(at + 3_601_000));
    expect(await initialize('/mcp', token)).toBe(401);
    gateway.setClock(undefined);
    await gateway.dependencies.sql.query(`update oauth_artifact set kind = 'RefreshToken' where key_id = $1`, [id]);
    expect(await initialize('/mcp', token)).toBe(401);
  });
});

describe('a grant ends at once', () => {
  const context = () => workContext(gateway.dependencies);
  const granted = async (options: { signedInWithId?: string } = {}) => {
    const admin = await gateway.createKey();
    const person = await gateway.createKey({ organization: admin.organization, role: 'member' });
    const signedIn = options.signedInWithId === undefined ? {} : { signedInWithId: person.keyId };
    const grant = await grantTo(gateway, person, { path: '/mcp', ...signedIn });
    expect(await initialize('/mcp', grant.token)).toBe(200);
    return { admin, person, ...grant };
  };

  test('when it is revoked, by its person only, once', async () => {
    const { admin, person, id, token } = await granted();
    const revoke = async (userId: string) =>
      (await context().em.transactional((em) => revokeGrant(em, { id, userId }, new Date())))?.id;
    expect(await revoke(admin.userId)).toBeUndefined();
    expect(await revoke(person.userId)).toBe(id);
    expect(await revoke(person.userId)).toBeUndefined();
    expect(await initialize('/mcp', token)).toBe(401);
  });

  test('with revokeApiKey by its person, and from the command line', async () => {
    const one = await granted();
    const revoke = async (key: string) => (await gateway.rest('DELETE', `/v1/api-keys/${one.id}`, { key })).status;
    expect([await revoke(one.admin.key), await initialize('/mcp', one.token)]).toEqual([404, 200]);
    expect([await revoke(one.person.key), await initialize('/mcp', one.token)]).toEqual([200, 401]);
    const other = await granted();
    await revokeAnyApiKey(context(), other.id);
    expect(await initialize('/mcp', other.token)).toBe(401);
  });

  test('with the key that the browser was signed in with, and lasts no longer', async () => {
    const { person, token } = await granted({ signedInWithId: 'of the person' });
    await gateway.rest('DELETE', `/v1/api-keys/${person.keyId}`, { key: person.key });
    expect(await initialize('/mcp', token)).toBe(401);
    const expiring = await gateway.createKey();
    const { sql } = gateway.dependencies;
    await sql.query(`update api_key set expires_at = now() + interval '1 day' where id = $1`, [expiring.keyId]);
    const grant = await grantTo(gateway, expiring, { path: '/mcp', signedInWithId: expiring.keyId });
    const [row] = await sql.query<{ ok: boolean }>(
      `select g.expires_at = date_trunc('milliseconds', k.expires_at) as ok from api_key g join api_key k on k.id = g.signed_in_with_id where g.id = $1`,
      [grant.id],
    );
    expect(row).toEqual({ ok: true });
  });

  test('when the person leaves or is removed, and never says so about another organization', async () => {
    const leaving = await granted();
    await gateway.graphql(leaving.person.key, LEAVE, { input: {} });
    expect(await initialize('/mcp', leaving.token)).toBe(401);
    const removed = await granted();
    const { sql } = gateway.dependencies;
    await sql.query('delete from membership where user_id = $1', [removed.person.userId]);
    expect(await initialize('/mcp', removed.token)).toBe(401);
  });

  test('with the keys of its account, and with its organization', async () => {
    const { person, admin, token } = await granted();
    await context().em.transactional((em) => revokeKeys(em, { userId: person.userId }, new Date()));
    expect(await initialize('/mcp', token)).toBe(401);
    const own = await grantTo(gateway, admin, { path: '/mcp' });
    await gateway.dependencies.sql.query('delete from organization where id = $1', [admin.organizationId]);
    expect(await initialize('/mcp', own.token)).toBe(401);
  });
});

test('lists of API keys have no grants; the audit log finds them by id', async () => {
  const person = await gateway.createKey();
  const { id } = await grantTo(gateway, person, { path: '/mcp' });
  const listed = await gateway.rest<{ items: { id: string }[] }>('GET', '/v1/api-keys?includeRevoked=true', person);
  expect(listed.body.items.map((item) => item.id)).toEqual([person.keyId]);
  const query = `{ apiKey(id: "${Buffer.from(`ApiKey:${id}`).toString('base64')}") { kind name viewerCanRevoke viewerCanUpdate }
    viewer { signIns(first: 5) { totalCount } } }`;
  expect((await gateway.graphql(person.key, query)).data).toEqual({
    apiKey: { kind: 'OAUTH_GRANT', name: 'Client', viewerCanRevoke: true, viewerCanUpdate: false },
    viewer: { signIns: { totalCount: 0 } },
  });
});

test('a person has at most 100 active grants in an organization', async () => {
  const person = await gateway.createKey();
  const { id } = await grantTo(gateway, person, { path: '/mcp' });
  await gateway.dependencies.sql.query(
    `insert into api_key (id, user_id, organization_id, kind, name, preview, scopes, expires_at, created_at)
     select gen_random_uuid(), user_id, organization_id, kind, name, preview, scopes, expires_at, created_at
     from api_key, generate_series(1, 99) where id = $1`,
    [id],
  );
  await expect(grantTo(gateway, person, { path: '/mcp' })).rejects.toThrow('at most 100 connected apps');
});

test('maintenance deletes expired tokens, and grants when the audit log no longer names them', async () => {
  const { sql, config, now, log } = gateway.dependencies;
  const person = await gateway.createKey();
  const { id } = await grantTo(gateway, person, { path: '/mcp' });
  const kept = async () =>
    sql.query(
      `select count(k.id)::int as grants, count(g.key_id)::int as details, count(t.hash)::int as tokens
       from api_key k left join oauth_grant g on g.key_id = k.id left join oauth_artifact t on t.key_id = k.id where k.id = $1`,
      [id],
    );
  const clean = () =>
    maintenanceJob(config).run(
      { ...workContext(gateway.dependencies), log, now, signal: new AbortController().signal },
      {},
      'a job',
    );
  await clean();
  expect(await kept()).toEqual([{ grants: 1, details: 1, tokens: 1 }]);
  gateway.setClock(new Date(Date.now() + 2 * 3_600_000));
  await clean();
  expect(await kept()).toEqual([{ grants: 1, details: 1, tokens: 0 }]);
  gateway.setClock(new Date(Date.now() + 400 * 86_400_000));
  await clean();
  expect(await kept()).toEqual([{ grants: 0, details: 0, tokens: 0 }]);
  gateway.setClock(undefined);
});
