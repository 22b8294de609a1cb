import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession } from '../../support/fixtures/sessions.ts';

/** Attempts with known keys that were refused are in the audit log: one a minute for a key and a reason, over all processes. */

type Issued = Awaited<ReturnType<TestGateway['createKey']>>;

let gateway: TestGateway;
let second: TestGateway;
let admin: Issued;
let member: Issued;
beforeAll(async () => {
  gateway = await startTestGateway();
  second = await startTestGateway({}, { beside: gateway });
});
beforeEach(async () => {
  setClocks(undefined);
  admin = await gateway.createKey();
  member = await gateway.createKey({ organization: admin.organization });
});
afterAll(async () => {
  await second.close();
  await gateway.close();
});

function setClocks(at: Date | undefined): void {
  gateway.setClock(at);
  second.setClock(at);
}

interface Entry {
  readonly operation: string;
  readonly refusal: string | null;
}

const FIELDS =
  'operation source refusal targetType targetId apiKey { id } requestId requestIdOrigin actor { email } occurredAt';

async function refused(fields = 'operation refusal', filter: object = { isRefused: true }): Promise<Entry[]> {
  const query = `query($filter: AuditEntryFilter) { viewer { organization { auditLog(filter: $filter) { nodes { ${fields} } } } } }`;
  const { data, errors } = await gateway.graphql<{ viewer: { organization: { auditLog: { nodes: Entry[] } } } }>(
    admin.key,
    query,
    { filter },
  );
  expect(errors).toBeUndefined();
  return (data?.viewer.organization.auditLog.nodes ?? []).toReversed();
}

const mutation = (name: string, input: object, { key }: Issued, headers = {}, on = gateway) =>
  on.graphql(
    key,
    `mutation($input: ${name[0]?.toUpperCase()}${name.slice(1)}Input!) { ${name}(input: $input) { __typename ... on Error { code } } }`,
    { input },
    headers,
  );

const globalId = (id: string) => Buffer.from(`ApiKey:${id}`).toString('base64');

test('403 over REST: a whole entry, which says who, what, why, and that the caller chose the request id', async () => {
  const at = new Date('2026-03-01T10:20:30.500Z');
  setClocks(at);
  const narrow = await gateway.createKey({ organization: admin.organization, scopes: ['sessions.read'] });
  const { status } = await gateway.rest('POST', '/v1/sessions', {
    key: narrow.key,
    body: { title: 'No' },
    headers: { 'X-Request-Id': 'command-line' },
  });
  expect(status).toBe(403);
  const apiKeyId = globalId(narrow.keyId);
  expect(await refused(FIELDS)).toEqual([
    {
      operation: 'createSession',
      source: 'REQUEST',
      refusal: 'FORBIDDEN',
      targetType: 'ApiKey',
      targetId: apiKeyId,
      apiKey: { id: apiKeyId },
      requestId: 'command-line',
      requestIdOrigin: 'CLIENT',
      actor: { email: narrow.email },
      occurredAt: at.toISOString(),
    },
  ]);
});

const id = '00000000-0000-4000-8000-000000000000';
const other = { userId: id, role: 'ADMIN' };

test.each<[string, (by: Issued) => Promise<unknown>, string]>([
  ['a mutation', (by) => mutation('changeOrganizationMemberRole', other, by), 'changeOrganizationMemberRole'],
  [
    'a mutation under an idempotency key',
    (by) => mutation('changeOrganizationMemberRole', other, by, { 'Idempotency-Key': 'k1' }),
    'changeOrganizationMemberRole',
  ],
  [
    'a field under an alias',
    ({ key }) => gateway.graphql(key, '{ viewer { organization { theirs: auditLog { totalCount } } } }'),
    'auditLog',
  ],
  [
    'a subscription',
    async () => {
      const { key } = await gateway.createKey({ organization: admin.organization, scopes: ['social'] });
      const headers = {
        Authorization: `Bearer ${key}`,
        'Content-Type': 'application/json',
        Accept: 'text/event-stream',
      };
      const body = JSON.stringify({ query: 'subscription { sessionChanged { __typename } }' });
      await (await gateway.fetch('/graphql', { method: 'POST', headers, body })).text();
    },
    'sessionChanged',
  ],
])('403 over GraphQL: %s', async (_, attempt, operation) => {
  await attempt(member);
  expect(await refused()).toEqual([{ operation, refusal: 'FORBIDDEN' }]);
});

