import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { SCOPES } from '../../../src/core/access.ts';
import { actingIn, createPerson, postKey } from '../../support/fixtures/api-keys.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { startSecondGateway } from '../../support/fixtures/second-gateway.ts';

const gateway = useTestGateway();

const slug = () => `org-${randomUUID().slice(0, 13)}`;
const refusal = ({ status, body }: { status: number; body: { error: string } }) => [status, body.error];
const ONLY_OWN_ORGANIZATION = [
  403,
  'a key that is bound to an organization can create keys only for that organization',
];

async function organizationOf(key: string, header?: string): Promise<string | null> {
  const query = '{ viewer { organization { databaseId } } }';
  const { data, errors } = await gateway.graphql<{ viewer: { organization: { databaseId: string } | null } }>(
    key,
    query,
    {},
    actingIn(header),
  );
  if (!data) throw new Error(errors?.[0]?.message);
  return data.viewer.organization?.databaseId ?? null;
}

/** A person in two organizations, with a key bound to each and an unbound key. */
async function createPersonInTwoOrganizations() {
  const person = await createPerson(gateway);
  const home = await person.join(slug(), 'admin');
  const away = await person.join(slug());
  return { person, home, away };
}

describe('which organization a new key acts in', () => {
  test('an unbound key can create keys for the organization in the header, for one in the input, and for all organizations', async () => {
    const { person, home, away } = await createPersonInTwoOrganizations();
    const ofHeader = await postKey<Record<string, unknown>>(gateway, person.key, {}, away.organizationId);
    expect([ofHeader.status, ofHeader.body]).toEqual([
      201,
      {
        id: expect.any(String),
        name: 'New',
        preview: expect.stringMatching(/^wgk_.{4}…..$/),
        scopes: ['social'],
        userId: person.userId,
        serviceAccountId: null,
        organizationId: away.organizationId,
        expiresAt: null,
        lastUsedAt: null,
        revokedAt: null,
        createdAt: expect.any(String),
        key: expect.stringMatching(/^wgk_[0-9A-Za-z]{36}$/),
      },
    ]);
    expect(await organizationOf(String(ofHeader.body['key']))).toBe(away.organizationId);
    // An organization in the input takes precedence over the header.
    const named = await postKey(gateway, person.key, { organizationId: home.organizationId }, away.organizationId);
    expect(await organizationOf(named.body.key)).toBe(home.organizationId);
    const unbound = await postKey(gateway, person.key, { allOrganizations: true });
    expect(await organizationOf(unbound.body.key)).toBe(null);
    for (const { organizationId } of [home, away])
      expect(await organizationOf(unbound.body.key, organizationId)).toBe(organizationId);
  });

  test('GraphQL does the same, and accepts the database id and the global id of the organization', async () => {
    const { person, home } = await createPersonInTwoOrganizations();
    const query =
      'mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { ... on CreateApiKeyPayload { key } ... on Error { message } } }';
    const globalId = Buffer.from(`Organization:${home.organizationId}`).toString('base64');
    for (const [rest, acts] of [
      [{ organizationId: home.organizationId }, home.organizationId],
      [{ organizationId: globalId }, home.organizationId],
      [{ allOrganizations: true }, null],
    ] as const) {
      const input = { name: 'New', scopes: ['SOCIAL'], ...rest };
      const { data } = await gateway.graphql<{ createApiKey: { key: string } }>(person.key, query, { input });
      expect(await organizationOf(data?.createApiKey.key ?? '')).toBe(acts);
    }
  });

  test('an unbound key of a user in several organizations gets 400 if neither header nor input names one', async () => {
    const { person } = await createPersonInTwoOrganizations();
    const { status, body } = await postKey(gateway, person.key);
    expect([status, body.error]).toEqual([400, expect.stringContaining('missing required organization information')]);
  });

  test('an organization together with allOrganizations is 400; a foreign and an unknown organization are the same 404', async () => {
    const { person, home } = await createPersonInTwoOrganizations();
    const foreign = await gateway.createKey();
    expect(
      refusal(await postKey(gateway, person.key, { organizationId: home.organizationId, allOrganizations: true })),
    ).toEqual([400, 'allOrganizations: must not be given together with organizationId']);
    for (const organizationId of [foreign.organizationId, randomUUID()])
      expect(refusal(await postKey(gateway, person.key, { organizationId }))).toEqual([404, 'organization not found']);
  });

  test('a bound key can create keys only for its own organization, even if its user belongs to another one', async () => {
    const { home, away } = await createPersonInTwoOrganizations();
    const foreign = await gateway.createKey();
    const own = await postKey(gateway, home.key, { organizationId: home.organizationId });
    expect([own.status, await organizationOf(own.body.key)]).toEqual([201, home.organizationId]);
    for (const wanted of [
      { allOrganizations: true },
      { organizationId: away.organizationId },
      { organizationId: foreign.organizationId },
      { organizationId: randomUUID() },
    ])
      expect(refusal(await postKey(gateway, home.key, wanted))).toEqual(ONLY_OWN_ORGANIZATION);
  });
});

