import { describe, expect, test } from 'vitest';
import { startTestGateway, useOwnGateway } from '../../support/fixtures/gateway.ts';
import {
  SERVICE_ACCOUNTS,
  type ServiceAccount,
  createServiceAccount,
  createServiceAccountKey,
} from '../../support/fixtures/service-accounts.ts';
import { createSession, mutate } from '../../support/fixtures/sessions.ts';
import { runJobs } from '../../support/processes/jobs.ts';

const gateway = useOwnGateway({ USER_DELETION_DELAY: '0' });

const globalId = (id: string) => Buffer.from(`ServiceAccount:${id}`).toString('base64');
const restAs =
  (key: string) =>
  <Body = { error: string }>(method: string, path: string, body?: object) =>
    gateway.rest<Body>(method, path, { key, ...(body && { body }) });

async function gql(key: string, query: string, variables: object = {}): Promise<unknown> {
  const { data, errors } = await gateway.graphql(key, query, { ...variables });
  if (!data || errors) throw new Error(JSON.stringify(errors));
  return data;
}

const AUTHOR = '__typename ... on User { email } ... on ServiceAccount { databaseId name role displayName }';
const CREATOR = `query($id: ID!) { session(id: $id) { creator { ${AUTHOR} } } }`;

test('created, listed, changed and deleted over REST', async () => {
  const admin = await gateway.createKey();
  const rest = restAs(admin.key);
  const created = await rest<ServiceAccount>('POST', SERVICE_ACCOUNTS, { name: 'Builds' });
  const at = expect.stringMatching(/^\d{4}-.*Z$/) as string;
  const account = { id: expect.any(String) as string, name: 'Builds', role: 'member', createdAt: at, updatedAt: at };
  expect([created.status, created.body]).toEqual([201, account]);
  const path = `${SERVICE_ACCOUNTS}/${created.body.id}`;
  const listed = await rest('GET', SERVICE_ACCOUNTS);
  expect(listed.body).toEqual({ items: [created.body], nextCursor: null });
  const changed = await rest<ServiceAccount>('PATCH', path, { name: 'Nightly', role: 'admin' });
  expect([changed.status, changed.body]).toEqual([
    200,
    { ...created.body, name: 'Nightly', role: 'admin', updatedAt: at },
  ]);
  const stale = await rest('PATCH', path, { name: 'Other', expectedUpdatedAt: created.body.updatedAt });
  expect(stale.status).toBe(409);
  expect((await rest('DELETE', path)).status).toBe(204);
  expect([(await rest('DELETE', path)).body, (await rest('GET', SERVICE_ACCOUNTS)).body]).toEqual([
    { error: 'service account not found', details: { type: 'ServiceAccount' } },
    { items: [], nextCursor: null },
  ]);
});

test('the same over GraphQL', async () => {
  const { key } = await gateway.createKey();
  const fields = 'serviceAccount { id databaseId name role displayName }';
  const made = await mutate(gateway, key, 'createServiceAccount', { name: 'Builds', role: 'ADMIN' }, fields);
  const { id } = (made as unknown as { serviceAccount: { id: string } }).serviceAccount;
  const shown = { id, databaseId: expect.any(String) as string, name: 'Builds', role: 'ADMIN', displayName: 'Builds' };
  expect(made).toMatchObject({ serviceAccount: shown });
  const renamed = await mutate(gateway, key, 'updateServiceAccount', { serviceAccountId: id, name: 'CI' }, fields);
  expect(renamed).toMatchObject({ serviceAccount: { ...shown, name: 'CI', displayName: 'CI' } });
  const list = `{ viewer { organization { serviceAccounts(filter: { roles: [ADMIN], search: "ci" }) { totalCount nodes { id } } } } }`;
  expect(await gql(key, list)).toEqual({
    viewer: { organization: { serviceAccounts: { totalCount: 1, nodes: [{ id }] } } },
  });
  expect(await gql(key, `{ node(id: "${id}") { __typename id } }`)).toEqual({
    node: { __typename: 'ServiceAccount', id },
  });
  expect(await mutate(gateway, key, 'deleteServiceAccount', { serviceAccountId: id }, 'deletedId')).toMatchObject({
    deletedId: id,
  });
  expect(await gql(key, `{ node(id: "${id}") { id } }`)).toEqual({ node: null });
});

