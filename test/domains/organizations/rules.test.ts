import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { startPeer } from '../../support/fixtures/second-gateway.ts';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const AT = '2030-05-06T07:08:09.010Z';
const ERROR = '__typename ... on Error { message code path }';
const CREATE = `mutation($input: CreateOrganizationInput!) { createOrganization(input: $input) { ${ERROR} ... on CreateOrganizationPayload { organization { name slug } } } }`;
const UPDATE = `mutation($input: UpdateOrganizationInput!) { updateOrganization(input: $input) { ${ERROR} ... on UpdateOrganizationPayload { organization { name logoUrl createdAt updatedAt } } } }`;
const MEMBER = 'member { user { email } role }';
const ADD = `mutation($input: AddOrganizationMemberInput!) { addOrganizationMember(input: $input) { ${ERROR} ... on AddOrganizationMemberPayload { ${MEMBER} } } }`;
const CHANGE = `mutation($input: ChangeOrganizationMemberRoleInput!) { changeOrganizationMemberRole(input: $input) { ${ERROR} ... on ChangeOrganizationMemberRolePayload { ${MEMBER} } } }`;
const REMOVE = `mutation($input: RemoveOrganizationMemberInput!) { removeOrganizationMember(input: $input) { ${ERROR} ... on RemoveOrganizationMemberPayload { removedUserId } } }`;

/** The one field of a mutation's answer. */
async function mutate(key: string, query: string, input: object): Promise<unknown> {
  const { data, errors } = await gateway.graphql<Record<string, unknown>>(key, query, { input });
  return data ? Object.values(data)[0] : errors?.map(({ message }) => message);
}

const unique = (word: string) => `${word} ${randomUUID().slice(0, 8)}`;
const refused = (code: string, message: string, path: string[] | null = null, type = code) => ({
  __typename: `${type}Error`,
  message,
  code: { Validation: 'INVALID_INPUT', Conflict: 'CONFLICT', Forbidden: 'FORBIDDEN', NotFound: 'NOT_FOUND' }[code],
  path,
});

