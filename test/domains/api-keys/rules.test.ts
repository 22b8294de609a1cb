import { randomUUID } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { SCOPES } from '../../../src/core/access.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { untilWaitingForLock, whileLocked } from '../../support/fixtures/locks.ts';
import { dumpTables, startSecondGateway } from '../../support/fixtures/second-gateway.ts';
import { sampled } from '../../support/sample.ts';

const gateway = useOwnGateway();

const AT = '2030-05-06T07:08:09.010Z';
const ERROR = '__typename ... on Error { message code path }';
const KEY = 'databaseId name preview scopes expiresAt lastUsedAt revokedAt createdAt';
const CREATE = `mutation($input: CreateApiKeyInput!) { createApiKey(input: $input) { ${ERROR} ... on CreateApiKeyPayload { key apiKey { ${KEY} } } } }`;
const RENAME = `mutation($input: RenameApiKeyInput!) { renameApiKey(input: $input) { ${ERROR} ... on RenameApiKeyPayload { apiKey { name } } } }`;
const REVOKE = `mutation($input: RevokeApiKeyInput!) { revokeApiKey(input: $input) { ${ERROR} ... on RevokeApiKeyPayload { deletedId apiKey { databaseId revokedAt } } } }`;
const LIST =
  'query($all: Boolean!) { viewer { organization { apiKeys(filter: { includeRevoked: $all }) { nodes { name revokedAt } } } } }';
const globalId = (id: string) => Buffer.from(`ApiKey:${id}`).toString('base64');
const TOO_MANY_KEYS = 'a user has at most 25 active API keys in an organization; revoke one first';

async function mutate<Result = unknown>(key: string, query: string, input: object): Promise<Result> {
  const { data, errors } = await gateway.graphql<Record<string, Result>>(key, query, { input });
  if (!data) throw new Error(errors?.map(({ message }) => message).join('; '));
  return Object.values(data)[0] as Result;
}
type Created = { __typename: string; key: string; apiKey: { databaseId: string; createdAt: string } };
const create = (key: string, input: object = {}) =>
  mutate<Created>(key, CREATE, { name: 'New', scopes: ['SOCIAL'], ...input });
const names = async (key: string, all = false) =>
  (
    await gateway.graphql<{ viewer: { organization: { apiKeys: { nodes: { name: string }[] } } } }>(key, LIST, { all })
  ).data?.viewer.organization.apiKeys.nodes.map(({ name }) => name);
const works = async (key: string) => (await gateway.graphql(key, '{ __typename }')).data !== undefined;
const notFound = { __typename: 'NotFoundError', message: 'API key not found', code: 'NOT_FOUND', path: null };