describe('a key never creates a stronger one', () => {
  test('a new key does not outlive the calling key: it gets its expiry by default, and a later one is 403', async () => {
    const { person } = await createPersonInTwoOrganizations();
    const at = (ms: number) => new Date(Date.now() + ms).toISOString();
    const expiresAt = at(60_000);
    const scopes = ['api_keys.write', 'api_keys.read'];
    const creator = await postKey(gateway, person.key, { allOrganizations: true, scopes, expiresAt });
    const create = (given: object) =>
      postKey<{ expiresAt: string; error: string; key: string }>(gateway, creator.body.key, {
        allOrganizations: true,
        scopes: ['api_keys.read'],
        ...given,
      });
    const inherited = await create({});
    expect([inherited.status, inherited.body.expiresAt]).toEqual([201, expiresAt]);
    expect((await create({ expiresAt: null })).body.expiresAt).toBe(expiresAt);
    const earlier = at(30_000);
    expect((await create({ expiresAt: earlier })).body.expiresAt).toBe(earlier);
    expect((await create({ expiresAt })).body.expiresAt).toBe(expiresAt);
    expect(refusal(await create({ expiresAt: at(61_000) }))).toEqual([
      403,
      `expiresAt: must not be later than the expiry of the calling key, ${expiresAt}`,
    ]);
    gateway.setClock(new Date(expiresAt));
    expect((await gateway.rest('GET', '/v1/api-keys', { key: inherited.body.key })).status).toBe(401);
    gateway.setClock(undefined);
  });

  test('a new key gets no scope that the calling key lacks, in any organization', async () => {
    const { person, away } = await createPersonInTwoOrganizations();
    const creator = await postKey(gateway, person.key, { allOrganizations: true, scopes: ['api_keys.write'] });
    for (const scope of SCOPES.filter((name) => name !== 'api_keys.write'))
      for (const where of [{ allOrganizations: true }, { organizationId: away.organizationId }])
        expect(refusal(await postKey(gateway, creator.body.key, { scopes: [scope], ...where }))).toEqual([
          403,
          `scopes: a key cannot give scopes that it does not have: ${scope}`,
        ]);
  });
});

describe('a user has at most 25 unbound keys', () => {
  test('30 concurrent requests on two gateways create exactly the allowed number; bound keys are counted separately', async () => {
    const { person, home } = await createPersonInTwoOrganizations();
    const peer = await startSecondGateway(gateway);
    try {
      const statuses = await Promise.all(
        Array.from({ length: 30 }, async (_, index) => {
          const request = new Request('http://gateway/v1/api-keys', {
            method: 'POST',
            headers: { Authorization: `Bearer ${person.key}`, 'Content-Type': 'application/json' },
            body: JSON.stringify({ name: 'Race', scopes: ['social'], allOrganizations: true }),
          });
          return String((await (index % 2 ? peer.fetch(request) : gateway.fetch(request))).status);
        }),
      );
      expect(statuses.toSorted()).toEqual([...Array<string>(24).fill('201'), ...Array<string>(6).fill('409')]);
    } finally {
      await peer.close();
    }
    expect(refusal(await postKey(gateway, person.key, { allOrganizations: true }))).toEqual([
      409,
      'a user has at most 25 active API keys that are bound to no organization; revoke one first',
    ]);
    expect((await postKey(gateway, person.key, { organizationId: home.organizationId })).status).toBe(201);
  });
});

