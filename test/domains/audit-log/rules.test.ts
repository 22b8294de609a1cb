import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { findOperator } from '../../../src/domains/session-events/import.ts';
import { appendSessionEventsInput } from '../../../src/domains/session-events/input.ts';
import { appendSessionEvents } from '../../../src/domains/session-events/append-operations.ts';
import { operationContext } from '../../../src/gateway/contexts.ts';
import { auditRows } from '../../support/fixtures/audit-log.ts';
import { type TestGateway, useOwnGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, eventsOf, mutate } from '../../support/fixtures/sessions.ts';

const gateway = useOwnGateway();
type Issued = Awaited<ReturnType<TestGateway['createKey']>>;
let admin: Issued;
let member: Issued;
let stranger: Issued;
beforeAll(async () => {
  admin = await gateway.createKey();
  member = await gateway.createKey({ organization: admin.organization });
  stranger = await gateway.createKey();
});

const sql = (text: string, values: unknown[] = []) => gateway.dependencies.sql.query(text, values);
const globalId = (type: string, id: string) => Buffer.from(`${type}:${id}`).toString('base64');

interface Entry {
  readonly databaseId: string;
  readonly operation: string;
  readonly actor: { readonly email: string } | null;
  readonly targetId: string | null;
}
interface Log {
  readonly nodes: Entry[];
  readonly pageInfo: {
    readonly hasNextPage: boolean;
    readonly hasPreviousPage: boolean;
    readonly endCursor: string | null;
  };
}
const FIELDS = `nodes { databaseId occurredAt source operation targetType targetId actor { ... on User { email } } apiKey { id } requestId } pageInfo { hasNextPage hasPreviousPage endCursor }`;

async function read(key: string, args: Record<string, unknown> = {}) {
  const { data, errors } = await gateway.graphql<{ viewer: { organization: { auditLog: Log } | null } }>(
    key,
    `query($first: Int, $after: String, $last: Int, $before: String, $filter: AuditEntryFilter) {
      viewer { organization { auditLog(first: $first, after: $after, last: $last, before: $before, filter: $filter) { ${FIELDS} } } } }`,
    args,
  );
  return { log: data?.viewer.organization?.auditLog, errors };
}

async function entries(key: string, args: Record<string, unknown> = {}): Promise<Entry[]> {
  const { log, errors } = await read(key, args);
  expect(errors).toBeUndefined();
  return log?.nodes ?? [];
}

describe('who can read the audit log', () => {
  test('an admin can read all fields of an entry', async () => {
    const at = new Date('2026-03-01T10:20:30.500Z');
    gateway.setClock(at);
    const id = await createSession(gateway, member.key);
    gateway.setClock(undefined);
    const [entry] = await entries(admin.key, { filter: { targetIds: [id] } });
    expect(entry).toEqual({
      databaseId: expect.any(String),
      occurredAt: at.toISOString(),
      source: 'REQUEST',
      operation: 'createSession',
      targetType: 'Session',
      targetId: globalId('Session', id),
      actor: { email: member.email },
      apiKey: { id: globalId('ApiKey', member.keyId) },
      requestId: expect.any(String),
    });
  });

  test('a member, and an admin whose key lacks the scopes of the log, get 403', async () => {
    const narrow = await gateway.createKey({
      organization: admin.organization,
      email: admin.email,
      scopes: ['sessions.read', 'sessions.record'],
    });
    for (const [key, message] of [
      [member.key, 'only administrators of the organization can do this'],
      [narrow.key, 'the API key lacks every scope of the audit log; one of them is enough'],
    ] as const)
      expect((await read(key)).errors).toMatchObject([{ message, extensions: { code: 'FORBIDDEN' } }]);
  });

  test('no filter and no field shows entries of another organization', async () => {
    const id = await createSession(gateway, admin.key);
    const filters = [
      { targetIds: [id] },
      { targetIds: [globalId('Session', id)] },
      { actorIds: [admin.userId] },
      { operations: ['createSession'] },
    ];
    for (const filter of filters) expect(await entries(stranger.key, { filter })).toEqual([]);
    const own = await entries(stranger.key);
    expect(own.map(({ operation }) => operation)).toEqual(['createApiKey']);
    const node = await gateway.graphql<{ node: object | null }>(
      stranger.key,
      `query($id: ID!) { node(id: $id) { ... on Organization { auditLog { nodes { operation } } } } }`,
      { id: globalId('Organization', admin.organizationId) },
    );
    expect(node).toMatchObject({ data: { node: null } });
  });

  test('a request that acts in one organization cannot read the log of another organization of the same user', async () => {
    const other = await gateway.createKey({ email: admin.email });
    await sql('update api_key set organization_id = null where id = $1', [other.keyId]);
    const answer = await gateway.graphql(
      other.key,
      `query($id: ID!) { node(id: $id) { ... on Organization { auditLog { nodes { operation } } } } }`,
      { id: globalId('Organization', admin.organizationId) },
      { 'X-Organization-Id': other.organization },
    );
    expect(answer.errors).toMatchObject([{ extensions: { code: 'INVALID_INPUT' } }]);
  });

  test('an entry for an import by the operator names no user and no key', async () => {
    const id = await createSession(gateway, member.key);
    const actor = await findOperator(gateway.dependencies.sql, id);
    if (!actor) throw new Error('no operator');
    const events = [{ eventType: 'text', provider: 'anthropic', eventData: { type: 'text' } }];
    const input = appendSessionEventsInput.parse({ sessionId: id, events });
    await appendSessionEvents(operationContext(gateway.dependencies, actor, { requestId: 'command-line' }), input);
    expect((await entries(admin.key, { filter: { targetIds: [id] } }))[0]).toMatchObject({
      operation: 'appendSessionEvents',
      source: 'COMMAND_LINE',
      actor: null,
      apiKey: null,
      requestId: 'command-line',
    });
  });

  test('entries still name members who were removed', async () => {
    const leaver = await gateway.createKey({ organization: admin.organization });
    const id = await createSession(gateway, leaver.key);
    await mutate(gateway, admin.key, 'removeOrganizationMember', { userId: leaver.userId });
    expect(await entries(admin.key, { filter: { targetIds: [id] } })).toMatchObject([
      { actor: { email: leaver.email } },
    ]);
  });
});

