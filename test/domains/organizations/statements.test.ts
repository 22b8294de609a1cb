// The number of statements for lists of organizations and the fields below them does not depend on the number of organizations.
import { beforeAll, expect, test } from 'vitest';
import { type TestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';

type Issued = Awaited<ReturnType<TestGateway['createKey']>>;
const gateway = useTestGateway();
/** An unbound key of a user in three organizations. */
let unbound: Issued;
let slugs: string[];
beforeAll(async () => {
  unbound = await gateway.createKey();
  await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [unbound.keyId]);
  slugs = [unbound.organization];
  for (let index = 0; index < 2; index += 1) {
    const { organization } = await gateway.createKey({ email: unbound.email });
    for (let member = 0; member <= index; member += 1) await gateway.createKey({ organization });
    slugs.push(organization);
  }
  // Updates `lastUsedAt` of the key now; that is done once a minute.
  await gateway.graphql(unbound.key, '{ viewer { role } }');
});

async function ask<Data>(key: string, query: string, headers?: Record<string, string>) {
  gateway.statements.length = 0;
  const { data, errors } = await gateway.graphql<Data>(key, query, {}, headers);
  // Does not count the lookup of the key.
  return { data, errors, statements: gateway.statements.length - 1 };
}

interface Organizations {
  readonly viewer: { readonly organizations: { readonly nodes: readonly { slug: string; memberCount: number }[] } };
}

test('memberCount of all organizations of a list is read by one statement', async () => {
  const { data, statements } = await ask<Organizations>(
    unbound.key,
    '{ viewer { organizations { nodes { slug memberCount } } } }',
  );
  expect(data?.viewer.organizations.nodes).toEqual([
    { slug: slugs[0], memberCount: 1 },
    { slug: slugs[1], memberCount: 2 },
    { slug: slugs[2], memberCount: 3 },
  ]);
  expect(statements).toBe(2);
});

test('a page of members needs one statement, and totalCount another', async () => {
  const headers = { 'X-Organization-Id': slugs[2] ?? '' };
  interface Members {
    viewer: { organization: { members: { nodes: { user: { email: string } }[]; pageInfo: { endCursor: string } } } };
  }
  const members = (page: string) =>
    `{ viewer { organization { members(${page}) { totalCount pageInfo { hasNextPage endCursor } nodes { user { email } } } } } }`;
  const { data, statements } = await ask<Members>(unbound.key, members('first: 2'), headers);
  expect(data?.viewer.organization.members).toMatchObject({
    totalCount: 3,
    pageInfo: { hasNextPage: true },
    nodes: [{ user: { email: unbound.email } }, {}],
  });
  expect(statements).toBe(2);
  const after = data?.viewer.organization.members.pageInfo.endCursor;
  const next = await ask<Members>(unbound.key, members(`after: "${after}"`), headers);
  const last = await ask<Members>(unbound.key, members('last: 1'), headers);
  expect(next.data?.viewer.organization.members.nodes).toHaveLength(1);
  expect(last.data?.viewer.organization.members.nodes).toEqual(next.data?.viewer.organization.members.nodes);
});

test('fields of viewer that the lookup of the key has read need no statement', async () => {
  const { key, keyId, userId, organizationId, organization } = await gateway.createKey();
  await gateway.graphql(key, '{ viewer { role } }');
  const known =
    '{ viewer { user { databaseId } apiKey { databaseId scopes } organization { databaseId name slug } scopes role } }';
  const { data, statements } = await ask<object>(key, known);
  expect(data).toMatchObject({
    viewer: {
      user: { databaseId: userId },
      apiKey: { databaseId: keyId },
      organization: { databaseId: organizationId, name: organization, slug: organization },
    },
  });
  expect(statements).toBe(0);
  expect((await ask(key, '{ viewer { organization { name createdAt } } }')).statements).toBe(1);
  expect((await ask(key, '{ viewer { user { email } } }')).statements).toBe(1);
});

test('aliases with the same arguments share one statement for the page and one for the count', async () => {
  const { key } = await gateway.createKey();
  await gateway.graphql(key, '{ viewer { role } }');
  for (const field of ['apiKeys', 'members', 'auditLog', 'mcpServers']) {
    const list = `organization { ${field}(first: 5) { totalCount nodes { databaseId: __typename } } }`;
    const { errors, statements } = await ask(key, `{ a: viewer { ${list} } b: viewer { c: ${list} d: ${list} } }`);
    expect([field, errors, statements]).toEqual([field, undefined, 2]);
    const other = list.replace('first: 5', 'first: 6');
    const both = await ask(key, `{ a: viewer { ${list} } b: viewer { ${other} } }`);
    expect([field, both.statements]).toEqual([field, 4]);
  }
});

test('lists of organizations other than the acting one are errors, while lists of the acting one are answered', async () => {
  for (const field of ['apiKeys', 'auditLog', 'mcpServers', 'members']) {
    const query = `{ viewer { organization { ${field} { nodes { __typename } } } organizations { nodes { ${field} { nodes { __typename } } } } } }`;
    const { errors } = await ask(unbound.key, query, { 'X-Organization-Id': slugs[0] ?? '' });
    expect(new Set(errors?.map(({ path }) => path?.join('.')))).toEqual(
      new Set([1, 2].map((index) => `viewer.organizations.nodes.${index}.${field}`)),
    );
  }
});

test('each mutation of a request returns the state after that mutation', async () => {
  const { key, organizationId, organization } = await gateway.createKey();
  const { userId } = await gateway.createKey({ organization });
  const selection = `... on UpdateOrganizationPayload { organization { memberCount members { totalCount nodes { role } } } }`;
  const update = `updateOrganization(input: { organizationId: "${organizationId}" }) { ${selection} }`;
  const { data } = await ask<Record<string, { organization: object }>>(
    key,
    `mutation { before: ${update} removeOrganizationMember(input: { userId: "${userId}" }) { __typename } after: ${update} }`,
  );
  const admin = { role: 'ADMIN' };
  expect([data?.['before']?.organization, data?.['after']?.organization]).toEqual([
    { memberCount: 2, members: { totalCount: 2, nodes: [admin, { role: 'MEMBER' }] } },
    { memberCount: 1, members: { totalCount: 1, nodes: [admin] } },
  ]);
});
