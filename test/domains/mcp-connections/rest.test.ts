import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { STDIO, createConnection } from '../../support/fixtures/mcp-connections.ts';
import { type Peer, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';

/** The REST operations that list, read, change and delete MCP connections. */

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let server: Peer;
beforeAll(async () => {
  server = await startPeer(mcpHandler());
});
afterAll(() => server.stop());

const PATH = '/v1/mcp-connections';
interface Connection {
  readonly id: string;
  readonly name: string;
}
interface List {
  readonly items: Connection[];
  readonly nextCursor: string | null;
}

async function connect(key: string, name: string, rest: object = {}): Promise<Connection & Record<string, unknown>> {
  const { status, body, text } = await createConnection(gateway, key, { ...STDIO, name, ...rest });
  if (status !== 201) throw new Error(text);
  return body.connection as unknown as Connection & Record<string, unknown>;
}

const list = async (key: string, query = '') => (await gateway.rest<List>('GET', `${PATH}${query}`, { key })).body;
const names = ({ items }: List) => items.map(({ name }) => name);

test('the list is sorted by name, can be filtered, and its last page has a null nextCursor', async () => {
  const { key } = await gateway.createKey();
  for (const name of ['c', 'a', 'b']) await connect(key, name);
  const mine = await connect(key, 'd', { visibility: 'personal' });
  const remote = await createConnection(gateway, key, { name: 'e', serverUrl: `${server.origin}/mcp` });
  expect(await list(key)).toMatchObject({
    items: [{ name: 'a' }, { name: 'b' }, { name: 'c' }, mine, remote.body.connection],
    nextCursor: null,
  });
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const page: List = await list(key, `?limit=2${cursor && `&cursor=${cursor}`}`);
    seen.push(...names(page));
    cursor = page.nextCursor;
  }
  expect(seen).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(names(await list(key, '?visibility=personal'))).toEqual(['d']);
  expect(names(await list(key, '?type=remote&visibility=shared'))).toEqual(['e']);
  expect(await list(key, '?type=pipe')).toEqual({ error: 'type: must be one of "remote", "stdio"' });
});

test('arguments are stored exactly, also blank ones and those with characters of array literals', async () => {
  const { key } = await gateway.createKey();
  const args = ['', ' ', ' padded ', 'NULL', 'null', '{x}', 'a,b', 'say "hi"', 'back\\slash', 'line\nbreak'];
  const { id } = await connect(key, 'exact', { args });
  expect(await gateway.rest('GET', `${PATH}/${id}`, { key })).toMatchObject({ body: { args } });
});

test('a connection is read as it was created, a PATCH changes the given fields, and after its deletion it is 404', async () => {
  const { key } = await gateway.createKey();
  const created = await connect(key, 'local');
  const path = `${PATH}/${created.id}`;
  expect(await gateway.rest('GET', path, { key })).toMatchObject({ status: 200, body: created });
  const body = { name: 'Local', args: [], env: { TOKEN: null, NEW: 'sssh' } };
  const changed = await gateway.rest<Record<string, unknown>>('PATCH', path, { key, body });
  expect([changed.status, changed.body]).toEqual([
    200,
    { ...created, name: 'Local', args: [], envKeys: ['PATH_EXTRA', 'NEW'], updatedAt: changed.body['updatedAt'] },
  ]);
  expect(await gateway.rest('GET', path, { key })).toMatchObject({ body: changed.body });
  const deleted = await gateway.rest('DELETE', path, { key });
  expect([deleted.status, deleted.text]).toEqual([204, '']);
  for (const method of ['GET', 'PATCH', 'DELETE'])
    expect(await gateway.rest(method, path, { key, ...(method === 'PATCH' && { body: {} }) })).toMatchObject({
      status: 404,
      body: { error: 'MCP connection not found' },
    });
});

test('PATCH accepts null for a field that is null in the answer, and refuses null for a field that has a value', async () => {
  const { key } = await gateway.createKey();
  const stdio = await connect(key, 'local');
  const remote = await createConnection(gateway, key, { name: 'remote', serverUrl: `${server.origin}/mcp` });
  const patch = (id: string, body: object) => gateway.rest('PATCH', `${PATH}/${id}`, { key, body });
  expect(await patch(stdio.id, { serverUrl: null })).toMatchObject({ status: 200, body: { serverUrl: null } });
  expect(await patch(remote.body.connection.id, { command: null, args: null })).toMatchObject({ status: 200 });
  expect(await patch(stdio.id, { command: null, args: null })).toMatchObject({
    status: 400,
    body: { error: 'command: must not be null; args: must not be null' },
  });
  expect(await patch(remote.body.connection.id, { serverUrl: null })).toMatchObject({
    status: 400,
    body: { error: 'serverUrl: must not be null' },
  });
  expect(await patch(stdio.id, { serverUrl: 'https://example.com/' })).toMatchObject({
    status: 400,
    body: { error: 'serverUrl: must not be given for a stdio connection' },
  });
});

test('personal connections of others and foreign connections are 404; only administrators can change shared ones', async () => {
  const admin = await gateway.createKey();
  const { organization } = admin;
  const [owner, member, stranger] = [
    await gateway.createKey({ organization }),
    await gateway.createKey({ organization }),
    await gateway.createKey(),
  ];
  const shared = await connect(admin.key, 'shared');
  const personal = await connect(owner.key, 'mine', { visibility: 'personal' });
  expect(names(await list(owner.key))).toEqual(['mine', 'shared']);
  expect(names(await list(member.key))).toEqual(['shared']);
  expect(names(await list(stranger.key))).toEqual([]);
  const ask = async (method: string, id: string, key: string) => {
    const answer = await gateway.rest(method, `${PATH}/${id}`, { key, ...(method === 'PATCH' && { body: {} }) });
    return [answer.status, answer.text];
  };
  const missing = [404, '{"error":"MCP connection not found","details":{"type":"McpServer"}}'];
  for (const method of ['GET', 'PATCH', 'DELETE']) {
    expect(await ask(method, randomUUID(), admin.key)).toEqual(missing);
    expect(await ask(method, personal.id, admin.key)).toEqual(missing);
    expect(await ask(method, shared.id, stranger.key)).toEqual(missing);
    expect((await ask(method, shared.id, member.key))[0]).toBe(method === 'GET' ? 200 : 403);
  }
  const reader = await gateway.createKey({ organization, scopes: ['mcp_connections.read'] });
  const writer = await gateway.createKey({ organization, role: 'admin', scopes: ['mcp_connections.write'] });
  expect((await ask('GET', shared.id, reader.key))[0]).toBe(200);
  expect((await ask('DELETE', shared.id, reader.key))[0]).toBe(403);
  expect((await ask('GET', shared.id, writer.key))[0]).toBe(403);
  expect((await ask('DELETE', shared.id, writer.key))[0]).toBe(204);
});
