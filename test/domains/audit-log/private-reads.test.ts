import { expect, test } from 'vitest';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { PROJECT_ID, append, createSession, eventsOf, mutate } from '../../support/fixtures/sessions.ts';
import { EventStream } from '../../support/fixtures/sessions.ts';

/** Reads of private sessions of others by administrators, in the audit log and in `Session.accesses`. */

const gateway = useOwnGateway();

async function workspace() {
  const admin = await gateway.createKey();
  const creator = await gateway.createKey({ organization: admin.organization, role: 'member' });
  const member = await gateway.createKey({ organization: admin.organization, role: 'member' });
  const sessionId = await createSession(gateway, creator.key, { description: 'The task' });
  await append(gateway, creator.key, sessionId, eventsOf(1));
  const accessesTo = async (key: string): Promise<unknown> => {
    const query = `query($id: ID!) { session(id: $id) { accesses { totalCount nodes { operation actor { ... on User { email } } } } } }`;
    const { data } = await gateway.graphql<{ session: { accesses: { nodes: unknown } } | null }>(key, query, {
      id: sessionId,
    });
    return data?.session?.accesses.nodes;
  };
  return { admin, creator, member, sessionId, accessesTo };
}

const ONE = (email: string) => [{ operation: 'readPrivateSession', actor: { email } }];
type Workspace = Awaited<ReturnType<typeof workspace>>;
const inGraphQL =
  (fields: string) =>
  async ({ admin: { key }, sessionId: id }: Workspace) => {
    const { errors } = await gateway.graphql(key, `query($id: ID!) { session(id: $id) { ${fields} } }`, { id });
    expect(errors).toBeUndefined();
  };
const inRest =
  (path: string) =>
  async ({ admin: { key }, sessionId }: Workspace) => {
    const { status } = await gateway.rest('GET', `/v1/sessions/${sessionId}${path}`, { key });
    expect(status).toBe(200);
  };

const READS: Readonly<Record<string, (of: Workspace) => Promise<void>>> = {
  'events over REST': inRest('/events'),
  'the document with the description': inRest(''),
  'diffs over REST': inRest('/pull-requests'),
  'an export': inRest('/export?format=ndjson'),
  'events in GraphQL': inGraphQL('events { nodes { eventDataJson } }'),
  'entries in GraphQL': inGraphQL('entries { nodes { kind } }'),
  'the outline': inGraphQL('outline { lastId }'),
  'the description in GraphQL': inGraphQL('description'),
  'a live tail': async ({ admin: { key }, sessionId }) => {
    const headers = { Authorization: `Bearer ${key}`, Accept: 'text/event-stream' };
    const stream = new EventStream(await gateway.fetch(`/v1/sessions/${sessionId}/events`, { headers }));
    await stream.take(1);
    await stream.close();
  },
};

test.each(Object.entries(READS))(
  '%s leave one entry a day, which the creator and administrators see',
  async (_, read) => {
    const of = await workspace();
    await read(of);
    await read(of);
    expect(await of.accessesTo(of.creator.key)).toEqual(ONE(of.admin.email));
    expect(await of.accessesTo(of.admin.key)).toEqual(ONE(of.admin.email));
    await mutate(gateway, of.creator.key, 'updateSession', { sessionId: of.sessionId, visibility: 'PUBLIC' });
    expect(await of.accessesTo(of.member.key)).toEqual([]);
  },
);

test('titles, figures, lists, searches and the export of the organization leave none, and neither do readers of public or own sessions', async () => {
  const of = await workspace();
  const { key, organizationId } = of.admin;
  await inGraphQL('title state { current } usage { turns } events { totalCount } project { name }')(of);
  for (const path of ['/v1/sessions', '/v1/session-search?text=task', `/v1/organizations/${organizationId}/export`])
    expect((await gateway.fetch(path, { headers: { Authorization: `Bearer ${key}` } })).status).toBe(200);
  const own = await createSession(gateway, key, { visibility: 'PRIVATE' });
  const open = await createSession(gateway, of.creator.key, { visibility: 'PUBLIC', projectId: PROJECT_ID });
  for (const id of [own, open]) await gateway.rest('GET', `/v1/sessions/${id}/events`, { key });
  await gateway.rest('GET', `/v1/sessions/${of.sessionId}/events`, { key: of.creator.key });
  const { body } = await gateway.rest<{ items: { operation: string }[] }>('GET', '/v1/audit-log', { key });
  expect(body.items.map(({ operation }) => operation)).not.toContain('readPrivateSession');
});

test('concurrent reads leave one entry, another administrator another one, and the next day one more', async () => {
  const of = await workspace();
  const other = await gateway.createKey({ organization: of.admin.organization, role: 'admin' });
  const read = (key: string) => gateway.rest('GET', `/v1/sessions/${of.sessionId}/events`, { key });
  await Promise.all([of.admin, of.admin, other].map(({ key }) => read(key)));
  expect(await of.accessesTo(of.creator.key)).toHaveLength(2);
  gateway.setClock(new Date(Date.now() + 86_400_000));
  await read(of.admin.key);
  gateway.setClock(undefined);
  expect(await of.accessesTo(of.creator.key)).toHaveLength(3);
});

test('while the entry cannot be written, nothing is read', async () => {
  const of = await workspace();
  const { sql } = gateway.dependencies;
  await sql.query(
    `create function refuse_entry() returns trigger language plpgsql as $$ begin raise exception using errcode = '53100'; end $$`,
    [],
  );
  await sql.query(
    `create trigger refuse_entry before insert on audit_entry for each row when (new.operation = 'readPrivateSession') execute function refuse_entry()`,
    [],
  );
  const { status, text } = await gateway.rest('GET', `/v1/sessions/${of.sessionId}/events`, { key: of.admin.key });
  await sql.query('drop trigger refuse_entry on audit_entry', []);
  expect([status, text]).toEqual([503, expect.not.stringContaining('index')]);
});
