import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { CREATE, UPDATE, mutateOrganization, refused } from '../../support/fixtures/organizations.ts';
import { sampled } from '../../support/sample.ts';

const gateway = useTestGateway();

const AT = '2030-05-06T07:08:09.010Z';
const mutate = (key: string, query: string, input: object) => mutateOrganization(gateway, key, query, input);

const unique = (word: string) => `${word} ${randomUUID().slice(0, 8)}`;

describe('creating an organization', () => {
  test('is 201 with the seven documented fields and no other, and makes the caller its administrator', async () => {
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

  test('a generated slug is numbered if it is taken and has at most 100 characters; a name without letters and digits gives none', async () => {
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
      'slug: must be lowercase letters and digits in groups separated by single hyphens',
    ]),
    [
      'several faults at once',
      { name: '', slug: 'A' },
      'name: must not be empty; slug: must be lowercase letters and digits in groups separated by single hyphens',
    ],
  ];
  sampled(test, 4).each(inputs)('400 for %s, with one message on both APIs', async (_, input, message) => {
    const { key } = await gateway.createKey();
    expect(await gateway.rest('POST', '/v1/organizations', { key, body: input })).toMatchObject({
      status: 400,
      body: { error: message },
    });
    // The types of GraphQL refuse these inputs before the operation runs.
    if (!('name' in input) || input.name === null) return;
    expect(await mutate(key, CREATE, input)).toEqual(refused('Validation', message, [message.slice(0, 4)]));
  });

  test('name and slug of the maximum length are accepted; null for the slug is the same as an absent slug, on both APIs', async () => {
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

  test('409 for a given slug that is taken, with the same message on both APIs, and nothing is stored', async () => {
    const { key, organization } = await gateway.createKey();
    const count = async () => gateway.dependencies.sql.query('select count(*) from organization', []);
    const before = await count();
    const message = `slug: ${organization} already exists as the slug of another organization; choose another slug`;
    expect(
      await gateway.rest('POST', '/v1/organizations', { key, body: { name: 'A', slug: organization } }),
    ).toMatchObject({ status: 409, body: { error: message } });
    expect(await mutate(key, CREATE, { name: 'A', slug: organization })).toEqual(
      refused('Conflict', message, ['slug']),
    );
    expect(await count()).toEqual(before);
  });

  test('403 without the scope, on both APIs', async () => {
    const { key } = await gateway.createKey({ scopes: ['social'] });
    const message = 'the API key lacks the scope organizations.write';
    expect(await gateway.rest('POST', '/v1/organizations', { key, body: { name: 'A' } })).toMatchObject({
      status: 403,
      body: { error: message },
    });
    expect(await mutate(key, CREATE, { name: 'A' })).toEqual(refused('Forbidden', message));
  });
});

describe('changing an organization', () => {
  test('an update keeps absent fields, clears the logo for null, refuses null for the name, and keeps updatedAt if it is empty', async () => {
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

  test('a new name does not change the slug; the input accepts the database id and the global id', async () => {
    const { key, organizationId, organization } = await gateway.createKey();
    const id = Buffer.from(`Organization:${organizationId}`).toString('base64');
    expect(await mutate(key, UPDATE, { organizationId: id, name: 'Other' })).toMatchObject({
      organization: { name: 'Other' },
    });
    expect((await gateway.graphql(key, '{ viewer { organization { id slug } } }')).data).toEqual({
      viewer: { organization: { id, slug: organization } },
    });
  });

  test('403 for members and without the scope; the same 404 for foreign and missing organizations', async () => {
    const admin = await gateway.createKey();
    const member = await gateway.createKey({ organization: admin.organization });
    const bare = await gateway.createKey({ scopes: ['social'] });
    const foreign = await gateway.createKey();
    expect(await mutate(member.key, UPDATE, { organizationId: admin.organizationId, name: 'X' })).toEqual(
      refused('Forbidden', 'only administrators of the organization can do this'),
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
      refused('Validation', 'organizationId: must be an id of the type Organization', ['organizationId']),
    );
  });
});
