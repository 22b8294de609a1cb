import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCommand } from '../../../src/operator/commands.ts';
import { auditRows } from '../../support/fixtures/audit-log.ts';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { append, createSession, eventsOf, mutate } from '../../support/fixtures/sessions.ts';
import { recordObjects } from '../../support/operations/recorded-organization.ts';
import { type Peer, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';

/** Taking everything of an organization out. */

let gateway: TestGateway;
let peer: TestGateway;
let server: Peer;
beforeAll(async () => {
  gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
  peer = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' }, { beside: gateway });
  server = await startPeer(mcpHandler());
});
afterAll(async () => {
  await peer.close();
  await gateway.close();
  await server.stop();
});

interface Line {
  readonly kind: string;
  readonly id?: string;
  readonly title?: string;
  readonly counts?: Readonly<Record<string, number>>;
}

function fetchExport(key: string, organizationId: string, to = gateway): Promise<Response> {
  const headers = { Authorization: `Bearer ${key}` };
  return to.fetch(`/v1/organizations/${organizationId}/export`, { headers });
}
const linesOf = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

const broadcastOf = async (key: string, id: string) =>
  (await gateway.rest<object>('GET', `/broadcast/v1/broadcasts/${id}`, { key })).body;

test('has each object of the organization once, also private sessions of others, counts, and no secret', async () => {
  const admin = await gateway.createKey();
  const recorded = await recordObjects(gateway, admin, { serverUrl: `${server.origin}/mcp`, mark: 'exported' });
  const secret = await gateway.rest<{ secret: string }>('POST', '/v1/webhooks', {
    key: admin.key,
    body: { url: 'https://hooks.example.com/', types: ['session.created'] },
  });
  const member = await gateway.createKey({ organization: admin.organization, role: 'member' });
  const hidden = await createSession(gateway, member.key, { title: 'Private of a member' });
  await append(gateway, member.key, hidden, eventsOf(250));
  const foreign = await gateway.createKey();
  await createSession(gateway, foreign.key, { title: 'Of another organization' });
  const leaver = await gateway.createKey({ organization: admin.organization, role: 'member' });
  await mutate(gateway, leaver.key, 'leaveOrganization', {}, 'leftOrganizationId');
  const { sql } = gateway.dependencies;
  for (const [subject, userId] of [
    ['here', member.userId],
    ['suspended', recorded.suspendedUserId],
    ['Of another organization', foreign.userId],
  ])
    await sql.query(
      `insert into identity (id, issuer, subject, user_id, created_at, last_signed_in_at)
        values (gen_random_uuid(), 'https://id.example.com', $1, $2, now(), now())`,
      [subject, userId],
    );

  const response = await fetchExport(admin.key, admin.organizationId);
  expect([response.status, response.headers.get('content-type'), response.headers.get('content-disposition')]).toEqual([
    200,
    'application/x-ndjson; charset=utf-8',
    `attachment; filename="organization-${admin.organizationId}.ndjson"`,
  ]);
  const text = await response.text();
  const lines = linesOf(text);
  expect(lines[0]).toMatchObject({
    kind: 'export',
    version: 1,
    organization: { id: admin.organizationId, slug: admin.organization },
    at: expect.any(String),
  });
  const { counts } = lines.at(-1) ?? {};
  const found = Object.fromEntries(
    [...Map.groupBy(lines.slice(1, -1), ({ kind }) => kind)].map(([kind, some]) => [kind, some.length]),
  );
  expect(lines.at(-1)).toEqual({ kind: 'end', counts: found });
  // Each kind has at least one object.
  expect(Object.values(counts ?? {}).filter((count) => count === 0)).toEqual([]);
  expect(lines.filter(({ kind }) => kind === 'sessionEvent').length).toBeGreaterThanOrEqual(250);
  expect(lines).toContainEqual(expect.objectContaining({ kind: 'session', id: hidden, title: 'Private of a member' }));
  expect(lines).toContainEqual(expect.objectContaining({ kind: 'session', id: recorded.sessionId }));
  expect(lines.filter(({ kind }) => kind === 'identity')).toMatchObject(
    [member.userId, recorded.suspendedUserId].map((userId) => ({ userId, issuer: 'https://id.example.com' })),
  );
  const ids = { serviceAccount: recorded.serviceAccountId, invitation: recorded.invitationId };
  for (const [kind, id] of Object.entries(ids)) expect(lines).toContainEqual(expect.objectContaining({ kind, id }));
  expect(lines).toContainEqual({ kind: 'broadcast', ...(await broadcastOf(admin.key, recorded.broadcastGuid)) });
  expect(lines).toContainEqual(expect.objectContaining({ kind: 'retention', sessionDays: null, auditLogDays: null }));
  expect(text).not.toMatch(/"(?:parentId|place)":/);
  const hashes = await sql.query<{ hash: string }>(
    `select encode(hash, 'base64') as hash from api_key where hash is not null`,
    [],
  );
  const texts = [
    'Of another organization',
    secret.body.secret,
    admin.key,
    recorded.invitationToken,
    ...hashes.map(({ hash }) => hash),
  ];
  expect(texts.filter((each) => text.includes(each))).toEqual([]);
  expect(await auditRows(gateway)).toContainEqual(
    expect.objectContaining({ operation: 'exportOrganization', targetId: admin.organizationId, keyId: admin.keyId }),
  );

  const command = { name: 'organizations export', organization: admin.organization, json: true } as const;
  const written: object[] = [];
  const answer = await runCommand(gateway.dependencies, command, { progress: { isTTY: false, write: () => true } });
  if (Symbol.asyncIterator in answer) for await (const line of answer) written.push(line);
  const kinds = (all: readonly object[]) => new Set(all.map((line) => (line as Line).kind));
  expect(kinds(written)).toEqual(kinds(lines));
});

test('lines of connections, webhooks and keys are as REST answers the objects', async () => {
  const admin = await gateway.createKey();
  await recordObjects(gateway, admin, { serverUrl: `${server.origin}/mcp`, mark: 'compared' });
  const lines = linesOf(await (await fetchExport(admin.key, admin.organizationId)).text());
  const paths = { mcpConnection: '/v1/mcp-connections', webhook: '/v1/webhooks', apiKey: '/v1/api-keys' };
  for (const [kind, path] of Object.entries(paths)) {
    const query = kind === 'apiKey' ? '?includeRevoked=true' : '';
    const { body } = await gateway.rest<{ items: Line[] }>('GET', `${path}${query}`, { key: admin.key });
    const ofKind = lines.filter((line) => line.kind === kind);
    expect(ofKind.length).toBeGreaterThan(0);
    const found = new Map(body.items.map((item) => [item.id, item]));
    expect(ofKind).toMatchObject(ofKind.map(({ id }) => ({ kind, ...found.get(id) })));
  }
});

test('is for administrators with both scopes, of the acting organization', async () => {
  const admin = await gateway.createKey();
  const { organization, email, organizationId } = admin;
  const member = await gateway.createKey({ organization, role: 'member' });
  const weak = await gateway.createKey({ organization, email, scopes: ['organizations.write'] });
  const other = await gateway.createKey();
  const statuses = [member.key, weak.key, other.key].map(
    async (key) => (await fetchExport(key, organizationId)).status,
  );
  expect(await Promise.all(statuses)).toEqual([403, 403, 404]);
});

test('one runs at a time over all gateways; one that is left or cut has no last line and ends its turn', async () => {
  const { key, organizationId } = await gateway.createKey();
  const sessionId = await createSession(gateway, key);
  for (let batch = 0; batch < 3; batch += 1)
    await append(gateway, key, sessionId, eventsOf(1000, { data: { text: 'x'.repeat(500) } }));
  const running = await fetchExport(key, organizationId);
  const reader = running.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  expect(new TextDecoder().decode(value)).toMatch(/^\{"kind":"export"/);
  const refused = await fetchExport(key, organizationId, peer);
  expect([refused.status, await refused.json()]).toEqual([
    409,
    { error: 'an export of this organization is running; wait until it has ended' },
  ]);
  await reader?.cancel();
  const left = () =>
    gateway.dependencies.sql.query('select from running_export where organization_id = $1', [organizationId]);
  await expect.poll(left, { interval: 10 }).toEqual([]);
  const again = await fetchExport(key, organizationId, peer);
  expect(linesOf(await again.text()).at(-1)).toMatchObject({ kind: 'end', counts: { sessionEvent: 3000 } });
});

test('the turn of a process that was killed is free after a minute', async () => {
  const { key, organizationId } = await gateway.createKey();
  await gateway.dependencies.sql.query(
    `insert into running_export (organization_id, token, expires_at) values ($1, gen_random_uuid(), now() - interval '1 second')`,
    [organizationId],
  );
  expect((await fetchExport(key, organizationId)).status).toBe(200);
});

test('a request for the headers alone does not begin an export', async () => {
  const { key, organizationId } = await gateway.createKey();
  const headers = { Authorization: `Bearer ${key}` };
  const head = await gateway.fetch(`/v1/organizations/${organizationId}/export`, { method: 'HEAD', headers });
  expect([head.status, head.headers.get('content-type')]).toEqual([200, 'application/x-ndjson; charset=utf-8']);
  expect((await fetchExport(key, organizationId)).status).toBe(200);
});

test('objects with nothing below them are read together', async () => {
  const admin = await gateway.createKey();
  const create = () => createSession(gateway, admin.key);
  const statementsOf = async () => {
    const before = gateway.statements.length;
    const lines = linesOf(await (await fetchExport(admin.key, admin.organizationId)).text());
    return { statements: gateway.statements.length - before, sessions: lines.at(-1)?.counts?.['session'] };
  };
  const recorded = await create();
  await append(gateway, admin.key, recorded, eventsOf(3));
  const few = await statementsOf();
  await Promise.all(Array.from({ length: 40 }, create));
  expect(await statementsOf()).toEqual({ statements: few.statements, sessions: 41 });
});