describe('which keys a caller can see and revoke', () => {
  const list = async (key: string, header?: string, query = '') => {
    const headers = actingIn(header);
    const path = `/v1/api-keys${query}`;
    return gateway.rest<{ items: { id: string }[]; nextCursor: string | null }>('GET', path, { key, headers });
  };
  const ids = async (key: string, header?: string) => (await list(key, header)).body.items.map(({ id }) => id);

  test('an unbound key sees the unbound keys of its user and those of the acting organization; a bound key those that act in it', async () => {
    const { person, home, away } = await createPersonInTwoOrganizations();
    expect(await ids(person.key)).toEqual([person.keyId]);
    expect(await ids(person.key, home.organizationId)).toEqual([home.keyId, person.keyId]);
    expect(await ids(person.key, away.organizationId)).toEqual([away.keyId, person.keyId]);
    // Of an administrator.
    expect(await ids(home.key)).toEqual([home.keyId, person.keyId]);
    expect((await gateway.rest('DELETE', `/v1/api-keys/${person.keyId}`, { key: home.key })).status).toBe(404);
    expect(await ids(person.key)).toEqual([person.keyId]);
  });

  test('nextCursor leads through all pages and is null on the last; revoked keys are listed only with includeRevoked', async () => {
    const { key } = await gateway.createKey();
    const made: string[] = [];
    for (let index = 0; index < 4; index += 1) made.unshift((await postKey(gateway, key)).body.id);
    await gateway.rest('DELETE', `/v1/api-keys/${made[0]}`, { key });
    const seen: string[] = [];
    let cursor = '';
    do {
      const page = (await list(key, undefined, `?limit=2${cursor}`)).body;
      seen.push(...page.items.map(({ id }) => id));
      cursor = page.nextCursor === null ? '' : `&cursor=${encodeURIComponent(page.nextCursor)}`;
    } while (cursor !== '');
    expect([seen.length, seen.slice(0, 3)]).toEqual([4, made.slice(1)]);
    expect((await list(key, undefined, '?includeRevoked=true')).body.items).toHaveLength(5);
    for (const [query, error] of [
      ['?limit=0', 'limit: must be at least 1'],
      ['?limit=101', 'limit: must be at most 100'],
      ['?cursor=x', 'cursor: is not a cursor of this list and order'],
      ['?limit=a', 'limit: must be a number'],
    ])
      expect(await list(key, undefined, query)).toMatchObject({ status: 400, body: { error } });
  });

  test('403 without api_keys.read', async () => {
    const { key } = await gateway.createKey({ scopes: ['api_keys.write'] });
    expect(await list(key)).toMatchObject({
      status: 403,
      body: { error: 'the API key lacks the scope api_keys.read' },
    });
  });

  test('the creation of an unbound key is in the audit log of each organization of its user', async () => {
    const { person, home, away } = await createPersonInTwoOrganizations();
    const { body } = await postKey(gateway, person.key, { allOrganizations: true }, home.organizationId);
    const rows = await gateway.dependencies.sql.query(
      'select operation, organization_id as "organizationId" from audit_entry where target_id = $1',
      [body.id],
    );
    expect(rows).toHaveLength(3);
    const of = (organizationId: string | null) => ({ operation: 'createApiKey', organizationId });
    expect(rows).toEqual(expect.arrayContaining([null, home.organizationId, away.organizationId].map(of)));
  });
});
