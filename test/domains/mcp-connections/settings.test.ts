import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Migration20261126152829 } from '../../../migrations/Migration20261126152829.ts';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { STDIO, createConnection, toGraphQLInput } from '../../support/fixtures/mcp-connections.ts';
import { mutate as mutateAs } from '../../support/fixtures/sessions.ts';
import { type Peer, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';
import { sampled } from '../../support/sample.ts';

const gateway = useOwnGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let peer: Peer;
let organization: string;
let admin: string;
let member: string;
let stranger: string;
beforeAll(async () => {
  peer = await startPeer(mcpHandler());
  const first = await gateway.createKey();
  organization = first.organization;
  admin = first.key;
  member = (await gateway.createKey({ organization, role: 'member' })).key;
  stranger = (await gateway.createKey()).key;
});
afterAll(() => peer.stop());
beforeEach(async () => {
  const { sql } = gateway.dependencies;
  await sql.query('delete from mcp_connection', []);
  await sql.query('delete from mcp_used_handle', []);
});

interface Settings extends Record<string, unknown> {
  readonly handle: string;
  readonly error: string;
}

const DEFAULTS = {
  toolPolicy: { mode: 'ALL', names: [] },
  access: { mode: 'ALL', groupIds: [] },
  toolRules: [],
  approverGroupIds: [],
  onToolChange: 'ALLOW',
  recordToolCalls: 'ALL',
  audience: null,
  resource: null,
  allowMissingPkceMetadata: false,
};
const CHOSEN = {
  handle: 'Issue_tracker-2',
  toolPolicy: { mode: 'ONLY', names: ['search', 'read'] },
  access: { mode: 'ALL', groupIds: [] },
  toolRules: [{ tools: ['delete_*'], groupIds: [], effect: 'DENY' }],
  approverGroupIds: [],
  onToolChange: 'HOLD',
  recordToolCalls: 'NONE',
  audience: 'https://api.example.com',
  resource: 'api://5c1f2a3e/issues',
  allowMissingPkceMetadata: true,
};
const FIELDS =
  'databaseId name handle toolPolicy { mode names } access { mode groupIds } toolRules { tools groupIds effect } approverGroupIds onToolChange recordToolCalls audience resource allowMissingPkceMetadata';

const settingsPath = (id: string) => `/v1/mcp-connections/${id}/settings`;
const read = (key: string, id: string) => gateway.rest<Settings>('GET', settingsPath(id), { key });
const update = (key: string, id: string, body: object) =>
  gateway.rest<Settings>('PATCH', settingsPath(id), { key, body });
const mutate = (key: string, name: string, input: object) =>
  mutateAs<{ mcpServer: Record<string, unknown>; path?: string[] }>(
    gateway,
    key,
    name,
    input,
    `mcpServer { ${FIELDS} }`,
  );

interface Connect {
  readonly key?: string;
  readonly visibility?: string;
  readonly server?: object;
}
async function connect(name: string, { key = admin, visibility = 'shared', server = STDIO }: Connect = {}) {
  const { body } = await createConnection(gateway, key, { ...server, name, visibility });
  return body.connection.id;
}
const remote = () => ({ serverUrl: `${peer.origin}/mcp` });
const handleOf = async (id: string, key = admin) => (await read(key, id)).body.handle;

describe('settings', () => {
  test('have defaults, can be changed one by one, and are the same over both APIs', async () => {
    const id = await connect('Issue tracker', { server: remote() });
    expect((await read(admin, id)).body).toEqual({ ...DEFAULTS, handle: 'issue-tracker' });
    const changed = await update(admin, id, CHOSEN);
    expect([changed.status, changed.body]).toEqual([200, CHOSEN]);
    const shown = { ...CHOSEN, databaseId: id, name: 'Issue tracker' };
    const cleared = { mcpServerId: id, audience: null, resource: null, recordToolCalls: 'ALL' };
    expect((await mutate(admin, 'updateMcpServerSettings', cleared)).mcpServer).toEqual({
      ...shown,
      audience: null,
      resource: null,
      recordToolCalls: 'ALL',
    });
    expect((await read(member, id)).body).toEqual({
      ...CHOSEN,
      audience: null,
      resource: null,
      recordToolCalls: 'ALL',
    });
  });

  test('are given with a new connection of each type in GraphQL, and not in the documented REST body', async () => {
    const other = { name: 'Remote', ...remote(), settings: CHOSEN };
    expect((await mutate(admin, 'createMcpServer', { remote: other })).mcpServer).toMatchObject(CHOSEN);
    const stdio = { name: 'Local', command: 'npx', settings: { recordToolCalls: 'NONE' } };
    expect((await mutate(admin, 'createMcpServer', { stdio })).mcpServer).toMatchObject({
      ...DEFAULTS,
      handle: 'local',
      recordToolCalls: 'NONE',
    });
    const refused = await createConnection(gateway, admin, { ...STDIO, settings: {} });
    expect([refused.status, refused.body.error]).toEqual([400, 'settings: is not a known property of type stdio']);
  });

  test('stand beside the documented object, never in it', async () => {
    const { body } = await createConnection(gateway, admin, STDIO);
    const path = `/v1/mcp-connections/${body.connection.id}`;
    const documented = await gateway.rest<object>('GET', path, { key: admin });
    expect(Object.keys(documented.body).filter((name) => name in CHOSEN)).toEqual([]);
    expect((await gateway.rest('PATCH', path, { key: admin, body: { handle: 'other' } })).status).toBe(400);
  });

  sampled(test, 4).each([
    [{ handle: 'a__b' }, 'handle: must be letters, digits, hyphens, and single underscores between them'],
    [{ handle: '_a' }, 'handle: must be letters, digits, hyphens, and single underscores between them'],
    [{ handle: 'a_' }, 'handle: must be letters, digits, hyphens, and single underscores between them'],
    [{ handle: 'a b' }, 'handle: must be letters, digits, hyphens, and single underscores between them'],
    [{ handle: '' }, 'handle: must not be empty'],
    [{ handle: 'a'.repeat(51) }, 'handle: must be at most 50 characters'],
    [{ handle: null }, 'handle: must be a string'],
    [{ toolPolicy: { mode: 'SOME', names: [] } }, 'toolPolicy.mode: must be one of "ALL", "ONLY"'],
    [{ toolPolicy: { mode: 'ONLY', names: [''] } }, 'toolPolicy.names.0: must not be empty'],
    [{ toolPolicy: null }, 'toolPolicy: must be an object'],
    [{ recordToolCalls: 'none' }, 'recordToolCalls: must be one of "ALL", "NONE"'],
    [{ resource: 'https://a.example/#b' }, 'resource: must be an absolute URI without a fragment (RFC 8707), or empty'],
    [{ resource: 'mcp.example' }, 'resource: must be an absolute URI without a fragment (RFC 8707), or empty'],
    [{ audience: '' }, 'audience: must not be empty'],
    [{ allowMissingPkceMetadata: 'yes' }, 'allowMissingPkceMetadata: must be a boolean'],
    [{ name: 'Other' }, 'name: is not a known property'],
  ])('400: %j', async (body, error) => {
    const id = await connect('Issue tracker');
    const answer = await update(admin, id, body);
    expect([answer.status, answer.body.error]).toEqual([400, error]);
    expect((await read(admin, id)).body).toEqual({ ...DEFAULTS, handle: 'issue-tracker' });
  });

  const AUTHORIZATION = { audience: 'a', resource: '', allowMissingPkceMetadata: true };
  test.each<[string, object, string[]]>([
    ['a stdio connection', STDIO, Object.keys(AUTHORIZATION)],
    ['authType static_headers', { authType: 'static_headers', headers: { 'X-Key': 'k' } }, Object.keys(AUTHORIZATION)],
    ['OAuth', {}, []],
  ])('of an authorization that %s does not have are refused by name', async (kind, server, refused) => {
    const isStdio = server === STDIO;
    const id = await connect('One', { server: isStdio ? server : { ...remote(), ...server } });
    const words = isStdio ? 'must not be given for a stdio connection' : `must not be given with ${kind}`;
    const errors = refused.map((name) => `${name}: ${words}`).join('; ');
    const changed = await update(admin, id, AUTHORIZATION);
    expect([changed.status, changed.body.error]).toEqual(refused.length > 0 ? [400, errors] : [200, undefined]);
    // What answers contain can be sent back.
    expect((await update(admin, id, DEFAULTS)).status).toBe(200);
    const type = isStdio ? 'stdio' : 'remote';
    const input = toGraphQLInput({
      ...(isStdio ? server : { ...remote(), ...server }),
      name: 'Two',
      settings: AUTHORIZATION,
    });
    const created = await mutate(admin, 'createMcpServer', input);
    expect(created.path).toEqual(refused.length > 0 ? [type, 'settings', refused[0]] : undefined);
  });

  test('are read by everybody who sees the connection, and changed by who manages it', async () => {
    const shared = await connect('Shared');
    const personal = await connect('Own', { key: member, visibility: 'personal' });
    const reader = (await gateway.createKey({ organization, scopes: ['mcp_connections.read'] })).key;
    const attempts = [
      read(member, shared),
      read(reader, shared),
      read(admin, personal),
      read(stranger, shared),
      update(member, shared, { recordToolCalls: 'NONE' }),
      update(reader, shared, { recordToolCalls: 'NONE' }),
      update(admin, personal, { recordToolCalls: 'NONE' }),
      update(stranger, shared, { recordToolCalls: 'NONE' }),
      update(member, personal, { recordToolCalls: 'NONE' }),
    ];
    expect((await Promise.all(attempts)).map(({ status }) => status)).toEqual([
      200, 200, 404, 404, 403, 403, 404, 404, 200,
    ]);
    expect((await read(admin, shared)).body['recordToolCalls']).toBe('ALL');
  });

  test('an audit log entry names the fields that changed', async () => {
    const id = await connect('Issue tracker');
    await update(admin, id, { ...CHOSEN, ...DEFAULTS, recordToolCalls: 'NONE' });
    await gateway.rest('PATCH', `/v1/mcp-connections/${id}`, { key: admin, body: { command: 'false', args: [] } });
    const { data } = await gateway.graphql<{ viewer: { organization: { auditLog: { nodes: object[] } } } }>(
      admin,
      'query($ids: [ID!]) { viewer { organization { auditLog(filter: { targetIds: $ids }) { nodes { operation changedFields } } } } }',
      { ids: [id] },
    );
    expect(data?.viewer.organization.auditLog.nodes).toEqual([
      { operation: 'updateMcpConnection', changedFields: ['command', 'args'] },
      { operation: 'updateMcpConnectionSettings', changedFields: ['handle', 'recordToolCalls'] },
      { operation: 'createMcpConnection', changedFields: null },
    ]);
  });
});

describe('the handle', () => {
  test('is made from the name, unique in the organization, and kept when the connection is renamed', async () => {
    const ids = [
      await connect('Ünïcode & Großhandel'),
      await connect('日本'),
      await connect('unicode grosshandel', { key: member, visibility: 'personal' }),
      await connect('long '.repeat(40)),
    ];
    const keys = [admin, admin, member, admin];
    const handles = await Promise.all(ids.map((id, index) => handleOf(id, keys[index])));
    expect(handles).toEqual(['unicode-grosshandel', 'server', 'unicode-grosshandel-2', `${'long-'.repeat(9)}long`]);
    const { body } = await createConnection(gateway, stranger, { ...STDIO, name: 'Unicode Grosshandel' });
    expect(await handleOf(body.connection.id, stranger)).toBe('unicode-grosshandel');
    const renamed = { key: admin, body: { name: 'Renamed' } };
    expect((await gateway.rest('PATCH', `/v1/mcp-connections/${ids[0]}`, renamed)).status).toBe(200);
    expect(await handleOf(ids[0] ?? '')).toBe('unicode-grosshandel');
  });

  test('409: it is taken, also by a connection that the caller cannot see; no server is called for it', async () => {
    await connect('Mine', { key: member, visibility: 'personal' });
    const id = await connect('Other');
    const taken = 'mine already exists as the handle of another MCP connection; choose another handle';
    const answer = await update(admin, id, { handle: 'mine' });
    expect([answer.status, answer.body.error]).toEqual([409, `handle: ${taken}`]);
    const before = peer.requests.length;
    for (const kind of [{ remote: { serverUrl: `${peer.origin}/mcp` } }, { stdio: { command: 'npx' } }]) {
      const [type, fields] = Object.entries(kind)[0] ?? ['', {}];
      const input = { [type]: { ...fields, name: 'New', settings: { handle: 'mine' } } };
      expect(await mutate(admin, 'createMcpServer', input)).toMatchObject({
        __typename: 'ConflictError',
        message: `${type}.settings.handle: ${taken}`,
        path: [type, 'settings', 'handle'],
      });
    }
    expect(peer.requests.length).toBe(before);
  });

  test('20 connections of one name that are created at the same time have 20 handles', async () => {
    const keys = await Promise.all(
      Array.from({ length: 20 }, async () => (await gateway.createKey({ organization, role: 'member' })).key),
    );
    const answers = await Promise.all(
      keys.map((key) => createConnection(gateway, key, { ...STDIO, visibility: 'personal' })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(201));
    const rows = await gateway.dependencies.sql.query<{ handle: string }>('select handle from mcp_connection', []);
    const expected = ['local', ...Array.from({ length: 19 }, (_, index) => `local-${index + 2}`)];
    expect(rows.map(({ handle }) => handle).toSorted()).toEqual(expected.toSorted());
  });

  test('connections of earlier versions get one from their names, and a new one where no name is known', async () => {
    const names = ['Issue Tracker', 'issue-tracker', 'Issue tracker 2', 'Café ☕', '日本', 'x'.repeat(200)];
    const { sql, database } = gateway.dependencies;
    for (const [index, name] of names.entries()) {
      const id = await connect(name);
      // As a gateway of an earlier version inserts it.
      await sql.query('update mcp_connection set handle = default, created_at = to_timestamp($2) where id = $1', [
        id,
        index,
      ]);
      expect(await handleOf(id)).toMatch(/^server-[0-9a-f-]{36}$/);
    }
    const migration = new Migration20261126152829(database.em.getDriver(), database.config);
    await migration.up();
    for (const query of migration.getQueries())
      if (typeof query === 'string' && query.startsWith('do ')) await sql.query(query, []);
    const rows = await sql.query<{ handle: string }>('select handle from mcp_connection order by created_at', []);
    expect(rows.map(({ handle }) => handle)).toEqual([
      'issue-tracker',
      'issue-tracker-2',
      'issue-tracker-2-2',
      'cafe',
      'server',
      'x'.repeat(42),
    ]);
  });
});