describe('creating a key', () => {
  test('the answer contains the secret, which authenticates; later only a preview can be read', async () => {
    const { key } = await gateway.createKey();
    gateway.setClock(new Date(AT));
    const created = await create(key, {
      name: 'CI',
      scopes: ['SOCIAL', 'API_KEYS_READ', 'SOCIAL'],
      expiresAt: '2030-05-06T09:08:10.010+01:00',
    });
    expect(created).toEqual({
      __typename: 'CreateApiKeyPayload',
      key: expect.stringMatching(/^wgk_[0-9A-Za-z]{36}$/),
      apiKey: {
        databaseId: expect.any(String),
        name: 'CI',
        preview: `${created.key.slice(0, 8)}…${created.key.slice(-2)}`,
        scopes: ['SOCIAL', 'API_KEYS_READ'],
        expiresAt: '2030-05-06T08:08:10.010Z',
        lastUsedAt: null,
        revokedAt: null,
        createdAt: AT,
      },
    });
    const seen = await gateway.graphql<{ viewer: object }>(created.key, `{ viewer { scopes apiKey { ${KEY} } } }`);
    expect(seen.data?.viewer).toEqual({
      scopes: ['SOCIAL', 'API_KEYS_READ'],
      apiKey: { ...created.apiKey, lastUsedAt: AT },
    });
    gateway.setClock(new Date('2030-05-06T08:08:10.010Z'));
    expect(await works(created.key)).toBe(false);
    gateway.setClock(undefined);
    const places = [
      await dumpTables(gateway),
      gateway.logged.join(''),
      await gateway.dependencies.metrics.registry.metrics(),
    ];
    expect(places.map((place) => place.includes(created.key.slice(8, -2)))).toEqual([false, false, false]);
  });

  test('a key cannot give a new key any scope that it lacks', async () => {
    const enumOf = (scope: string) => scope.replaceAll('.', '_').toUpperCase();
    const { key } = await gateway.createKey({ scopes: ['api_keys.write'] });
    for (const scope of SCOPES.filter((name) => name !== 'api_keys.write')) {
      expect(await create(key, { scopes: ['API_KEYS_WRITE', enumOf(scope)] })).toEqual({
        __typename: 'ForbiddenError',
        message: `scopes: a key cannot give scopes that it does not have: ${enumOf(scope)}`,
        code: 'FORBIDDEN',
        path: null,
      });
    }
    expect(await create(key, { scopes: ['API_KEYS_WRITE'] })).toMatchObject({ __typename: 'CreateApiKeyPayload' });
    const bare = await gateway.createKey({ scopes: SCOPES.filter((scope) => scope !== 'api_keys.write') });
    expect(await create(bare.key)).toMatchObject({
      __typename: 'ForbiddenError',
      message: 'the API key lacks the scope api_keys.write',
    });
  });

  const inputs: [object, string][] = [
    [{ name: '' }, 'name: must not be empty'],
    [{ name: 'n'.repeat(101) }, 'name: must be at most 100 characters'],
    [{ name: 'a\0' }, 'name: must be well-formed text without NUL characters'],
    [{ name: '\udc00' }, 'name: must be well-formed text without NUL characters'],
    [{ scopes: [] }, 'scopes: must have at least 1 item'],
    [{ scopes: Array<string>(SCOPES.length + 1).fill('SOCIAL') }, `scopes: must have at most ${SCOPES.length} items`],
    [{ expiresAt: '2001-01-01T00:00:00Z' }, 'expiresAt: must be in the future'],
  ];
  sampled(test, 3).each(inputs)('%j is 400', async (input, message) => {
    const { key } = await gateway.createKey();
    expect(await create(key, input)).toEqual({
      __typename: 'ValidationError',
      message,
      code: 'INVALID_INPUT',
      path: [message.slice(0, message.indexOf(':'))],
    });
  });

  test('an expiry that is now has passed, a millisecond later it has not', async () => {
    const { key } = await gateway.createKey();
    const at = new Date();
    gateway.setClock(at);
    expect(await create(key, { expiresAt: at.toISOString() })).toMatchObject({
      __typename: 'ValidationError',
      message: 'expiresAt: must be in the future',
    });
    expect(await create(key, { expiresAt: new Date(at.getTime() + 1).toISOString() })).toMatchObject({
      __typename: 'CreateApiKeyPayload',
    });
    gateway.setClock(undefined);
  });

  test('null for the optional expiry is the same as absent', async () => {
    const { key } = await gateway.createKey();
    expect(await create(key, { expiresAt: null })).toMatchObject({ apiKey: { expiresAt: null } });
  });

  test('a user has at most 25 active keys; revoked and expired keys do not count', async () => {
    const { key } = await gateway.createKey();
    const made: Created[] = [];
    for (let index = 0; index < 24; index += 1) made.push(await create(key, { name: `${index}` }));
    const full = { __typename: 'ConflictError', message: TOO_MANY_KEYS, code: 'CONFLICT', path: null };
    expect(await create(key)).toEqual(full);
    expect(await mutate(key, REVOKE, { apiKeyId: made[0]?.apiKey.databaseId })).toMatchObject({
      __typename: 'RevokeApiKeyPayload',
    });
    expect(await create(key, { expiresAt: new Date(Date.now() + 60_000).toISOString() })).toMatchObject({
      __typename: 'CreateApiKeyPayload',
    });
    expect(await create(key)).toEqual(full);
    gateway.setClock(new Date(Date.now() + 61_000));
    expect(await create(key)).toMatchObject({ __typename: 'CreateApiKeyPayload' });
    expect(await create(key)).toEqual(full);
    gateway.setClock(undefined);
  });

  test('40 concurrent requests on two gateways create exactly as many keys as each user may still have', async () => {
    const admin = await gateway.createKey();
    const member = await gateway.createKey({ organization: admin.organization });
    for (let index = 0; index < 18; index += 1) await create(admin.key);
    const peer = await startSecondGateway(gateway);
    try {
      const body = JSON.stringify({ query: CREATE, variables: { input: { name: 'Race', scopes: ['SOCIAL'] } } });
      const answers = await Promise.all(
        Array.from({ length: 40 }, async (_, index) => {
          const isMember = index % 4 === 0;
          const request = new Request('http://gateway/graphql', {
            method: 'POST',
            headers: {
              Authorization: `Bearer ${isMember ? member.key : admin.key}`,
              'Content-Type': 'application/json',
            },
            body,
          });
          const response = await (index % 2 ? peer.fetch(request) : gateway.fetch(request));
          const { data } = (await response.json()) as { data: { createApiKey: { __typename: string } } };
          return `${isMember ? 'member' : 'admin'} ${data.createApiKey.__typename}`;
        }),
      );
      expect(answers.toSorted()).toEqual([
        ...Array<string>(24).fill('admin ConflictError'),
        ...Array<string>(6).fill('admin CreateApiKeyPayload'),
        ...Array<string>(10).fill('member CreateApiKeyPayload'),
      ]);
    } finally {
      await peer.close();
    }
  });

  test('the removal of a member waits for a key that they are creating, and then revokes it, too', async () => {
    const admin = await gateway.createKey();
    const member = await gateway.createKey({ organization: admin.organization });
    const removal =
      'mutation($input: RemoveOrganizationMemberInput!) { removeOrganizationMember(input: $input) { __typename } }';
    const { sql } = gateway.dependencies;
    await sql.query(
      `create function wait_for_test() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock_shared(7); return new; end $$`,
      [],
    );
    await sql.query(
      `create trigger wait_for_test before insert on api_key for each row when (new.name = 'Waits') execute function wait_for_test()`,
      [],
    );
    const answers = await whileLocked(gateway, 'select pg_advisory_xact_lock(7)', [], async (release) => {
      const creating = create(member.key, { name: 'Waits' });
      await untilWaitingForLock(gateway, 1);
      const removing = mutate<{ __typename: string }>(admin.key, removal, { userId: member.userId });
      await untilWaitingForLock(gateway, 2);
      await release();
      return Promise.all([creating, removing]);
    });
    expect(answers.map(({ __typename }) => __typename)).toEqual([
      'CreateApiKeyPayload',
      'RemoveOrganizationMemberPayload',
    ]);
    const keys = await sql.query(
      'select name, revoked_at is null as active from api_key where organization_id = $1 and user_id = $2 order by name',
      [admin.organizationId, member.userId],
    );
    expect(keys).toEqual([
      { name: 'Created at the command line', active: false },
      { name: 'Waits', active: false },
    ]);
  });
});

