// What lists of organizations and the fields below them cost in statements, whatever the number of organizations.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';

type Issued = Awaited<ReturnType<TestGateway['createKey']>>;
let gateway: TestGateway;
/** A key of no organization, of a user in three. */
let free: Issued;
let slugs: string[];
beforeAll(async () => {
  gateway = await startTestGateway();
  free = await gateway.createKey();
  await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [free.keyId]);
  slugs = [free.organization];
  for (let index = 0; index < 2; index += 1) {
    const { organization } = await gateway.createKey({ email: free.email });
    for (let member = 0; member <= index; member += 1) await gateway.createKey({ organization });
    slugs.push(organization);
  }
  // Its use is noted, once a minute.
  await gateway.graphql(free.key, '{ viewer { role } }');
});
afterAll(() => gateway.close());

async function ask<Data>(key: string, query: string, headers?: Record<string, string>) {
  gateway.statements.length = 0;
  const { data, errors } = await gateway.graphql<Data>(key, query, {}, headers);
  // Without the lookup of the key.
  return { data, errors, statements: gateway.statements.length - 1 };
}

interface Organizations {
  readonly viewer: {
    readonly organizations: {
      readonly nodes: readonly {
        readonly slug: string;
        readonly memberCount: number;
        readonly members: {
          readonly totalCount: number;
          readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string };
          readonly nodes: readonly { readonly user: { readonly email: string } }[];
        };
      }[];
    };
  };
}
const MEMBERS = (page: string) =>
  `{ viewer { organizations { nodes { slug memberCount members(${page}) { totalCount pageInfo { hasNextPage endCursor } nodes { user { email } } } } } } }`;

test('members of all organizations of a list: one statement for each field', async () => {
  const { data, statements } = await ask<Organizations>(free.key, MEMBERS('first: 2'));
  const organizations = data?.viewer.organizations.nodes ?? [];
  expect(
    organizations.map(({ slug, memberCount, members: { totalCount, pageInfo, nodes } }) => [
      slug,
      [memberCount, totalCount, nodes.length],
      pageInfo.hasNextPage,
      nodes[0]?.user.email,
    ]),
  ).toEqual([
    [slugs[0], [1, 1, 1], false, free.email],
    [slugs[1], [2, 2, 2], false, free.email],
    [slugs[2], [3, 3, 2], true, free.email],
  ]);
  // The list, the pages, and both counts.
  expect(statements).toBe(4);
  const after = organizations[2]?.members.pageInfo.endCursor;
  const next = await ask<Organizations>(free.key, MEMBERS(`after: "${after}"`));
  expect(next.data?.viewer.organizations.nodes.map(({ members }) => members.nodes.length)).toEqual([0, 0, 1]);
  const last = await ask<Organizations>(free.key, MEMBERS('last: 1'));
  const emails = last.data?.viewer.organizations.nodes.map(({ members }) => members.nodes[0]?.user.email);
  expect(emails?.[2]).toBe(next.data?.viewer.organizations.nodes[2]?.members.nodes[0]?.user.email);
});

test('what the lookup of the key has found of the caller is not read again', async () => {
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

test('aliases with the same arguments share a statement, and its count', async () => {
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

test('a list of another organization than the one of the request is refused, beside one that is answered', async () => {
  for (const field of ['apiKeys', 'auditLog', 'mcpServers']) {
    const query = `{ viewer { organization { ${field} { nodes { __typename } } } organizations { nodes { ${field} { nodes { __typename } } } } } }`;
    const { errors } = await ask(free.key, query, { 'X-Organization-Id': slugs[0] ?? '' });
    expect(new Set(errors?.map(({ path }) => path?.join('.')))).toEqual(
      new Set([1, 2].map((index) => `viewer.organizations.nodes.${index}.${field}`)),
    );
  }
});

test('each mutation of a request answers what is there by then', async () => {
  const { key, organizationId } = await gateway.createKey();
  const look = `... on UpdateOrganizationPayload { organization { memberCount members { totalCount nodes { role } } } }`;
  const update = `updateOrganization(input: { organizationId: "${organizationId}" }) { ${look} }`;
  const { data } = await ask<Record<string, { organization: object }>>(
    key,
    `mutation { before: ${update} addOrganizationMember(input: { email: "late@example.com" }) { __typename } after: ${update} }`,
  );
  const admin = { role: 'ADMIN' };
  expect([data?.['before']?.organization, data?.['after']?.organization]).toEqual([
    { memberCount: 1, members: { totalCount: 1, nodes: [admin] } },
    { memberCount: 2, members: { totalCount: 2, nodes: [admin, { role: 'MEMBER' }] } },
  ]);
});
