import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { deleteOldHandles } from '../../../src/domains/mcp-connections/connection-handle.ts';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { STDIO, createConnection } from '../../support/fixtures/mcp-connections.ts';
import { mutate as mutateAs } from '../../support/fixtures/sessions.ts';
import { type Peer, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';

/** Agents keep the names of tools, so the handle of a connection that is gone must not lead to another server. */

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
const DAY_MS = 24 * 60 * 60 * 1000;
let peer: Peer;
let organization: string;
let admin: string;
let member: string;
beforeAll(async () => {
  peer = await startPeer(mcpHandler());
});
afterAll(() => peer.stop());
beforeEach(async () => {
  gateway.setClock(undefined);
  const first = await gateway.createKey();
  ({ organization, key: admin } = first);
  member = (await gateway.createKey({ organization, role: 'member' })).key;
});

const remote = (path = 'mcp') => ({ serverUrl: `${peer.origin}/${path}` });

async function connect(name: string, server: object = remote(), key = admin, visibility = 'shared'): Promise<string> {
  const { body } = await createConnection(gateway, key, { ...server, name, visibility });
  return body.connection.id;
}

async function handleOf(id: string, key = admin): Promise<string> {
  const { body } = await gateway.rest<{ handle: string }>('GET', `/v1/mcp-connections/${id}/settings`, { key });
  return body.handle;
}

const remove = async (id: string, key = admin) =>
  expect((await gateway.rest('DELETE', `/v1/mcp-connections/${id}`, { key })).status).toBe(204);

async function update(id: string, settings: object, key = admin) {
  const path = `/v1/mcp-connections/${id}/settings`;
  const { status, body } = await gateway.rest<{ handle: string; error: string }>('PATCH', path, {
    key,
    body: settings,
  });
  return status === 200 ? body.handle : [status, body.error];
}

const usedBefore = (handle: string) =>
  `handle: ${handle} was the handle of another MCP connection in the last 30 days, and agents may still call its tools; choose another handle, or let an administrator set reuseHandle`;

test('the case of a handle does not count, but for its own connection; those that differ only in case already stay', async () => {
  const id = await connect('Tracker');
  const other = await connect('Other');
  expect(await update(other, { handle: 'TRACKER' })).toEqual([
    409,
    'handle: TRACKER already exists as the handle of another MCP connection; choose another handle',
  ]);
  expect(await update(id, { handle: 'Tracker' })).toBe('Tracker');
  expect(await handleOf(await connect('tracker'))).toBe('tracker-2');
  await gateway.dependencies.sql.query(`update mcp_connection set handle = 'tracker' where id = $1`, [other]);
  expect([await handleOf(id), await handleOf(other)]).toEqual(['Tracker', 'tracker']);
  expect(await update(other, { recordToolCalls: 'NONE' })).toBe('tracker');
});

test('409: a handle stays reserved for 30 days after its connection was deleted or got another one', async () => {
  const deleted = await connect('Deleted');
  await remove(deleted);
  const renamed = await connect('Renamed', remote('renamed'));
  expect(await update(renamed, { handle: 'new-name' })).toBe('new-name');
  const id = await connect('Other', remote('other'));
  for (const handle of ['deleted', 'DELETED', 'renamed'])
    expect(await update(id, { handle })).toEqual([409, usedBefore(handle)]);
  const before = peer.requests.length;
  const input = { remote: { name: 'More', ...remote('other'), settings: { handle: 'deleted' } } };
  const created = await mutateAs<{ reason?: string }>(gateway, admin, 'createMcpServer', input, '__typename');
  expect(created).toMatchObject({ __typename: 'ConflictError' });
  expect(peer.requests.length).toBe(before);
  // One from a name has a number.
  expect(await handleOf(await connect('Deleted', remote('other')))).toBe('deleted-2');
  expect(await handleOf(await connect('Renamed!', STDIO))).toBe('renamed-2');
  gateway.setClock(new Date(Date.now() + 30 * DAY_MS + 60_000));
  expect(await update(id, { handle: 'deleted' })).toBe('deleted');
});

test('a connection to the same server gets the handle again, and with `reuseHandle` of an administrator any other', async () => {
  await remove(await connect('Same'));
  expect(await handleOf(await connect('Same'))).toBe('same');
  await remove(await connect('Tried', STDIO));
  const id = await connect('Other');
  expect(await update(id, { handle: 'tried' })).toEqual([409, usedBefore('tried')]);
  const own = await connect('Own', remote(), member, 'personal');
  expect(await update(own, { handle: 'tried', reuseHandle: true }, member)).toEqual([
    403,
    'only an administrator of the organization can use a handle again',
  ]);
  expect(await update(id, { handle: 'tried', reuseHandle: true })).toBe('tried');
  // Others have handles of their own.
  const stranger = await gateway.createKey();
  expect(await handleOf(await connect('Tried', STDIO, stranger.key), stranger.key)).toBe('tried');
});

test('a reservation has no address, is deleted after 30 days, and that of a personal connection with the account', async () => {
  const { email, key, userId } = await gateway.createKey({ organization, role: 'member' });
  expect(email).toBeDefined();
  await remove(await connect('Personal', remote('secret-address'), key, 'personal'), key);
  await remove(await connect('Shared', remote('secret-address')));
  const { sql, database } = gateway.dependencies;
  const rows = () =>
    sql.query<{ handle: string; owner_id: string | null }>(
      `select u.handle, u.owner_id, u::text like '%secret-address%' as has_address from mcp_used_handle u
      join organization o on o.id = u.organization_id where o.slug = $1 order by handle`,
      [organization],
    );
  expect(await rows()).toEqual([
    { handle: 'personal', owner_id: userId, has_address: false },
    { handle: 'shared', owner_id: null, has_address: false },
  ]);
  await sql.query('delete from api_key where user_id = $1', [userId]);
  await sql.query('delete from membership where user_id = $1', [userId]);
  await sql.query('delete from user_account where id = $1', [userId]);
  expect((await rows()).map(({ handle }) => handle)).toEqual(['shared']);
  const at = (days: number) => new Date(Date.now() + days * DAY_MS);
  await deleteOldHandles(database.em.fork(), at(29), 100);
  expect(await rows()).toHaveLength(1);
  await deleteOldHandles(database.em.fork(), at(31), 100);
  expect(await rows()).toEqual([]);
});