describe('creating an organization', () => {
  test('201 with the seven documented fields and no other; the caller is its administrator', async () => {
    const { key, keyId, userId } = await gateway.createKey();
    gateway.setClock(new Date(AT));
    const created = await gateway.rest<{ id: string }>('POST', '/v1/organizations', {
      key,
      body: { name: 'Ünïcode & Söhne GmbH' },
    });
    gateway.setClock(undefined);
    expect({ status: created.status, body: created.body }).toEqual({
      status: 201,
      body: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        name: 'Ünïcode & Söhne GmbH',
        slug: 'unicode-sohne-gmbh',
        createdAt: AT,
        updatedAt: AT,
        logoUrl: null,
        memberCount: 1,
      },
    });
    await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [keyId]);
    const query =
      '{ viewer { role organization { databaseId slug memberCount members { nodes { user { databaseId } role joinedAt } } } } }';
    expect((await gateway.graphql(key, query, {}, { 'X-Organization-Id': created.body.id })).data).toEqual({
      viewer: {
        role: 'ADMIN',
        organization: {
          databaseId: created.body.id,
          slug: 'unicode-sohne-gmbh',
          memberCount: 1,
          members: { nodes: [{ user: { databaseId: userId }, role: 'ADMIN', joinedAt: AT }] },
        },
      },
    });
  });

  test('a generated slug gets a number when taken, within 100 characters; a name of symbols alone has none', async () => {
    const { key } = await gateway.createKey();
    const slugOf = async (name: string) =>
      ((await mutate(key, CREATE, { name })) as { organization: { slug: string | null } }).organization.slug;
    expect([await slugOf('Ten Acres'), await slugOf('ten-acres!'), await slugOf('TEN  ACRES')]).toEqual([
      'ten-acres',
      'ten-acres-2',
      'ten-acres-3',
    ]);
    const long = 'x'.repeat(100);
    expect([await slugOf(long), await slugOf(long), await slugOf(`${long.slice(1)}!`)]).toEqual([
      long,
      `${'x'.repeat(98)}-2`,
      'x'.repeat(99),
    ]);
    const dashed = `${'y'.repeat(97)} zz`;
    expect([await slugOf(dashed), await slugOf(dashed)]).toEqual([`${'y'.repeat(97)}-zz`, `${'y'.repeat(97)}-2`]);
    expect([await slugOf('Großhandel Ærø'), await slugOf('Łódź Ðørþ ²')]).toEqual(['grosshandel-aero', 'lodz-dorth-2']);
    expect([await slugOf('!!!'), await slugOf('漢字')]).toEqual([null, null]);
  });

  const inputs: [string, object, string][] = [
    ['no name', {}, 'name: is required'],
    ['a null name', { name: null }, 'name: must be a string'],
    ['an empty name', { name: '' }, 'name: must not be empty'],
    ['a blank name', { name: ' \t' }, 'name: must not be blank'],
    ['a long name', { name: 'n'.repeat(101) }, 'name: must be at most 100 characters'],
    ['NUL', { name: 'a\0b' }, 'name: must be well-formed text without NUL characters'],
    ['a lone surrogate', { name: 'a\ud800' }, 'name: must be well-formed text without NUL characters'],
    ['a long slug', { name: 'n', slug: 's'.repeat(101) }, 'slug: must be at most 100 characters'],
    ...['Upper', 'a--b', '-a', 'a-', 'a b', 'ä', 'a_b', 'a\n'].map((slug): [string, object, string] => [
      `the slug ${JSON.stringify(slug)}`,
      { name: 'n', slug },
      'slug: must be lowercase letters and digits in groups joined by single hyphens',
    ]),
    [
      'several faults at once',
      { name: '', slug: 'A' },
      'name: must not be empty; slug: must be lowercase letters and digits in groups joined by single hyphens',
    ],
  ];
  test.each(inputs)('400 for %s, with one message on both doors', async (_, input, message) => {
    const { key } = await gateway.createKey();
    expect(await gateway.rest('POST', '/v1/organizations', { key, body: input })).toMatchObject({
      status: 400,
      body: { error: message },
    });
    // What GraphQL's own type system refuses never reaches the operation.
    if (!('name' in input) || input.name === null) return;
    expect(await mutate(key, CREATE, input)).toEqual(refused('Validation', message, [message.slice(0, 4)]));
  });

  test('bounds pass exactly; null for the optional slug is the same as absent, on both doors', async () => {
    const { key } = await gateway.createKey();
    const name = unique('Null');
    const slug = name.toLowerCase().replace(' ', '-');
    expect(await gateway.rest('POST', '/v1/organizations', { key, body: { name, slug: null } })).toMatchObject({
      status: 201,
      body: { slug },
    });
    expect(await mutate(key, CREATE, { name, slug: null })).toEqual({
      __typename: 'CreateOrganizationPayload',
      organization: { name, slug: `${slug}-2` },
    });
    const longest = { name: '😀'.repeat(50), slug: randomUUID().replaceAll('-', '').padEnd(100, '0') };
    expect(await gateway.rest('POST', '/v1/organizations', { key, body: longest })).toMatchObject({
      status: 201,
      body: longest,
    });
  });

  test('409 for a given slug that is taken, the same on both doors, and nothing is left behind', async () => {
    const { key, organization } = await gateway.createKey();
    const count = async () => gateway.dependencies.sql.query('select count(*) from organization', []);
    const before = await count();
    const message = `slug: ${organization} is taken by another organization; choose another slug`;
    expect(
      await gateway.rest('POST', '/v1/organizations', { key, body: { name: 'A', slug: organization } }),
    ).toMatchObject({ status: 409, body: { error: message } });
    expect(await mutate(key, CREATE, { name: 'A', slug: organization })).toEqual(
      refused('Conflict', message, ['slug']),
    );
    expect(await count()).toEqual(before);
  });

  test('403 without the scope, on both doors', async () => {
    const { key } = await gateway.createKey({ scopes: ['social'] });
    const message = 'the API key lacks the scope organizations.write';
    expect(await gateway.rest('POST', '/v1/organizations', { key, body: { name: 'A' } })).toMatchObject({
      status: 403,
      body: { error: message },
    });
    expect(await mutate(key, CREATE, { name: 'A' })).toEqual(refused('Forbidden', message));
  });

  test('20 of one name at once on two gateways: all created, with 20 distinct slugs; 20 of one given slug: one', async () => {
    const { key } = await gateway.createKey();
    const peer = await startPeer(gateway);
    const all = (body: object) =>
      Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const request = new Request('http://gateway/v1/organizations', {
            method: 'POST',
            headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' },
            body: JSON.stringify(body),
          });
          const response = await (index % 2 ? peer.fetch(request) : gateway.fetch(request));
          return [response.status, ((await response.json()) as { slug?: string }).slug] as const;
        }),
      );
    try {
      const created = await all({ name: 'Racing' });
      expect(created.map(([status]) => status)).toEqual(Array(20).fill(201));
      expect(created.map(([, slug = '']) => slug).toSorted()).toEqual(
        ['racing', ...Array.from({ length: 19 }, (_, index) => `racing-${index + 2}`)].toSorted(),
      );
      expect((await all({ name: 'Given', slug: 'given-race' })).map(([status]) => String(status)).toSorted()).toEqual([
        '201',
        ...Array<string>(19).fill('409'),
      ]);
    } finally {
      await peer.close();
    }
  });
});