describe('pages and filters', () => {
  test('pages are latest first in both directions, and stay stable while entries are added', async () => {
    const { key } = await gateway.createKey();
    const at = new Date('2026-04-01T00:00:00.000Z');
    gateway.setClock(at);
    // All at the same time, so that the id decides the order.
    for (let count = 0; count < 7; count += 1) await createSession(gateway, key);
    gateway.setClock(undefined);
    const all = await entries(key, { filter: { operations: ['createSession'] } });
    expect(all).toHaveLength(7);
    const seen: string[] = [];
    for (let after: string | null = null, more = true; more;) {
      const { log } = await read(key, { first: 3, after, filter: { operations: ['createSession'] } });
      seen.push(...(log?.nodes ?? []).map(({ databaseId }) => databaseId));
      [after, more] = [log?.pageInfo.endCursor ?? null, log?.pageInfo.hasNextPage ?? false];
      await createSession(gateway, key);
    }
    expect(seen).toEqual(all.map(({ databaseId }) => databaseId));
    const last = await entries(key, { last: 2, filter: { operations: ['createSession'] } });
    expect(last).toEqual(all.slice(-2));
    for (const args of [{ first: 101 }, { first: 0 }, { after: 'x' }])
      expect((await read(key, args)).errors).toMatchObject([{ extensions: { code: 'INVALID_INPUT' } }]);
  });

  test('filters by user, operation, target and time can be combined', async () => {
    const { key, organization, ...first } = await gateway.createKey();
    const second = await gateway.createKey({ organization, role: 'admin' });
    gateway.setClock(new Date('2026-05-01T00:00:00.000Z'));
    const id = await createSession(gateway, key);
    gateway.setClock(new Date('2026-05-02T00:00:00.000Z'));
    await append(gateway, second.key, id, eventsOf(1));
    gateway.setClock(undefined);
    const found = async (filter: object) => (await entries(key, { filter })).map(({ operation }) => operation);
    const both = ['appendSessionEvents', 'createSession'];
    expect(await found({ targetIds: [id] })).toEqual(both);
    expect(await found({ targetIds: [globalId('Session', id)] })).toEqual(both);
    expect(await found({ targetIds: [id], actorIds: [first.userId] })).toEqual(['createSession']);
    expect(await found({ targetIds: [id], actorIds: [globalId('User', second.userId)] })).toEqual([
      'appendSessionEvents',
    ]);
    expect(await found({ targetIds: [id], operations: ['createSession'] })).toEqual(['createSession']);
    expect(await found({ occurredFrom: '2026-05-02T02:00:00+02:00', occurredBefore: '2026-05-03T00:00:00Z' })).toEqual([
      'appendSessionEvents',
    ]);
    expect(await found({ occurredFrom: '2026-05-01T00:00:00Z', occurredBefore: '2026-05-02T00:00:00Z' })).toEqual([
      'createSession',
    ]);
    expect(await found({ targetIds: [id], isRecording: false })).toEqual(['createSession']);
    expect(await found({ targetIds: [id], isRecording: true })).toEqual(['appendSessionEvents']);
    expect(await found({ targetIds: [id], isRecording: null })).toEqual(both);
    expect(await found({ targetIds: [randomUUID()] })).toEqual([]);
  });
});

describe('a change that is not committed writes no entry', () => {
  const count = async () => (await auditRows(gateway)).length;

  test('a write that violates a constraint', async () => {
    const before = await count();
    const body = { name: 'Taken', slug: admin.organization };
    expect((await gateway.rest('POST', '/v1/organizations', { key: admin.key, body })).status).toBe(409);
    expect(await count()).toBe(before);
  });

  test.each(['organization', 'session_event'])('a commit that fails: %s', async (table) => {
    const sessionId = await createSession(gateway, admin.key);
    const before = await count();
    await sql(
      `create or replace function refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`,
    );
    await sql(
      `create constraint trigger refusal after insert on ${table} deferrable initially deferred for each row execute function refuse()`,
    );
    await gateway.rest('POST', '/v1/organizations', { key: admin.key, body: { name: 'Lost' } });
    await append(gateway, admin.key, sessionId, eventsOf(1)).catch(() => undefined);
    await sql(`drop trigger refusal on ${table}`);
    // Only the operation on the other table was committed.
    expect((await auditRows(gateway)).slice(before).map(({ operation }) => operation)).toEqual([
      table === 'organization' ? 'appendSessionEvents' : 'createOrganization',
    ]);
  });

  test('a connection that is killed before the commit', async () => {
    const before = await count();
    const holder = gateway.dependencies.database.em.fork();
    await holder.begin();
    await holder.execute('select 1 from organization where id = ? for update', [admin.organizationId]);
    const input = { organizationId: admin.organizationId, name: 'Never' };
    const interrupted = gateway.graphql(
      admin.key,
      'mutation($input: UpdateOrganizationInput!) { updateOrganization(input: $input) { __typename } }',
      { input },
    );
    const waiting = `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await expect.poll(() => sql(waiting)).toHaveLength(1);
    expect((await interrupted).errors).toHaveLength(1);
    await holder.rollback();
    expect(await count()).toBe(before);
  });
});
