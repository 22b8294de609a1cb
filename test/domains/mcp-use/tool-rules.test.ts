import pg from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createGroup } from '../../support/fixtures/groups.ts';
import { type UseFixture, startUseFixture } from '../../support/fixtures/mcp-use.ts';
import { createSession, mutate } from '../../support/fixtures/sessions.ts';
import { ADDRESSES, type Place, callAt, listAt } from '../../support/fixtures/tool-addresses.ts';
import { type ListingServer, listingServer, tool } from '../../support/peers/listing-server.ts';

/** Who may use a connection, and which of its tools. */

let fixture: UseFixture;
let server: ListingServer;
let place: Place;
let insider: { key: string; userId: string };
let outsider: { key: string; userId: string };
let group: string;
const NAMES = ['read', 'write_issue', 'write_page'];
beforeAll(async () => {
  fixture = await startUseFixture();
  server = listingServer({ tools: NAMES.map((name) => tool(name)) });
  fixture.peer.handler = server.handler;
  const { gateway, url, key, organization } = fixture;
  const connectionId = await fixture.connect({ name: 'Tracker' });
  insider = await gateway.createKey({ organization, role: 'member' });
  outsider = await gateway.createKey({ organization, role: 'member' });
  group = (await createGroup(gateway, key, { name: 'Writers', memberIds: [insider.userId] })).id;
  place = { gateway, url, connectionId, handle: 'tracker', sessionId: '' };
});
afterAll(() => fixture.stop());

const settingsPath = (id = place.connectionId) => `/v1/mcp-connections/${id}/settings`;
async function set(body: object, key = fixture.key, id?: string) {
  const { status, text } = await fixture.gateway.rest('PATCH', settingsPath(id), { key, body });
  return [status, text] as const;
}

const sessions = new Map<string, string>();
async function sessionOf(key: string): Promise<string> {
  const known = sessions.get(key) ?? (await createSession(fixture.gateway, key, { mcpServers: [place.connectionId] }));
  sessions.set(key, known);
  return known;
}

/** What a caller is shown and can call, which is the same everywhere. */
async function usableBy(key: string): Promise<string[] | 'nothing is there'> {
  const here = { ...place, sessionId: await sessionOf(key) };
  const answers = await Promise.all(
    ADDRESSES.map(async (address) => {
      const kinds: string[] = [];
      for (const name of NAMES) kinds.push((await callAt(address, here, key, name, {})).kind);
      const called = NAMES.filter((_, index) => kinds[index] === 'OK');
      return { listed: await listAt(address, here, key), called, others: kinds.filter((kind) => kind !== 'OK') };
    }),
  );
  for (const { listed, called } of answers) expect([answers, listed]).toEqual([answers, called]);
  const [first] = answers;
  const isMissing = answers.some(({ others }) => others.includes('MISSING'));
  expect(answers.map(({ called }) => called)).toEqual(answers.map(() => first?.called));
  return isMissing ? 'nothing is there' : (first?.called ?? []);
}

/** Who could call which tools by these settings: the administrator, the insider and the outsider. */
async function previewed(settings: object): Promise<(readonly string[] | undefined)[]> {
  const query = `query($id: ID!, $access: McpServerAccessInput, $toolRules: [McpToolRuleInput!], $onToolChange: McpToolChange) {
    viewer { actor { ... on User { databaseId } } } mcpServer(id: $id) { toolAccess(access: $access, toolRules: $toolRules, onToolChange: $onToolChange) {
      allowed accounts { ... on User { databaseId } } } } }`;
  const { data, errors } = await fixture.gateway.graphql<{
    viewer: { actor: { databaseId: string } };
    mcpServer: { toolAccess: { allowed: string[]; accounts: { databaseId: string }[] }[] };
  }>(fixture.key, query, { id: place.connectionId, ...settings });
  expect(errors).toBeUndefined();
  return [data?.viewer.actor.databaseId, insider.userId, outsider.userId].map(
    (wanted) =>
      data?.mcpServer.toolAccess.find(({ accounts }) => accounts.some(({ databaseId }) => databaseId === wanted))
        ?.allowed,
  );
}

const all = async () => Promise.all([fixture.key, insider.key, outsider.key].map(usableBy));

test('the first rule that names a tool and counts for the caller decides, the same at each address for lists and calls', async () => {
  await Promise.all([fixture.key, insider.key, outsider.key].map(sessionOf));
  expect(await all()).toEqual([NAMES, NAMES, NAMES]);
  const rules = [
    { tools: ['write_page'], effect: 'DENY' },
    { tools: ['write_*'], groupIds: [group], effect: 'ALLOW' },
    { tools: ['WRITE_*'], effect: 'DENY' },
  ];
  const wanted = [['read'], ['read', 'write_issue'], ['read']];
  expect(await previewed({ toolRules: rules })).toEqual(wanted);
  expect(await set({ toolRules: rules })).toEqual([200, expect.anything()]);
  expect([await all(), await previewed({})]).toEqual([wanted, wanted]);
  const access = { mode: 'GROUPS', groupIds: [group] };
  expect(await previewed({ access })).toEqual([[], ['read', 'write_issue'], []]);
  await set({ toolPolicy: { mode: 'ONLY', names: ['write_issue', 'write_page'] } });
  expect(await all()).toEqual([[], ['write_issue'], []]);
  await set({
    toolPolicy: { mode: 'ALL' },
    toolRules: [
      { tools: ['READ'], effect: 'ALLOW' },
      { tools: ['*'], effect: 'DENY' },
    ],
  });
  expect(await all()).toEqual([[], [], []]);
  const before = server.asked.filter((method) => method === 'tools/call').length;
  await all();
  expect(server.asked.filter((method) => method === 'tools/call').length).toBe(before);
  await set({ toolRules: [] });
});