describe('changing an organization', () => {
  test('absent keeps, null clears the logo and is refused for the name; an empty change leaves updatedAt', async () => {
    const { key, organizationId, organization } = await gateway.createKey();
    gateway.setClock(new Date(AT));
    const changed = async (input: object) =>
      ((await mutate(key, UPDATE, { organizationId, ...input })) as { organization?: object }).organization;
    const first = { name: organization, logoUrl: null, createdAt: expect.any(String), updatedAt: expect.any(String) };
    const untouched = await changed({});
    expect(untouched).toEqual(first);
    expect(untouched).not.toHaveProperty('updatedAt', AT);
    expect(await changed({ logoUrl: 'https://example.com/l.png' })).toEqual({
      ...first,
      logoUrl: 'https://example.com/l.png',
      updatedAt: AT,
    });
    expect(await changed({ name: 'New' })).toEqual({ ...first, name: 'New', logoUrl: 'https://example.com/l.png' });
    expect(await changed({ logoUrl: null })).toEqual({ ...first, name: 'New', logoUrl: null });
    gateway.setClock(undefined);
    expect(await mutate(key, UPDATE, { organizationId, name: null })).toEqual(
      refused('Validation', 'name: must be a string', ['name']),
    );
    for (const logoUrl of ['javascript:alert(1)', 'data:,x', '/relative', 'ftp://example.com']) {
      expect(await mutate(key, UPDATE, { organizationId, logoUrl })).toEqual(
        refused('Validation', 'logoUrl: must be an http or https URL', ['logoUrl']),
      );
    }
    for (const logoUrl of ['https://e.com/a b', 'ht\ttps://e.com', 'https:///e.com']) {
      expect(await mutate(key, UPDATE, { organizationId, logoUrl })).toMatchObject({
        message: expect.stringContaining('logoUrl: must be a URI (RFC 3986)'),
      });
    }
    expect(await mutate(key, UPDATE, { organizationId, logoUrl: `https://e.com/${'x'.repeat(2048)}` })).toEqual(
      refused('Validation', 'logoUrl: must be at most 2048 characters', ['logoUrl']),
    );
  });

  test('its slug stays when its name changes, and either id names it', async () => {
    const { key, organizationId, organization } = await gateway.createKey();
    const id = Buffer.from(`Organization:${organizationId}`).toString('base64');
    expect(await mutate(key, UPDATE, { organizationId: id, name: 'Other' })).toMatchObject({
      organization: { name: 'Other' },
    });
    expect((await gateway.graphql(key, '{ viewer { organization { id slug } } }')).data).toEqual({
      viewer: { organization: { id, slug: organization } },
    });
  });

  test('403 for members and without the scope; 404 alike for foreign and missing ones', async () => {
    const admin = await gateway.createKey();
    const member = await gateway.createKey({ organization: admin.organization });
    const bare = await gateway.createKey({ scopes: ['social'] });
    const foreign = await gateway.createKey();
    expect(await mutate(member.key, UPDATE, { organizationId: admin.organizationId, name: 'X' })).toEqual(
      refused('Forbidden', 'only an admin of the organization may do this'),
    );
    expect(await mutate(bare.key, UPDATE, { organizationId: bare.organizationId, name: 'X' })).toEqual(
      refused('Forbidden', 'the API key lacks the scope organizations.write'),
    );
    for (const organizationId of [foreign.organizationId, randomUUID()]) {
      expect(await mutate(admin.key, UPDATE, { organizationId, name: 'X' })).toEqual(
        refused('NotFound', 'organization not found'),
      );
    }
    expect(await mutate(admin.key, UPDATE, { organizationId: 'x', name: 'X' })).toEqual(
      refused('Validation', 'organizationId: must be a UUID', ['organizationId']),
    );
  });
});