test('an organization has at most 100', async () => {
  const admin = await gateway.createKey();
  await gateway.dependencies.sql.query(
    `insert into user_account (id, name, created_at, service_organization_id, service_role)
     select gen_random_uuid(), 'Builds', now(), $1, 'member' from generate_series(1, 100)`,
    [admin.organizationId],
  );
  const refused = await restAs(admin.key)('POST', SERVICE_ACCOUNTS, { name: 'One more' });
  expect([refused.status, refused.body]).toEqual([
    409,
    { error: 'an organization has at most 100 service accounts; delete one first', details: { limit: 100 } },
  ]);
});

describe('its keys', () => {
  test('are bound to the organization, shown once, and never stronger than the key of their maker', async () => {
    const admin = await gateway.createKey({
      scopes: ['organizations.write', 'api_keys.write', 'api_keys.read', 'sessions.read'],
    });
    const { id } = await createServiceAccount(gateway, admin.key);
    const path = `${SERVICE_ACCOUNTS}/${id}/api-keys`;
    const rest = restAs(admin.key);
    const made = await rest<{ key: string }>('POST', path, { name: 'CI', scopes: ['sessions.read'] });
    const { key, ...shown } = made.body;
    expect([made.status, shown]).toMatchObject([
      201,
      { userId: null, serviceAccountId: id, organizationId: admin.organizationId, scopes: ['sessions.read'] },
    ]);
    expect(key).toMatch(/^wgk_/);
    expect((await rest('GET', path)).body).toEqual({ items: [shown], nextCursor: null });
    const wider = await rest('POST', path, { name: 'CI', scopes: ['sessions.record'] });
    expect([wider.status, wider.body]).toEqual([
      403,
      { error: 'scopes: a key cannot give scopes that it does not have: sessions.record' },
    ]);
    const owner = `{ viewer { apiKeys(filter: { ownerIds: ["${globalId(id)}"] }) { nodes { user { id } owner { ${AUTHOR} } } } } }`;
    expect(await gql(admin.key, owner)).toEqual({
      viewer: {
        apiKeys: {
          nodes: [
            {
              user: null,
              owner: {
                __typename: 'ServiceAccount',
                databaseId: id,
                name: 'Builds',
                role: 'MEMBER',
                displayName: 'Builds',
              },
            },
          ],
        },
      },
    });
  });

  test('outlive the account of the person who made them', async () => {
    const admin = await gateway.createKey();
    const maker = await gateway.createKey({ organization: admin.organization, role: 'admin' });
    const account = await createServiceAccountKey(gateway, maker.key);
    const sessionId = await createSession(gateway, account.key, { visibility: 'PRIVATE' });
    await gateway.rest('DELETE', `/v1/users/${maker.userId}`, { key: maker.key, body: {} });
    await runJobs(gateway);
    expect((await gateway.rest('GET', '/v1/users/me', { key: maker.key })).status).toBe(401);
    const read = await gateway.graphql(account.key, CREATOR, { id: sessionId });
    expect(read.data).toMatchObject({ session: { creator: { databaseId: account.id } } });
  });

  test('create further keys of the same account, and of no organization else', async () => {
    const admin = await gateway.createKey();
    const account = await createServiceAccountKey(gateway, admin.key, { scopes: ['api_keys.write', 'sessions.read'] });
    const own = await gateway.rest('POST', '/v1/api-keys', {
      key: account.key,
      body: { name: 'Next', scopes: ['sessions.read'] },
    });
    expect([own.status, own.body]).toMatchObject([201, { userId: null, serviceAccountId: account.id }]);
    const unbound = await gateway.rest('POST', '/v1/api-keys', {
      key: account.key,
      body: { name: 'Next', scopes: ['sessions.read'], allOrganizations: true },
    });
    expect(unbound.status).toBe(403);
  });

  test('end with the account; its sessions stay, without creator', async () => {
    const admin = await gateway.createKey();
    const account = await createServiceAccountKey(gateway, admin.key);
    const sessionId = await createSession(gateway, account.key, { visibility: 'PUBLIC' });
    await restAs(admin.key)('DELETE', `${SERVICE_ACCOUNTS}/${account.id}`);
    expect((await gateway.rest('GET', `/v1/sessions`, { key: account.key })).status).toBe(401);
    expect(await gql(admin.key, CREATOR, { id: sessionId })).toEqual({ session: { creator: null } });
  });

  test('have the role that the account has now', async () => {
    const admin = await gateway.createKey();
    const account = await createServiceAccountKey(gateway, admin.key, {
      role: 'admin',
      scopes: ['organizations.write'],
    });
    const list = () => gateway.rest('GET', SERVICE_ACCOUNTS, { key: account.key });
    expect((await list()).status).toBe(200);
    await restAs(admin.key)('PATCH', `${SERVICE_ACCOUNTS}/${account.id}`, { role: 'member' });
    expect((await list()).status).toBe(403);
  });

  test('sign no browser in', async () => {
    const admin = await gateway.createKey();
    const { key } = await createServiceAccountKey(gateway, admin.key);
    const answer = await gateway.fetch('/sign-in', {
      method: 'POST',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded', 'Sec-Fetch-Site': 'same-origin' },
      body: new URLSearchParams({ key }),
    });
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([403, null]);
    expect(await answer.text()).toContain('That key is of a service account, which cannot sign in.');
  });
});