test('access names who sees and uses a connection; an administrator outside manages it', async () => {
  expect(await set({ access: { mode: 'GROUPS', groupIds: [group] } })).toEqual([200, expect.anything()]);
  expect(await all()).toEqual(['nothing is there', NAMES, 'nothing is there']);
  const read = async (key: string) => {
    const { status } = await fixture.gateway.rest('GET', settingsPath(), { key });
    const { status: listed, text } = await fixture.gateway.rest('GET', '/v1/mcp-connections?limit=100', { key });
    const session = await fixture.gateway.rest('GET', `/v1/sessions/${await sessionOf(key)}`, { key });
    const feed = await fixture.gateway.rest('GET', '/v1/feed?types=mcp_connection.status_changed&limit=100', { key });
    const isIn = (answer: string) => answer.includes(place.connectionId);
    return [status, listed, isIn(text), isIn(session.text), isIn(feed.text)];
  };
  expect(await read(fixture.key)).toEqual([200, 200, true, true, true]);
  expect(await read(insider.key)).toEqual([200, 200, true, true, true]);
  expect(await read(outsider.key)).toEqual([404, 200, false, false, false]);
  const denied = await fixture.gateway.rest('PATCH', settingsPath(), {
    key: outsider.key,
    body: { recordToolCalls: 'ALL' },
  });
  expect(denied.status).toBe(404);
  const fields =
    'mcpServer { viewerCanUse viewerCanUpdate access { mode groupIds } toolRules { tools groupIds effect } tools { name effect } }';
  const input = {
    mcpServerId: place.connectionId,
    toolRules: [{ tools: ['read'], groupIds: [group], effect: 'DENY' }],
  };
  expect(await mutate(fixture.gateway, fixture.key, 'updateMcpServerSettings', input, fields)).toMatchObject({
    mcpServer: {
      viewerCanUse: false,
      viewerCanUpdate: true,
      access: { mode: 'GROUPS', groupIds: [Buffer.from(`Group:${group}`).toString('base64')] },
      toolRules: [{ tools: ['read'], groupIds: [Buffer.from(`Group:${group}`).toString('base64')], effect: 'DENY' }],
      tools: NAMES.map((name) => ({ name, effect: 'DENY' })),
    },
  });
  expect(await usableBy(insider.key)).toEqual(['write_issue', 'write_page']);
  await set({ access: { mode: 'GROUPS' }, toolRules: [] });
  expect(await all()).toEqual(['nothing is there', 'nothing is there', 'nothing is there']);
});

test('409: a group that a connection names cannot be deleted', async () => {
  const path = `/v1/groups/${group}`;
  const remove = () => fixture.gateway.rest<{ error: string }>('DELETE', path, { key: fixture.key });
  await set({ access: { mode: 'GROUPS', groupIds: [group] } });
  expect([(await remove()).status, (await remove()).body.error]).toEqual([
    409,
    'the settings of Tracker name the group; change them first',
  ]);
  await set({ access: { mode: 'ALL' }, toolRules: [{ tools: ['*'], groupIds: [group], effect: 'DENY' }] });
  expect((await remove()).status).toBe(409);
  await set({ toolRules: [] });
  const other = await fixture.gateway.createKey();
  const foreign = await createGroup(fixture.gateway, other.key, { name: 'Foreign' });
  expect(await set({ access: { mode: 'GROUPS', groupIds: [foreign.id] } })).toEqual([
    400,
    expect.stringContaining('access.groupIds.0: there is no such group'),
  ]);
});

test('a personal connection has rules and no access', async () => {
  const id = await fixture.connect({ name: 'Mine', visibility: 'personal' }, insider.key);
  const refused = 'access: must be for all: a personal connection is used by its owner alone';
  expect(await set({ access: { mode: 'GROUPS' } }, insider.key, id)).toEqual([400, expect.stringContaining(refused)]);
  expect(await set({ toolRules: [{ tools: ['write_*'], effect: 'DENY' }] }, insider.key, id)).toEqual([
    200,
    expect.anything(),
  ]);
  const mine = { ...place, connectionId: id, handle: 'mine' };
  expect(await listAt('own', mine, insider.key)).toEqual(['read']);
});

test('rules are not set while a process of an earlier version is running, which would ignore them', async () => {
  const { gateway } = fixture;
  await set({ access: { mode: 'ALL' }, toolRules: [], onToolChange: 'ALLOW' });
  await gateway.dependencies.sql.query('delete from finished_version', []);
  const older = new pg.Client({ connectionString: gateway.databaseUrl, application_name: 'gateway listener' });
  await older.connect();
  const settings = [
    { access: { mode: 'GROUPS' } },
    { onToolChange: 'HOLD' },
    { toolRules: [{ tools: ['*'], effect: 'ASK' }] },
  ];
  const statuses = async () => {
    const found: number[] = [];
    for (const each of settings) found.push((await set(each))[0]);
    return found;
  };
  const beside = await statuses();
  const allowing = await set({ toolRules: [{ tools: ['*'], effect: 'ALLOW' }] });
  const stdio = { name: 'New', command: 'x', settings: { onToolChange: 'HOLD' } };
  const created = await mutate(gateway, fixture.key, 'createMcpServer', { stdio });
  await older.end();
  await gateway.dependencies.sql.query(
    `insert into finished_version (version, finished_at) values ('1.1.0', now()) on conflict do nothing`,
    [],
  );
  await expect.poll(() => gateway.dependencies.hasOlderProcess('1.1.0')).toBe(false);
  expect([beside, allowing[0], created.__typename, await statuses()]).toEqual([
    [409, 409, 409],
    200,
    'ConflictError',
    [200, 200, 200],
  ]);
});
