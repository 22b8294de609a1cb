import { beforeAll, describe, expect, test } from 'vitest';
import { Migration20261122113800 } from '../../../migrations/Migration20261122113800.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { STDIO, createConnection } from '../../support/fixtures/mcp-connections.ts';
import { createSession, mutate } from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway();
let admin: string;
let organization: string;
beforeAll(async () => {
  ({ key: admin, organization } = await gateway.createKey());
});

async function connect(name: string, { key = admin, visibility = 'shared' } = {}): Promise<string> {
  const { status, body, text } = await createConnection(gateway, key, { ...STDIO, name, visibility });
  if (status !== 201) throw new Error(text);
  return body.connection.id;
}

const change = (key: string, sessionId: string, mcpServers: readonly string[]) =>
  gateway.rest<{ mcpServers: string[]; error: string }>('PATCH', `/v1/sessions/${sessionId}`, {
    key,
    body: { mcpServers },
  });

/** Reads the connections of a session over both APIs, which must return the same. */
async function read(key: string, id: string): Promise<string[] | undefined> {
  const rest = await gateway.rest<{ mcpServers: string[] }>('PATCH', `/v1/sessions/${id}`, { key, body: {} });
  const query = 'query($id: ID!) { session(id: $id) { mcpServers { databaseId } } }';
  const { data } = await gateway.graphql<{ session: { mcpServers: { databaseId: string }[] } }>(key, query, { id });
  const ids = data?.session.mcpServers.map(({ databaseId }) => databaseId);
  expect(rest.body.mcpServers).toEqual(ids);
  return ids;
}

test('a name is stored as an id, so it survives a rename of the connection and is removed with it', async () => {
  const [mail, files] = [await connect('Mail'), await connect('Files')];
  const session = await createSession(gateway, admin, { mcpServers: ['Mail', files] });
  expect(await read(admin, session)).toEqual([mail, files]);
  await mutate(gateway, admin, 'updateMcpServer', { mcpServerId: mail, name: 'Post' });
  await connect('Mail');
  expect(await read(admin, session)).toEqual([mail, files]);
  await mutate(gateway, admin, 'deleteMcpServer', { mcpServerId: mail });
  expect(await read(admin, session)).toEqual([files]);
  expect((await change(admin, session, [mail])).body.error).toBe(
    `mcpServers.0: ${mail} is neither the id nor the name of an MCP connection that you can see`,
  );
});

test('a connection that is given several times, by name or id, is listed once, at its first position', async () => {
  const [one, two] = [await connect('One'), await connect('Two')];
  const session = await createSession(gateway, admin, { mcpServers: ['One', one, one.toUpperCase(), 'Two', 'One'] });
  expect(await read(admin, session)).toEqual([one, two]);
  const changed = await change(admin, session, [...Array<string>(99).fill('Two'), 'One']);
  expect([changed.status, changed.body.mcpServers]).toEqual([200, [two, one]]);
});

test('a name of two visible connections is refused with their ids; every fault of the list is reported', async () => {
  const shared = await connect('Tracker');
  const personal = await connect('Tracker', { visibility: 'personal' });
  const session = await createSession(gateway, admin);
  const ids = [shared, personal].toSorted().join(' or ');
  const { status, body } = await change(admin, session, ['Tracker', shared, 'nowhere']);
  expect([status, body.error]).toEqual([
    400,
    `mcpServers.0: Tracker is the name of 2 MCP connections; give an id: ${ids}; mcpServers.2: nowhere is neither the id nor the name of an MCP connection that you can see`,
  ]);
  expect((await change(admin, session, [personal, shared])).body.mcpServers).toEqual([personal, shared]);
});

describe('personal connections of somebody else', () => {
  test('are not shown, cannot be given, and stay in the list when others change it', async () => {
    const creator = await gateway.createKey({ organization });
    const own = await connect('Own', { key: creator.key, visibility: 'personal' });
    const [first, second] = [await connect('First'), await connect('Second')];
    const session = await createSession(gateway, creator.key, {
      visibility: 'PUBLIC',
      mcpServers: ['First', 'Own', 'Second'],
    });
    expect(await read(creator.key, session)).toEqual([first, own, second]);
    expect(await read(admin, session)).toEqual([first, second]);
    expect((await change(admin, session, [own])).status).toBe(400);
    const changed = await change(admin, session, [second]);
    expect([changed.status, changed.body.mcpServers]).toEqual([200, [second]]);
    expect(await read(creator.key, session)).toEqual([second, own]);
    await change(creator.key, session, []);
    expect(await read(creator.key, session)).toEqual([]);
  });
});

test('the migration replaces names by ids, prefers a shared connection for an ambiguous name, and removes unknown names', async () => {
  const creator = await gateway.createKey({ organization });
  const stranger = await gateway.createKey();
  const shared = await connect('Both');
  await connect('Both', { key: creator.key, visibility: 'personal' });
  const own = await connect('Mine', { key: creator.key, visibility: 'personal' });
  await connect('Theirs', { visibility: 'personal' });
  await connect('Foreign', { key: stranger.key });
  const session = await createSession(gateway, creator.key);
  const { sql, database } = gateway.dependencies;
  const storedBefore = ['Mine', 'gone', 'Theirs', 'Foreign', 'Both', shared.toUpperCase(), 'Mine', own];
  await sql.query('update session set mcp_servers = $2 where id = $1', [session, storedBefore]);
  expect(await read(creator.key, session)).toEqual([own]);
  const migration = new Migration20261122113800(database.em.getDriver(), database.config);
  await migration.up();
  for (const query of migration.getQueries()) if (typeof query === 'string') await sql.query(query, []);
  expect(await read(creator.key, session)).toEqual([own, shared]);
});