describe('a service account is no member', () => {
  test('it is in no list of people, counts as no administrator, and is no user', async () => {
    const admin = await gateway.createKey();
    const account = await createServiceAccountKey(gateway, admin.key, { role: 'admin' });
    const people = `{ viewer { organization { memberCount members { totalCount } } } }`;
    expect(await gql(admin.key, people)).toEqual({
      viewer: { organization: { memberCount: 1, members: { totalCount: 1 } } },
    });
    const input = { userId: admin.userId, role: 'MEMBER' };
    expect(await mutate(gateway, admin.key, 'changeOrganizationMemberRole', input)).toMatchObject({
      __typename: 'ConflictError',
    });
    const other = { userId: account.id, role: 'MEMBER' };
    expect(await mutate(gateway, admin.key, 'changeOrganizationMemberRole', other)).toMatchObject({
      __typename: 'NotFoundError',
    });
    const user = Buffer.from(`User:${account.id}`).toString('base64');
    for (const key of [admin.key, account.key])
      expect(await gql(key, `{ node(id: "${user}") { id } }`)).toEqual({ node: null });
  });

  test('as a viewer it has an actor, a role and an organization, and no user', async () => {
    const admin = await gateway.createKey();
    const { key, id } = await createServiceAccountKey(gateway, admin.key);
    const viewer = `{ viewer { user { id } actor { ${AUTHOR} } role organization { databaseId viewerRole slug createdAt } organizations { totalCount } } }`;
    expect(await gql(key, viewer)).toEqual({
      viewer: {
        user: null,
        actor: { __typename: 'ServiceAccount', databaseId: id, name: 'Builds', role: 'MEMBER', displayName: 'Builds' },
        role: 'MEMBER',
        organization: {
          databaseId: admin.organizationId,
          viewerRole: 'MEMBER',
          slug: admin.organization,
          createdAt: expect.any(String) as string,
        },
        organizations: { totalCount: 1 },
      },
    });
  });

  test('it has no personal MCP connections', async () => {
    const admin = await gateway.createKey();
    const { key } = await createServiceAccountKey(gateway, admin.key, { scopes: ['mcp_connections.write'] });
    const body = { type: 'stdio', name: 'Own', command: 'mcp', visibility: 'personal' };
    const refused = await gateway.rest('POST', '/v1/mcp-connections', { key, body });
    expect([refused.status, refused.body]).toEqual([
      403,
      { error: 'a service account has no personal MCP connections; use a shared one' },
    ]);
  });
});