describe('listing keys', () => {
  test('keys are listed newest first: an admin sees all of the organization, a member only their own', async () => {
    const admin = await gateway.createKey();
    const member = await gateway.createKey({ organization: admin.organization });
    await gateway.createKey();
    await create(admin.key, { name: 'Of the admin' });
    const own = await create(member.key, { name: 'Of the member' });
    expect(await names(admin.key)).toEqual([
      'Of the member',
      'Of the admin',
      'Created at the command line',
      'Created at the command line',
    ]);
    expect(await names(member.key)).toEqual(['Of the member', 'Created at the command line']);
    await mutate(member.key, REVOKE, { apiKeyId: own.apiKey.databaseId });
    expect(await names(member.key)).toEqual(['Created at the command line']);
    expect(await names(member.key, true)).toEqual(['Of the member', 'Created at the command line']);
  });

  test('the list is 403 without the scope, but a key can always read itself', async () => {
    const { key, keyId } = await gateway.createKey({ scopes: ['social'] });
    expect(await gateway.graphql(key, LIST, { all: false })).toMatchObject({
      errors: [{ message: 'the API key lacks the scope api_keys.read', extensions: { code: 'FORBIDDEN' } }],
    });
    const query = 'query($id: ID!) { viewer { apiKey { databaseId } } node(id: $id) { id } }';
    expect((await gateway.graphql(key, query, { id: globalId(keyId) })).data).toEqual({
      viewer: { apiKey: { databaseId: keyId } },
      node: { id: globalId(keyId) },
    });
  });
});

describe('renaming a key', () => {
  test('its user and an admin can rename it by database id or global id; the key keeps working', async () => {
    const admin = await gateway.createKey();
    const member = await gateway.createKey({ organization: admin.organization });
    expect(await mutate(member.key, RENAME, { apiKeyId: member.keyId, name: 'Mine' })).toEqual({
      __typename: 'RenameApiKeyPayload',
      apiKey: { name: 'Mine' },
    });
    expect(await mutate(admin.key, RENAME, { apiKeyId: globalId(member.keyId), name: 'n'.repeat(100) })).toEqual({
      __typename: 'RenameApiKeyPayload',
      apiKey: { name: 'n'.repeat(100) },
    });
    expect(await mutate(member.key, RENAME, { apiKeyId: admin.keyId, name: 'X' })).toEqual(notFound);
    expect(await mutate(admin.key, RENAME, { apiKeyId: admin.keyId, name: '' })).toMatchObject({
      __typename: 'ValidationError',
      message: 'name: must not be empty',
    });
    expect(await works(member.key)).toBe(true);
  });
});