describe('members', () => {
  test('added by address without case, changed, removed; the list and memberCount follow', async () => {
    const admin = await gateway.createKey();
    const known = await gateway.createKey();
    const address = `${randomUUID()}@Example.COM`;
    expect(await mutate(admin.key, ADD, { email: address })).toEqual({
      __typename: 'AddOrganizationMemberPayload',
      member: { user: { email: address.toLowerCase() }, role: 'MEMBER' },
    });
    expect(await mutate(admin.key, ADD, { email: known.email, role: 'ADMIN' })).toMatchObject({
      member: { user: { email: known.email }, role: 'ADMIN' },
    });
    expect(await mutate(admin.key, ADD, { email: address.toUpperCase() })).toEqual(
      refused('Conflict', `email: ${address.toLowerCase()} is a member of the organization already`, ['email']),
    );
    expect(await mutate(admin.key, CHANGE, { userId: known.userId, role: 'MEMBER' })).toMatchObject({
      member: { user: { email: known.email }, role: 'MEMBER' },
    });
    const list = '{ viewer { organization { memberCount members { nodes { user { email } role } } } } }';
    expect((await gateway.graphql(admin.key, list)).data).toEqual({
      viewer: {
        organization: {
          memberCount: 3,
          members: {
            nodes: [
              { user: { email: admin.email }, role: 'ADMIN' },
              { user: { email: address.toLowerCase() }, role: 'MEMBER' },
              { user: { email: known.email }, role: 'MEMBER' },
            ],
          },
        },
      },
    });
    const globalId = Buffer.from(`User:${known.userId}`).toString('base64');
    expect(await mutate(admin.key, REMOVE, { userId: globalId })).toEqual({
      __typename: 'RemoveOrganizationMemberPayload',
      removedUserId: globalId,
    });
    expect(await mutate(admin.key, REMOVE, { userId: known.userId })).toEqual(refused('NotFound', 'member not found'));
    expect((await gateway.graphql(admin.key, '{ viewer { organization { memberCount } } }')).data).toEqual({
      viewer: { organization: { memberCount: 2 } },
    });
  });

  test.each(['', 'x', 'a@', '@b', 'a b@example.com', `${'a'.repeat(250)}@example.com`, 'a@example.com\0'])(
    '%j is no e-mail address: 400',
    async (email) => {
      const { key } = await gateway.createKey();
      expect(await mutate(key, ADD, { email })).toMatchObject({ __typename: 'ValidationError', path: ['email'] });
    },
  );

  test('only an admin with the scope manages members; anybody else changes nothing', async () => {
    const admin = await gateway.createKey();
    const member = await gateway.createKey({ organization: admin.organization });
    const bare = await gateway.createKey({ organization: admin.organization, role: 'admin', scopes: ['social'] });
    const tries: [string, object][] = [
      [ADD, { email: 'new@example.com' }],
      [CHANGE, { userId: member.userId, role: 'ADMIN' }],
      [REMOVE, { userId: admin.userId }],
    ];
    for (const [query, input] of tries) {
      expect(await mutate(member.key, query, input)).toEqual(
        refused('Forbidden', 'only an admin of the organization may do this'),
      );
      expect(await mutate(bare.key, query, input)).toEqual(
        refused('Forbidden', 'the API key lacks the scope organizations.write'),
      );
    }
    expect((await gateway.graphql(admin.key, '{ viewer { organization { memberCount } } }')).data).toEqual({
      viewer: { organization: { memberCount: 3 } },
    });
  });

  test('the last admin stays one: 409 to demote or remove them, themselves included', async () => {
    const admin = await gateway.createKey();
    const member = await gateway.createKey({ organization: admin.organization });
    const message = 'the organization must keep at least one admin; make another member an admin first';
    expect(await mutate(admin.key, CHANGE, { userId: admin.userId, role: 'MEMBER' })).toEqual(
      refused('Conflict', message),
    );
    expect(await mutate(admin.key, REMOVE, { userId: admin.userId })).toEqual(refused('Conflict', message));
    expect(await mutate(admin.key, CHANGE, { userId: admin.userId, role: 'ADMIN' })).toMatchObject({
      member: { role: 'ADMIN' },
    });
    await mutate(admin.key, CHANGE, { userId: member.userId, role: 'ADMIN' });
    expect(await mutate(admin.key, REMOVE, { userId: admin.userId })).toMatchObject({
      __typename: 'RemoveOrganizationMemberPayload',
    });
    expect((await gateway.rest('POST', '/v1/organizations', { key: admin.key, body: { name: 'A' } })).status).toBe(401);
  });

  test.each([
    ['demote', CHANGE, { role: 'MEMBER' }],
    ['remove', REMOVE, {}],
  ])('two admins who %s each other at once: one admin remains', async (_, query, input) => {
    for (let round = 0; round < 10; round += 1) {
      const one = await gateway.createKey();
      const two = await gateway.createKey({ organization: one.organization, role: 'admin' });
      await Promise.all([
        mutate(one.key, query, { userId: two.userId, ...input }),
        mutate(two.key, query, { userId: one.userId, ...input }),
      ]);
      const admins = await gateway.dependencies.sql.query(
        `select 1 from membership where organization_id = $1 and role = 'admin'`,
        [one.organizationId],
      );
      expect(admins).toHaveLength(1);
    }
  });

  test('one address added 10 times at once: one member, nine conflicts, one user', async () => {
    const { key } = await gateway.createKey();
    const email = `${randomUUID()}@example.com`;
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => mutate(key, ADD, { email }) as Promise<{ __typename: string }>),
    );
    expect(answers.map(({ __typename }) => __typename).toSorted()).toEqual([
      'AddOrganizationMemberPayload',
      ...Array<string>(9).fill('ConflictError'),
    ]);
  });
});

