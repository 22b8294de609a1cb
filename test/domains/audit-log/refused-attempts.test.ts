import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type TestGateway, startTestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession } from '../../support/fixtures/sessions.ts';

/** The audit log records refused attempts with known keys: at most one entry a minute for each key and reason, over all processes. */

type Issued = Awaited<ReturnType<TestGateway['createKey']>>;

const gateway = useTestGateway();
let second: TestGateway;
let admin: Issued;
let member: Issued;
beforeAll(async () => {
  second = await startTestGateway({}, { beside: gateway });
});
beforeEach(async () => {
  setClocks(undefined);
  admin = await gateway.createKey();
  member = await gateway.createKey({ organization: admin.organization });
});
afterAll(() => second.close());

function setClocks(at: Date | undefined): void {
  gateway.setClock(at);
  second.setClock(at);
}

interface Entry {
  readonly operation: string;
  readonly refusal: string | null;
}

const FIELDS =
  'operation source refusal detail targetType targetId apiKey { id } requestId requestIdOrigin actor { ... on User { email } } occurredAt';

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

test('403 over REST writes an entry with actor, operation, reason, and that the caller chose the request id', async () => {
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
      detail: 'the API key lacks the scope sessions.record',
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
const roleChange = { userId: id, role: 'ADMIN' };

test.each<[string, (by: Issued) => Promise<unknown>, string]>([
  ['a mutation', (by) => mutation('changeOrganizationMemberRole', roleChange, by), 'changeOrganizationMemberRole'],
  [
    'a mutation under an idempotency key',
    (by) => mutation('changeOrganizationMemberRole', roleChange, by, { 'Idempotency-Key': 'k1' }),
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
])('403 over GraphQL writes an entry: %s', async (_, attempt, operation) => {
  await attempt(member);
  expect(await refused()).toEqual([{ operation, refusal: 'FORBIDDEN' }]);
});

test('403 for an object that the caller can read but not change writes an entry', async () => {
  const sessionId = await createSession(gateway, admin.key, { visibility: 'PUBLIC' });
  const path = `/v1/sessions/${sessionId}`;
  expect((await gateway.rest('PATCH', path, { key: member.key, body: {} })).status).toBe(403);
  expect(await refused()).toEqual([{ operation: 'updateSession', refusal: 'FORBIDDEN' }]);
});

test('409 for the last administrator writes an entry', async () => {
  await mutation('changeOrganizationMemberRole', { userId: admin.userId, role: 'MEMBER' }, admin);
  expect(await refused()).toEqual([{ operation: 'changeOrganizationMemberRole', refusal: 'LAST_ADMINISTRATOR' }]);
});

test('401 for a revoked key, an expired key and the key of a removed member writes an entry', async () => {
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

test('all processes together write one entry a minute for a key and a reason; other keys have separate entries', async () => {
  const at = new Date('2026-03-01T10:20:59.500Z');
  const attempt = (by: Issued, on = gateway) => mutation('changeOrganizationMemberRole', roleChange, by, {}, on);
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

test('repeated refused attempts send fewer statements than the first; an unknown key writes no entry', async () => {
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

test('a successful request is not a refused attempt, and its entry names the origin of its request id', async () => {
  await createSession(gateway, admin.key);
  expect(await refused()).toEqual([]);
  const done = await refused('operation refusal requestIdOrigin', { isRefused: false, operations: ['createSession'] });
  expect(done).toEqual([{ operation: 'createSession', refusal: null, requestIdOrigin: 'GATEWAY' }]);
});