test('403 for an object that the caller can read, but not change', async () => {
  const sessionId = await createSession(gateway, admin.key, { visibility: 'PUBLIC' });
  const path = `/v1/sessions/${sessionId}`;
  expect((await gateway.rest('PATCH', path, { key: member.key, body: {} })).status).toBe(403);
  expect(await refused()).toEqual([{ operation: 'updateSession', refusal: 'FORBIDDEN' }]);
});

test('409 of the last administrator', async () => {
  await mutation('changeOrganizationMemberRole', { userId: admin.userId, role: 'MEMBER' }, admin);
  expect(await refused()).toEqual([{ operation: 'changeOrganizationMemberRole', refusal: 'LAST_ADMINISTRATOR' }]);
});

test('a key that is revoked, one that has expired, and one whose user was removed, which revokes it', async () => {
  const sql = (text: string, ...values: unknown[]) => gateway.dependencies.sql.query(text, values);
  const keyOf = () => gateway.createKey({ organization: admin.organization });
  const [revoked, expired, removed] = [await keyOf(), await keyOf(), await keyOf()];
  await mutation('revokeApiKey', { apiKeyId: revoked.keyId }, admin);
  await sql("update api_key set expires_at = now() - interval '1 minute' where id = $1", expired.keyId);
  await mutation('removeOrganizationMember', { userId: removed.userId }, admin);
  for (const { key } of [revoked, expired, removed])
    expect((await gateway.rest('GET', '/v1/sessions', { key })).status).toBe(401);
  expect(await refused('operation refusal apiKey { id } requestIdOrigin')).toEqual(
    (
      [
        ['KEY_REVOKED', revoked],
        ['KEY_EXPIRED', expired],
        ['KEY_REVOKED', removed],
      ] as const
    ).map(([refusal, { keyId }]) => ({
      operation: 'listSessions',
      refusal,
      apiKey: { id: globalId(keyId) },
      requestIdOrigin: 'GATEWAY',
    })),
  );
});

test('one entry a minute for a key and a reason, in all processes together; other keys have their own', async () => {
  const at = new Date('2026-03-01T10:20:59.500Z');
  const attempt = (by: Issued, on = gateway) => mutation('changeOrganizationMemberRole', other, by, {}, on);
  const third = await gateway.createKey({ organization: admin.organization });
  const written = () => refused().then(({ length }) => length);
  setClocks(at);
  await Promise.all([gateway, second].flatMap((on) => Array.from({ length: 10 }, () => attempt(member, on))));
  expect(await written()).toBe(1);
  await attempt(third);
  expect(await written()).toBe(2);
  setClocks(new Date(at.getTime() + 59_999));
  await Promise.all([gateway, second].map((on) => attempt(member, on)));
  expect(await written()).toBe(2);
  setClocks(new Date(at.getTime() + 60_000));
  await Promise.all([gateway, second].map((on) => attempt(member, on)));
  expect(await written()).toBe(3);
});

test('whoever goes on asking costs no more statements; an unknown key leaves no entry', async () => {
  const unknown = `${member.key.slice(0, 4)}0${member.key.slice(5)}`;
  const count = async (key: string) => {
    gateway.statements.length = 0;
    await gateway.rest('POST', '/v1/organizations', { key, body: { name: 'No' } });
    return gateway.statements.length;
  };
  const { key } = await gateway.createKey({ organization: admin.organization, scopes: ['social'] });
  const first = await count(key);
  expect(await count(key)).toBeLessThan(first);
  await mutation('revokeApiKey', { apiKeyId: member.keyId }, admin);
  await gateway.rest('GET', '/v1/sessions', { key: member.key });
  await gateway.rest('GET', '/v1/sessions', { key: unknown });
  expect((await refused()).map(({ refusal }) => refusal)).toEqual(['FORBIDDEN', 'KEY_REVOKED']);
});

test('what is served is no refused attempt, and says of its request id who chose it', async () => {
  await createSession(gateway, admin.key);
  expect(await refused()).toEqual([]);
  const done = await refused('operation refusal requestIdOrigin', { isRefused: false, operations: ['createSession'] });
  expect(done).toEqual([{ operation: 'createSession', refusal: null, requestIdOrigin: 'GATEWAY' }]);
});
