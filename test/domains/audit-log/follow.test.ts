import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession } from '../../support/fixtures/sessions.ts';

const gateway = useTestGateway();
const MINUTE_MS = 60_000;

interface Entry {
  readonly id: string;
  readonly operation: string;
  readonly targetId: string | null;
  readonly targetLabel: string | null;
  readonly actorLabel: string | null;
}
interface Page {
  readonly items: Entry[];
  readonly nextCursor: string;
}

async function read(key: string, query = ''): Promise<Page> {
  const { status, body, text } = await gateway.rest<Page>('GET', `/v1/audit-log${query}`, { key });
  if (status !== 200) throw new Error(text);
  return body;
}
const operations = ({ items }: Page) => items.map(({ operation }) => operation);
const query = (text: string, values: unknown[]) => gateway.dependencies.sql.query<{ id: string }>(text, values);

test('who follows the log gets each entry once, also one that was committed after later ones', async () => {
  const { key, organizationId, keyId } = await gateway.createKey();
  let { items, nextCursor } = await read(key);
  expect(items.map(({ operation }) => operation)).toContain('createApiKey');
  await createSession(gateway, key);
  const page = await read(key, `?cursor=${nextCursor}`);
  expect(operations(page)).toEqual(['createSession']);
  expect(await read(key, `?cursor=${page.nextCursor}`)).toEqual({ items: [], nextCursor: page.nextCursor });
  // Older than all others, but visible only now.
  await query(
    `insert into audit_entry (occurred_at, id, organization_id, source, key_id, operation, target_type, request_id)
     values (now() - interval '1 hour', $1, $2, 'request', $3, 'late', 'Session', 'r')`,
    [randomUUID(), organizationId, keyId],
  );
  await createSession(gateway, key);
  ({ items, nextCursor } = await read(key, `?cursor=${page.nextCursor}&limit=1`));
  expect(items.map(({ operation }) => operation)).toEqual(['late']);
  expect(operations(await read(key, `?cursor=${nextCursor}`))).toEqual(['createSession']);
});

test('the call of a tool is listed when it has ended, or after 15 minutes', async () => {
  const { key, organizationId, keyId } = await gateway.createKey();
  const { nextCursor } = await read(key);
  const [open, ended] = [randomUUID(), randomUUID()];
  for (const [id, call] of [
    [open, { toolName: 'a', sessionId: null }],
    [ended, { toolName: 'b', sessionId: null, outcome: 'OK', durationMs: 1, bytes: 2 }],
  ] as const)
    await query(
      `insert into audit_entry (occurred_at, id, organization_id, source, key_id, operation, target_type, request_id, tool_call)
       values (now(), $1, $2, 'request', $3, 'callMcpTool', 'McpServer', 'r', $4)`,
      [id, organizationId, keyId, JSON.stringify(call)],
    );
  const page = await read(key, `?cursor=${nextCursor}`);
  expect(page.items.map(({ id }) => id)).toEqual([ended]);
  gateway.setClock(new Date(Date.now() + 16 * MINUTE_MS));
  expect((await read(key, `?cursor=${page.nextCursor}`)).items.map(({ id }) => id)).toEqual([open]);
  gateway.setClock(undefined);
});

test('operations and times choose entries; a day is one of UTC; the cursor passes the others', async () => {
  const { key } = await gateway.createKey();
  await createSession(gateway, key);
  const today = new Date().toISOString().slice(0, 10);
  const all = await read(key);
  const some = await read(key, '?operations=createSession,deleteSession');
  expect(operations(some)).toEqual(['createSession']);
  expect(some.nextCursor).toBe(all.nextCursor);
  const tomorrow = new Date(Date.now() + 24 * 60 * MINUTE_MS).toISOString();
  expect((await read(key, `?from=${today}&before=${tomorrow}`)).items).toEqual(all.items);
  expect((await read(key, `?before=${today}`)).items).toEqual([]);
  const { status, body } = await gateway.rest('GET', '/v1/audit-log?from=yesterday', { key });
  expect([status, JSON.stringify(body)]).toEqual([400, expect.stringContaining('from')]);
});

test('the whole range is a file, in parts of pages, and the log says who took it', async () => {
  const { key, email } = await gateway.createKey();
  for (let each = 0; each < 3; each += 1) await createSession(gateway, key);
  const { items } = await read(key);
  const headers = { Authorization: `Bearer ${key}`, Accept: 'application/x-ndjson, application/json;q=0.5' };
  const response = await gateway.fetch('/v1/audit-log?operations=createSession', { headers });
  expect(response.headers.get('Content-Type')).toBe('application/x-ndjson; charset=utf-8');
  const lines = (await response.text()).trimEnd().split('\n');
  expect(lines.map((line) => JSON.parse(line) as Entry)).toEqual(
    items.filter((each) => each.operation === 'createSession'),
  );
  expect((await read(key)).items.at(-1)).toMatchObject({ operation: 'exportAuditLog', actorLabel: email });
});

test('the scope is for administrators: with it alone the log is read with its names, without it only in GraphQL', async () => {
  const { key, organization, email } = await gateway.createKey();
  const member = await gateway.createKey({ organization, role: 'member' });
  const keyOf = (scopes: ('audit_log.read' | 'organizations.write')[], given = { organization, email }) =>
    gateway.createKey({ ...given, scopes });
  const reader = await keyOf(['audit_log.read']);
  const { items } = await read(reader.key);
  expect(items.filter(({ targetLabel }) => targetLabel?.includes('wgk_')).length).toBe(3);
  const LOG = '{ viewer { organization { auditLog { nodes { targetLabel } } } } }';
  expect((await gateway.graphql(reader.key, LOG)).errors).toBeUndefined();
  const writer = await keyOf(['organizations.write']);
  expect((await gateway.graphql(writer.key, LOG)).errors).toBeUndefined();
  const ofMember = await keyOf(['audit_log.read'], { organization, email: member.email });
  for (const refused of [writer, member, ofMember])
    expect((await gateway.rest('GET', '/v1/audit-log', { key: refused.key })).status).toBe(403);
  const given = { name: 'x', scopes: ['audit_log.read'] };
  expect((await gateway.rest('POST', '/v1/api-keys', { key: member.key, body: given })).status).toBe(403);
  const accounts = await Promise.all(
    ['member', 'admin'].map((role) =>
      gateway.rest<{ id: string }>('POST', '/v1/service-accounts', { key, body: { name: role, role } }),
    ),
  );
  const statuses = accounts.map(
    async ({ body: { id } }) =>
      (await gateway.rest('POST', `/v1/service-accounts/${id}/api-keys`, { key, body: given })).status,
  );
  expect(await Promise.all(statuses)).toEqual([403, 201]);
});