describe('viewer', () => {
  test('tells the caller, their key, scopes, role and organization', async () => {
    const { key, keyId, userId, organizationId, organization, email } = await gateway.createKey({
      role: 'member',
      scopes: ['social', 'users.delete'],
    });
    const query =
      '{ viewer { user { databaseId email name } apiKey { databaseId scopes preview } scopes role organization { databaseId name slug logoUrl } } }';
    expect(await gateway.graphql(key, query)).toMatchObject({
      data: {
        viewer: {
          user: { databaseId: userId, email, name: null },
          apiKey: {
            databaseId: keyId,
            scopes: ['SOCIAL', 'USERS_DELETE'],
            preview: `${key.slice(0, 8)}…${key.slice(-2)}`,
          },
          scopes: ['SOCIAL', 'USERS_DELETE'],
          role: 'MEMBER',
          organization: { databaseId: organizationId, name: organization, slug: organization, logoUrl: null },
        },
      },
    });
  });

  test('organizations: those of the user by time, page by page either way; a key of one organization sees that one', async () => {
    const first = await gateway.createKey();
    await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [first.keyId]);
    const slugs = [first.organization];
    for (let index = 0; index < 4; index += 1)
      slugs.push((await gateway.createKey({ email: first.email })).organization);
    type Page = {
      viewer: {
        organizations: {
          nodes: { slug: string }[];
          pageInfo: { endCursor: string; startCursor: string; hasNextPage: boolean; hasPreviousPage: boolean };
        };
      };
    };
    const query = `query($first: Int, $after: String, $last: Int, $before: String) { viewer { organizations(first: $first, after: $after, last: $last, before: $before) {
      nodes { slug } pageInfo { endCursor startCursor hasNextPage hasPreviousPage } } } }`;
    const walk = async (backward: boolean) => {
      const seen: string[] = [];
      for (let cursor: string | undefined; ;) {
        const { data } = await gateway.graphql<Page>(
          first.key,
          query,
          backward ? { last: 2, before: cursor } : { first: 2, after: cursor },
        );
        const { nodes = [], pageInfo } = data?.viewer.organizations ?? {};
        if (backward) seen.unshift(...nodes.map(({ slug }) => slug));
        else seen.push(...nodes.map(({ slug }) => slug));
        cursor = backward ? pageInfo?.startCursor : pageInfo?.endCursor;
        if (!(backward ? pageInfo?.hasPreviousPage : pageInfo?.hasNextPage)) return seen;
      }
    };
    expect(await walk(false)).toEqual(slugs);
    expect(await walk(true)).toEqual(slugs);
    const bound = await gateway.createKey({ email: first.email, organization: slugs[1] });
    expect((await gateway.graphql<Page>(bound.key, query)).data?.viewer.organizations.nodes).toEqual([
      { slug: slugs[1] },
    ]);
    for (const [variables, message] of [
      [{ first: 0 }, 'first: must be from 1 to 100'],
      [{ first: 101 }, 'first: must be from 1 to 100'],
      [{ first: 1, last: 1 }, 'last: must not be given together with first'],
      [{ after: 'x' }, 'after: is not a cursor of this list and order'],
    ] as const) {
      expect((await gateway.graphql(first.key, query, variables)).errors?.map((error) => error.message)).toEqual([
        message,
      ]);
    }
  });

  test('lists of another organization than the one of the request are refused, never answered with the wrong rows', async () => {
    const first = await gateway.createKey();
    await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [first.keyId]);
    const second = await gateway.createKey({ email: first.email });
    const query = '{ viewer { organizations { nodes { slug apiKeys { nodes { id } } } } } }';
    const answer = await gateway.graphql(first.key, query, {}, { 'X-Organization-Id': second.organization });
    expect(answer).toMatchObject({
      data: null,
      errors: [
        {
          message:
            'a request reads in one organization: send the header X-Organization-Id with the id or slug of this one',
          extensions: { code: 'INVALID_INPUT' },
        },
      ],
    });
  });
});
