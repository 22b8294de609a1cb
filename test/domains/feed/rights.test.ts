import { expect, test } from 'vitest';
import type { FeedType } from '../../../src/core/feed.ts';
import { SCOPES, type Scope } from '../../../src/core/access.ts';
import type { OrganizationId } from '../../../src/core/ids.ts';
import { readFeedEntries } from '../../../src/domains/feed/operations.ts';
import { authenticate } from '../../../src/gateway/admission/authenticate.ts';
import { operationContext } from '../../../src/gateway/contexts.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession } from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway();

const SESSIONS: readonly Scope[] = ['sessions.read'];
const CONNECTIONS: readonly Scope[] = ['mcp_connections.read'];
const DEFINITIONS: readonly Scope[] = ['behavioral_events.event_definitions.read_write'];
const PEOPLE: readonly Scope[] = [
  'mcp_connections.read',
  'mcp_connections.write',
  'api_keys.read',
  'api_keys.write',
  'sessions.read',
  'sessions.write',
  'sessions.record',
  'organizations.write',
  'users.delete',
];

/** The scopes of which a key needs one to read entries of each type; or that only administrators read them, with any key. */
const READ_WITH: Readonly<Record<FeedType, readonly Scope[] | 'as administrator'>> = {
  'session.created': SESSIONS,
  'session.state_changed': SESSIONS,
  'session.pull_request_changed': SESSIONS,
  'session.deleted': SESSIONS,
  'mcp_connection.status_changed': CONNECTIONS,
  'mcp_connection.deleted': CONNECTIONS,
  'mcp_connection.tools_changed': CONNECTIONS,
  'tool_approval.requested': ['mcp_connections.use'],
  'tool_approval.decided': ['mcp_connections.use'],
  'event_definition.created': DEFINITIONS,
  'event_definition.changed': DEFINITIONS,
  'event_definition.deleted': DEFINITIONS,
  'event_occurrences.sent': DEFINITIONS,
  'member.joined': PEOPLE,
  'member.left': PEOPLE,
  'deletion_job.finished': 'as administrator',
  'webhook.failing': 'as administrator',
  'webhook.disabled': 'as administrator',
};
const TYPES = Object.entries(READ_WITH);
const OF_ADMINISTRATORS = TYPES.flatMap(([type, needed]) => (needed === 'as administrator' ? type : []));

test('each type of entries needs the rights of its objects, in pages, counts and by id', async () => {
  const admin = await gateway.createKey();
  const { organization, organizationId } = admin;
  const sessionId = await createSession(gateway, admin.key, { visibility: 'PUBLIC' });
  const { email } = await gateway.createKey({ organization });
  const { sql } = gateway.dependencies;
  await sql.query('delete from feed_entry where organization_id = $1', [organizationId]);
  await sql.query(
    `insert into feed_entry (organization_id, key, recorded_at, position, created_at, type, subject_type, subject_id, data)
      select $1, gen_random_uuid(), now(), n, now(), type, case when type like 'session.%' then 'Session' else 'Webhook' end, $2, '{}'
      from unnest($3::text[]) with ordinality as t(type, n)`,
    [organizationId, sessionId, TYPES.map(([type]) => type)],
  );
  const query = `{ viewer { organization { feed { totalCount nodes { id type } } } } }`;
  interface Feed {
    readonly totalCount: number;
    readonly nodes: readonly { readonly id: string; readonly type: string }[];
  }
  const feedOf = async (key: string) => {
    const { data, errors } = await gateway.graphql<{ viewer: { organization: { feed: Feed } } }>(key, query);
    expect(errors).toBeUndefined();
    return data?.viewer.organization.feed ?? { totalCount: 0, nodes: [] };
  };
  const { nodes: entries } = await feedOf(admin.key);
  expect(entries).toHaveLength(TYPES.length);
  const ids = JSON.stringify(entries.map(({ id }) => id));
  /** The types that a key reads, the same on each way. */
  const typesOf = async (key: string) => {
    const { items } = (await gateway.rest<{ items: { type: string }[] }>('GET', '/v1/feed', { key })).body;
    const { totalCount, nodes } = await feedOf(key);
    const { data } = await gateway.graphql<{ nodes: readonly object[] }>(key, `{ nodes(ids: ${ids}) { id } }`);
    const counts = [totalCount, nodes.length, data?.nodes.filter((node) => node !== null).length];
    expect(counts).toEqual(counts.map(() => items.length));
    return items.map(({ type }) => type);
  };
  for (const scope of SCOPES) {
    const { key } = await gateway.createKey({ organization, email, scopes: [scope] });
    const readable = TYPES.flatMap(([type, needed]) => (needed.includes(scope) ? type : []));
    expect([scope, await typesOf(key)]).toEqual([scope, readable]);
  }
  const bare = await gateway.createKey({ organization, email: admin.email, scopes: [] });
  expect(await typesOf(bare.key)).toEqual(OF_ADMINISTRATORS);
  expect(await typesOf(admin.key)).toEqual(TYPES.map(([type]) => type));
});

test('an entry of another organization is not the own entry of that number', async () => {
  const [own, foreign] = [await gateway.createKey(), await gateway.createKey()];
  for (const { key } of [own, foreign]) {
    await createSession(gateway, key, { visibility: 'PUBLIC' });
    // The first reader of a feed numbers its entries.
    const { body } = await gateway.rest<{ items: readonly { id: number }[] }>('GET', '/v1/feed', { key });
    expect(body.items.map(({ id }) => id)).toContain(1);
  }
  const headers = new Headers({ Authorization: `Bearer ${own.key}` });
  const actor = await authenticate({ headers, path: '/graphql' }, gateway.dependencies);
  const context = operationContext(gateway.dependencies, actor, { requestId: 'test' });
  const keyOf = (organizationId: string) => ({ organizationId: organizationId as OrganizationId, id: 1 });
  const read = async (organizationId: string) =>
    (await readFeedEntries(context, [keyOf(organizationId)])).map(({ id }) => id);
  expect([await read(own.organizationId), await read(foreign.organizationId)]).toEqual([[1], []]);
});