describe('as an author', () => {
  test('it is the creator of its sessions, by which lists are filtered', async () => {
    const admin = await gateway.createKey();
    const account = await createServiceAccountKey(gateway, admin.key);
    const own = await createSession(gateway, account.key, { title: 'Build', visibility: 'PUBLIC' });
    await createSession(gateway, admin.key, { title: 'By hand' });
    const list = `query($ids: [ID!]) { viewer { organization { sessions(filter: { creatorIds: $ids }) { nodes { databaseId creator { ${AUTHOR} } } } } } }`;
    const author = {
      __typename: 'ServiceAccount',
      databaseId: account.id,
      name: 'Builds',
      role: 'MEMBER',
      displayName: 'Builds',
    };
    for (const ids of [[globalId(account.id)], [account.id]])
      expect(await gql(admin.key, list, { ids })).toEqual({
        viewer: { organization: { sessions: { nodes: [{ databaseId: own, creator: author }] } } },
      });
    const refused = await gateway.graphql(admin.key, list, { ids: [Buffer.from('Session:1').toString('base64')] });
    expect(refused.errors?.[0]?.message).toContain('must be an id of the type User or ServiceAccount');
  });

  test('it changes its own sessions, and as a member no others', async () => {
    const admin = await gateway.createKey();
    const { key } = await createServiceAccountKey(gateway, admin.key);
    const own = await createSession(gateway, key, { visibility: 'PUBLIC' });
    const other = await createSession(gateway, admin.key, { visibility: 'PUBLIC' });
    const rename = async (id: string) =>
      (await gateway.rest('PATCH', `/v1/sessions/${id}`, { key, body: { title: 'New' } })).status;
    expect([await rename(own), await rename(other)]).toEqual([200, 403]);
  });

  test('the audit log names it, and the changes made to it', async () => {
    const admin = await gateway.createKey();
    const account = await createServiceAccountKey(gateway, admin.key);
    await createSession(gateway, account.key);
    const log = async (filter: string) =>
      gql(
        admin.key,
        `{ viewer { organization { auditLog(filter: ${filter}) { nodes { operation targetLabel detail actor { ${AUTHOR} } } } } } }`,
      );
    const by = {
      __typename: 'ServiceAccount',
      databaseId: account.id,
      name: 'Builds',
      role: 'MEMBER',
      displayName: 'Builds',
    };
    expect(await log(`{ actorIds: ["${globalId(account.id)}"] }`)).toEqual({
      viewer: {
        organization: {
          auditLog: { nodes: [{ operation: 'createSession', targetLabel: null, detail: 'private', actor: by }] },
        },
      },
    });
    await restAs(admin.key)('DELETE', `${SERVICE_ACCOUNTS}/${account.id}`);
    const person = { __typename: 'User', email: admin.email };
    expect(await log(`{ targetIds: ["${globalId(account.id)}"] }`)).toEqual({
      viewer: {
        organization: {
          auditLog: {
            nodes: [
              { operation: 'deleteServiceAccount', targetLabel: 'Builds', detail: null, actor: person },
              { operation: 'createServiceAccount', targetLabel: 'Builds', detail: 'member', actor: person },
            ],
          },
        },
      },
    });
  });

  test('lists read their authors with one statement', async () => {
    const admin = await gateway.createKey();
    const accounts = [];
    for (const name of ['One', 'Two', 'Three'])
      accounts.push(await createServiceAccountKey(gateway, admin.key, { name }));
    for (const { key } of accounts) await createSession(gateway, key, { visibility: 'PUBLIC' });
    await createSession(gateway, admin.key, { visibility: 'PUBLIC' });
    gateway.statements.length = 0;
    await gql(admin.key, `{ viewer { organization { sessions { nodes { creator { ${AUTHOR} } } } } } }`);
    expect(gateway.statements.filter((text) => text.includes('from "user_account" as "u"'))).toHaveLength(1);
  });
});

test('members, keys without the scope and others get nothing of them', async () => {
  const admin = await gateway.createKey();
  const { id } = await createServiceAccount(gateway, admin.key);
  const member = await gateway.createKey({ organization: admin.organization });
  const scopeless = await gateway.createKey({
    organization: admin.organization,
    role: 'admin',
    scopes: ['sessions.read'],
  });
  const foreign = await gateway.createKey();
  const path = `${SERVICE_ACCOUNTS}/${id}`;
  const key = { name: 'CI', scopes: ['social'] };
  for (const [caller, status] of [
    [member, 403],
    [scopeless, 403],
    [foreign, 404],
  ] as const) {
    const rest = restAs(caller.key);
    expect([
      (await rest('PATCH', path, { name: 'Taken' })).status,
      (await rest('DELETE', path)).status,
      (await rest('GET', `${path}/api-keys`)).status,
      (await rest('POST', `${path}/api-keys`, key)).status,
    ]).toEqual([status, status, status, status]);
  }
  expect((await restAs(foreign.key)('GET', SERVICE_ACCOUNTS)).body).toEqual({ items: [], nextCursor: null });
});

test('they end with their organization, when it is deleted and when nobody is left in it', async () => {
  const own = await startTestGateway();
  try {
    const left = await own.createKey();
    const deleted = await own.createKey();
    const accounts = [await createServiceAccountKey(own, left.key), await createServiceAccountKey(own, deleted.key)];
    for (const { key } of accounts) await createSession(own, key);
    await own.rest('DELETE', `/v1/users/${left.userId}`, { key: left.key, body: {} });
    const input = { organizationId: deleted.organizationId, confirmSlug: deleted.organization };
    await mutate(own, deleted.key, 'deleteOrganization', input);
    await runJobs(own);
    for (const { key } of accounts) expect((await own.rest('GET', '/v1/sessions', { key })).status).toBe(401);
    expect(
      await own.dependencies.sql.query('select id from user_account where service_organization_id is not null', []),
    ).toEqual([]);
  } finally {
    await own.close();
  }
});