describe('revoking a key', () => {
  const viaRest = async (key: string, id: string) => {
    const { status, body } = await gateway.rest('DELETE', `/v1/api-keys/${id}`, { key });
    return { status, body };
  };

  test('REST answers with the documented result; a key can revoke itself, and then authenticates on neither API', async () => {
    const { key, keyId } = await gateway.createKey();
    expect(await viaRest(key, keyId)).toEqual({ status: 200, body: { deleted: true, id: keyId } });
    expect(await viaRest(key, keyId)).toEqual({ status: 401, body: { error: 'missing or invalid API key' } });
    expect(await works(key)).toBe(false);
  });

  test('GraphQL does the same, by database id or global id', async () => {
    const { key } = await gateway.createKey();
    const one = await create(key);
    const two = await create(key);
    gateway.setClock(new Date(AT));
    for (const [made, id] of [
      [one, one.apiKey.databaseId],
      [two, globalId(two.apiKey.databaseId)],
    ] as const) {
      expect(await mutate(key, REVOKE, { apiKeyId: id })).toEqual({
        __typename: 'RevokeApiKeyPayload',
        deletedId: globalId(made.apiKey.databaseId),
        apiKey: { databaseId: made.apiKey.databaseId, revokedAt: AT },
      });
      expect(await works(made.key)).toBe(false);
    }
    gateway.setClock(undefined);
  });

  test('an unknown key, a foreign key, a key of another member and a revoked key get the same 404, on both APIs', async () => {
    const admin = await gateway.createKey();
    const member = await gateway.createKey({ organization: admin.organization });
    const foreign = await gateway.createKey();
    const revoked = await create(member.key);
    await viaRest(member.key, revoked.apiKey.databaseId);
    for (const id of [randomUUID(), foreign.keyId, admin.keyId, revoked.apiKey.databaseId]) {
      expect(await viaRest(member.key, id)).toEqual({
        status: 404,
        body: { error: 'API key not found', details: { type: 'ApiKey' } },
      });
      expect(await mutate(member.key, REVOKE, { apiKeyId: id })).toEqual(notFound);
    }
    expect([await works(admin.key), await works(foreign.key)]).toEqual([true, true]);
    expect(await viaRest(admin.key, member.keyId)).toEqual({ status: 200, body: { deleted: true, id: member.keyId } });
  });

  test('a text that is no id is 400, with the message of the API', async () => {
    const { key } = await gateway.createKey();
    for (const id of ['x', '0', `${randomUUID()}0`, "' or 1=1"]) {
      expect(await viaRest(key, encodeURIComponent(id))).toEqual({
        status: 400,
        body: { error: 'apiKeyId: must be a UUID' },
      });
      expect(await mutate(key, REVOKE, { apiKeyId: id })).toEqual({
        __typename: 'ValidationError',
        message: 'apiKeyId: must be an id of the type ApiKey',
        code: 'INVALID_INPUT',
        path: ['apiKeyId'],
      });
    }
  });

  test('403 without the scope, on both APIs, whether the key exists or not', async () => {
    const { key, keyId } = await gateway.createKey({ scopes: ['api_keys.read'] });
    for (const id of [keyId, randomUUID()]) {
      expect(await viaRest(key, id)).toEqual({
        status: 403,
        body: {
          error: 'the API key lacks the scope api_keys.write',
          details: { missing: { scopes: [['api_keys.write']] } },
        },
      });
      expect(await mutate(key, REVOKE, { apiKeyId: id })).toMatchObject({
        __typename: 'ForbiddenError',
        message: 'the API key lacks the scope api_keys.write',
      });
    }
  });

  test('of 10 concurrent requests, one succeeds and the others get 404', async () => {
    const { key } = await gateway.createKey();
    const { apiKey } = await create(key);
    const answers = await Promise.all(Array.from({ length: 10 }, () => viaRest(key, apiKey.databaseId)));
    expect(answers.map(({ status }) => String(status)).toSorted()).toEqual(['200', ...Array<string>(9).fill('404')]);
  });
});
