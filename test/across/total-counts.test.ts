import { isObjectType } from 'graphql';
import { beforeAll, expect, test } from 'vitest';
import { schema } from '../../src/gateway/schema.ts';
import { type TestGateway, useTestGateway } from '../support/fixtures/gateway.ts';
import { append, createSession, eventsOf, mutate } from '../support/fixtures/sessions.ts';

type Issued = Awaited<ReturnType<TestGateway['createKey']>>;
const gateway = useTestGateway();
let admin: Issued;
let member: Issued;
let stranger: Issued;
let unbound: Issued;
let sessionId: string;
beforeAll(async () => {
  admin = await gateway.createKey();
  member = await gateway.createKey({ organization: admin.organization });
  await gateway.createKey({ organization: admin.organization });
  stranger = await gateway.createKey();
  // Other organizations of the member, which the member's key for the first one cannot access.
  await gateway.createKey({ email: member.email });
  unbound = await gateway.createKey({ email: member.email });
  await gateway.dependencies.sql.query('update api_key set organization_id = null where id = $1', [unbound.keyId]);
  const { apiKey } = await mutate<{ apiKey: { id: string } }>(
    gateway,
    admin.key,
    'createApiKey',
    { name: 'short-lived', scopes: ['SESSIONS_READ'] },
    'apiKey { id }',
  );
  await mutate(gateway, admin.key, 'revokeApiKey', { apiKeyId: apiKey.id });
  sessionId = await createSession(gateway, admin.key, { title: 'private' });
  await append(gateway, admin.key, sessionId, [...eventsOf(4), ...eventsOf(3, { from: 5, eventType: 'tool' })]);
});

test('every connection has a total count', () => {
  const connections = Object.values(schema.getTypeMap()).filter(
    (type) => isObjectType(type) && type.name.endsWith('Connection'),
  );
  expect(connections.length).toBeGreaterThan(5);
  const without = connections.filter(
    (type) => isObjectType(type) && String(type.getFields()['totalCount']?.type) !== 'Int!',
  );
  const faults = without.map(
    ({ name }) => `make ${name} by a connection of src/core/graphql/connections.ts: it has no totalCount: Int!`,
  );
  expect(faults.join('\n')).toBe('');
});

interface List {
  readonly totalCount: number;
  readonly nodes: object[];
}

/** Runs a query with `*` replaced by the selection. Returns the list that its fields lead to. */
async function ask(key: string, query: string, selection: string) {
  const { data, errors } = await gateway.graphql<object>(key, query.replace('*', selection));
  return { list: listIn(data), errors };
}

function listIn(value: unknown): List | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  return 'totalCount' in value || 'nodes' in value ? (value as List) : listIn(Object.values(value)[0]);
}

const within = (field: string) => `{ viewer { organization { ${field} { * } } } }`;
const events = (filter = '') => `{ session(id: "${sessionId}") { events(first: 2 ${filter}) { * } } }`;

test.each<[string, () => string, () => Issued, number]>([
  ['organizations of a key', () => '{ viewer { organizations(first: 1) { * } } }', () => member, 1],
  ['organizations of an unbound key', () => '{ viewer { organizations(first: 1) { * } } }', () => unbound, 3],
  ['members', () => within('members(first: 2)'), () => admin, 3],
  // With an unbound one.
  ['keys', () => within('apiKeys(first: 2)'), () => admin, 4],
  ['keys, revoked ones too', () => within('apiKeys(first: 2, filter: { includeRevoked: true })'), () => admin, 5],
  ['keys of a member', () => within('apiKeys(first: 2)'), () => member, 1],
  ['keys of another organization', () => within('apiKeys(first: 2)'), () => stranger, 1],
  ['members of another organization', () => within('members(first: 2)'), () => stranger, 1],
  // The keys that the command line creates also have entries: three in this organization, one in the other.
  ['the audit log', () => within('auditLog(first: 2)'), () => admin, 7],
  [
    'entries of one operation',
    () => within('auditLog(first: 2, filter: { operations: ["revokeApiKey"] })'),
    () => admin,
    1,
  ],
  [
    'entries of one user',
    () => within(`auditLog(first: 2, filter: { actorIds: ["${admin.userId}"] })`),
    () => admin,
    4,
  ],
  [
    'entries of another user',
    () => within(`auditLog(first: 2, filter: { actorIds: ["${member.userId}"] })`),
    () => admin,
    0,
  ],
  ['the audit log of another organization', () => within('auditLog(first: 2)'), () => stranger, 1],
  ['events', () => events(), () => admin, 7],
  ['events of a kind', () => events('filter: { eventTypes: ["tool"] }'), () => admin, 3],
  ['no events', () => events('filter: { eventTypes: ["none"] }'), () => admin, 0],
])('%s: totalCount is the length of the whole list', async (_, query, caller, length) => {
  const { key } = caller();
  const whole = await ask(key, query().replace(/first: \d/, 'first: 100'), 'nodes { __typename }');
  const page = await ask(key, query(), 'totalCount nodes { __typename }');
  const count = await ask(key, query(), 'totalCount');
  expect([whole.list?.nodes.length, page.list?.totalCount, count.list?.totalCount]).toEqual([length, length, length]);
});

test('totalCount sends one more statement, and only if it is selected', async () => {
  const statements = async (query: string, selection: string) => {
    gateway.statements.length = 0;
    expect((await ask(admin.key, query, selection)).errors).toBeUndefined();
    return gateway.statements.length;
  };
  const lists = ['members', 'apiKeys', 'auditLog'].map(within);
  for (const query of [...lists, '{ viewer { organizations { * } } }', events()]) {
    await statements(query, 'nodes { __typename }');
    const without = await statements(query, 'nodes { __typename }');
    expect([query, await statements(query, 'totalCount nodes { __typename }')]).toEqual([query, without + 1]);
  }
});

test('a caller who may not read a list gets no totalCount', async () => {
  for (const { key } of [member, stranger])
    expect((await gateway.graphql(key, events().replace('*', 'totalCount'))).data).toEqual({ session: null });
  const log = await ask(member.key, within('auditLog'), 'totalCount');
  expect([log.list, log.errors?.[0]?.extensions?.['code']]).toEqual([undefined, 'FORBIDDEN']);
});
