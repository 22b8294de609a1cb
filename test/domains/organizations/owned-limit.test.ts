import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { actingIn, createPerson, postKey } from '../../support/fixtures/api-keys.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { CHANGE, mutateOrganization } from '../../support/fixtures/organizations.ts';
import { startSecondGateway } from '../../support/fixtures/second-gateway.ts';

/**
 * An organization can be used immediately after its creation (mission review, H1), and a person can own a limited
 * number (security review, M7).
 */

const gateway = useTestGateway();

const slug = () => `org-${randomUUID().slice(0, 13)}`;
const VIEWER = '{ viewer { role organization { databaseId members { nodes { role } } } } }';
const CREATE = `mutation($input: CreateOrganizationInput!) { createOrganization(input: $input) {
  ... on CreateOrganizationPayload { key apiKey { name scopes expiresAt organization { databaseId name } } organization { databaseId name viewerRole members { nodes { role } } } } ... on Error { message code } } }`;

interface Created {
  createOrganization: {
    key: string | null;
    apiKey: { scopes: string[]; expiresAt: string | null } | null;
    organization: { databaseId: string };
    message?: string;
    code?: string;
  };
}

async function create(key: string, input: object = {}) {
  const { data, errors } = await gateway.graphql<Created>(key, CREATE, { input: { name: 'New', ...input } });
  return { created: data?.createOrganization, errors };
}

const post = (key: string) =>
  gateway.rest<{ id: string; error: string }>('POST', '/v1/organizations', { key, body: { name: 'New' } });

describe('an organization that was just created', () => {
  test('an unbound key can act in it with the header, on both APIs', async () => {
    const person = await createPerson(gateway);
    await person.join(slug());
    const { body } = await post(person.key);
    const headers = actingIn(body.id);
    expect((await gateway.graphql(person.key, VIEWER, {}, headers)).data).toEqual({
      viewer: { role: 'ADMIN', organization: { databaseId: body.id, members: { nodes: [{ role: 'ADMIN' }] } } },
    });
    const definition = { label: 'Order', name: 'first_order' };
    const write = await gateway.rest('POST', '/events/2026-03/event-definitions', {
      key: person.key,
      headers,
      body: definition,
    });
    expect(write.status).toBe(201);
    const { body: listed } = await gateway.rest<{ items: object[] }>('GET', '/v1/organizations', { key: person.key });
    expect(listed.items).toHaveLength(2);
    expect(listed.items.at(-1)).toEqual({ ...body, memberCount: 1 });
  });

  test('createApiKey returns a key for it with the scopes and expiry of the calling key, which may be bound to another organization', async () => {
    const elsewhere = await gateway.createKey();
    const expiresAt = new Date(Date.now() + 60_000).toISOString();
    const scopes = ['organizations.write', 'api_keys.write', 'sessions.read'];
    const { body: creator } = await postKey(gateway, elsewhere.key, { scopes, expiresAt });
    const { created, errors } = await create(creator.key, { createApiKey: true });
    const organizationId = created?.organization.databaseId;
    expect(created?.apiKey).toEqual({
      name: 'First key of New',
      scopes: ['ORGANIZATIONS_WRITE', 'API_KEYS_WRITE', 'SESSIONS_READ'],
      expiresAt,
      organization: { databaseId: organizationId, name: 'New' },
    });
    const seen = await gateway.graphql(created?.key ?? '', VIEWER);
    expect(seen.data).toMatchObject({ viewer: { role: 'ADMIN', organization: { databaseId: organizationId } } });
    // The calling key is bound to another organization: it can read the new one, but its lists are errors that name the header.
    expect(created?.organization).toMatchObject({ name: 'New', viewerRole: 'ADMIN', members: null });
    expect(errors).toMatchObject([
      {
        path: ['createOrganization', 'organization', 'members'],
        message: expect.stringContaining('X-Organization-Id'),
      },
    ]);
    const answer = await gateway.graphql(creator.key, VIEWER, {}, actingIn(organizationId));
    expect(answer.errors?.[0]?.message).toContain('this key acts only in');
  });

  test('no key is created without createApiKey; with it, a caller without the scope api_keys.write creates nothing', async () => {
    const admin = await gateway.createKey();
    const { created } = await create(admin.key);
    expect(created).toMatchObject({ key: null, apiKey: null });
    const keys = 'select 1 from api_key where organization_id = $1';
    expect(await gateway.dependencies.sql.query(keys, [created?.organization.databaseId])).toEqual([]);
    const { body: creator } = await postKey(gateway, admin.key, { scopes: ['organizations.write'] });
    expect((await create(creator.key, { createApiKey: true, slug: 'not-created' })).created).toMatchObject({
      message: 'the API key lacks the scope api_keys.write',
    });
    const rows = await gateway.dependencies.sql.query(`select 1 from organization where slug = 'not-created'`, []);
    expect(rows).toEqual([]);
  });

  test('REST does not accept createApiKey', async () => {
    const { key } = await gateway.createKey();
    const answer = await gateway.rest('POST', '/v1/organizations', { key, body: { name: 'A', createApiKey: true } });
    expect(answer).toMatchObject({ status: 400, body: { error: 'createApiKey: is not a known property' } });
  });
});

describe('a person owns at most 20 organizations', () => {
  const TOO_MANY_ORGANIZATIONS =
    'a person can own at most 20 organizations, as creator or administrator; delete one first, or leave one';

  test('30 concurrent creations on two gateways with two keys create exactly the allowed number', async () => {
    const person = await createPerson(gateway);
    const bound = await person.join(slug(), 'admin');
    const peer = await startSecondGateway(gateway);
    try {
      const statuses = await Promise.all(
        Array.from({ length: 30 }, async (_, index) => {
          const request = new Request('http://gateway/v1/organizations', {
            method: 'POST',
            headers: {
              Authorization: `Bearer ${index % 3 ? person.key : bound.key}`,
              'Content-Type': 'application/json',
            },
            body: JSON.stringify({ name: `Race ${index}` }),
          });
          return String((await (index % 2 ? peer.fetch(request) : gateway.fetch(request))).status);
        }),
      );
      expect(statuses.toSorted()).toEqual([...Array<string>(19).fill('201'), ...Array<string>(11).fill('409')]);
    } finally {
      await peer.close();
    }
    expect((await post(person.key)).body.error).toBe(TOO_MANY_ORGANIZATIONS);
  });

  test('organizations that a person created count even without a membership, and so do those that the person administers', async () => {
    const admin = await gateway.createKey();
    const member = await createPerson(gateway);
    await member.join(admin.organization);
    const created: string[] = [];
    for (let index = 0; index < 20; index += 1) created.push((await post(member.key)).body.id);
    const promote = (role: string) => mutateOrganization(gateway, admin.key, CHANGE, { userId: member.userId, role });
    expect(await promote('ADMIN')).toMatchObject({
      __typename: 'ConflictError',
      message: TOO_MANY_ORGANIZATIONS,
      code: 'CONFLICT',
    });
    await gateway.dependencies.sql.query('delete from membership where organization_id = $1', [created[0]]);
    expect((await post(member.key)).status).toBe(409);
    await gateway.dependencies.sql.query('delete from organization where id = any($1)', [created.slice(0, 2)]);
    expect(await promote('ADMIN')).toMatchObject({ member: { role: 'ADMIN' } });
    // Promoting an existing administrator changes nothing, so the limit does not apply.
    expect((await post(member.key)).status).toBe(201);
    expect(await promote('ADMIN')).toMatchObject({ member: { role: 'ADMIN' } });
    expect((await post(member.key)).status).toBe(409);
  });
});
