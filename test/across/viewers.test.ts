import { getNamedType, isLeafType, isNonNullType, isObjectType } from 'graphql';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SCOPES_OF_PEOPLE } from '../../src/core/access.ts';
import { isKeyless, isWrite } from '../../src/core/http/route.ts';
import { routes } from '../../src/gateway/modules.ts';
import { schema } from '../../src/gateway/schema.ts';
import { send } from '../support/fixtures/second-gateway.ts';
import { createServiceAccountKey } from '../support/fixtures/service-accounts.ts';
import { createSession, mutate } from '../support/fixtures/sessions.ts';
import { MUTATION_CASES, ROUTE_CASES, restRequestOf } from '../support/operations/cases.ts';
import type { Caller, Recorded } from '../support/operations/recorded-organization.ts';
import { type WriteWorkspace, payloadOf, startWriteWorkspace } from '../support/operations/write-workspace.ts';
import { sampled } from '../support/sample.ts';

/** Every operation of both APIs with the key of a viewer that has all scopes: what reads answers as for a member, and what changes is refused. */

/** What a viewer can do: it is about the caller, or changes another organization. */
const OWN = new Set([
  'acceptOrganizationInvitation',
  'cancelUserDeletion',
  'createApiKey',
  'deleteUser',
  'leaveOrganization',
  'renameApiKey',
  'revokeApiKey',
  'revokeConnectedApp',
  'updateViewer',
]);

let workspace: WriteWorkspace;
const callers = new Map<string, Caller>();
let member: string;
beforeAll(async () => {
  workspace = await startWriteWorkspace();
  member = (await workspace.gateway.createKey({ organization: workspace.kept.slug, role: 'member' })).key;
});
afterAll(() => workspace.stop());

const createViewer = (organization: string) =>
  workspace.gateway.createKey({ organization, role: 'viewer', scopes: SCOPES_OF_PEOPLE });

async function viewerOf(to: Recorded): Promise<Caller> {
  const caller = callers.get(to.organizationId) ?? (await createViewer(to.slug));
  callers.set(to.organizationId, caller);
  return caller;
}

const changes = MUTATION_CASES.filter(([name]) => !OWN.has(name));
sampled(test, 15).each(changes)('mutation %s is refused', async (name, write) => {
  const { key } = await viewerOf(workspace.kept);
  const { data, errors } = await workspace.gateway.graphql<Record<string, object>>(
    key,
    `mutation($input: ${payloadOf(name).replace(/Payload$/, 'Input')}!) { ${name}(input: $input) { __typename } }`,
    { input: write.input(workspace.kept) },
  );
  expect([data?.[name], errors]).toEqual([{ __typename: 'ForbiddenError' }, undefined]);
});

const writes = ROUTE_CASES.filter(([name, , route]) => !OWN.has(name) && !isKeyless(route));
sampled(test, 15).each(writes)('REST %s is refused', async (_, _write, route) => {
  const { key } = await viewerOf(workspace.kept);
  const { path, body } = restRequestOf(route, workspace.kept);
  const headers = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' };
  const sent = { key, headers, ...(body && { body: JSON.stringify(body) }) };
  expect((await send(workspace.gateway, route.method, path, sent)).status).toBe(403);
});

const QUERY_STRINGS: Readonly<Record<string, string>> = {
  searchSessions: '?text=kept',
  readUsageReport: '?from=2026-01-01&until=2026-12-31&groupBy=DAY',
};
const reads = routes.filter((route) => !isWrite(route) && !isKeyless(route));
sampled(test, 10).each(reads.map((route) => [route.operationId, route] as const))(
  'REST %s answers as for a member',
  async (name, route) => {
    const { path } = restRequestOf(route, workspace.kept);
    const ask = async (key: string) =>
      (await send(workspace.gateway, route.method, `${path}${QUERY_STRINGS[name] ?? ''}`, { key })).status;
    const { key } = await viewerOf(workspace.kept);
    const calls = route.access !== 'keyless' && route.access.scopes.includes('mcp_connections.use');
    expect(await ask(key)).toBe(calls ? 403 : await ask(member));
  },
);

describe('fields answer as for a member', () => {
  const selected = (name: string) => {
    const type = schema.getType(name);
    return Object.values(isObjectType(type) ? type.getFields() : {})
      .filter(({ args }) => !args.some(({ type: given }) => isNonNullType(given)))
      .map((field) => [field.name, isLeafType(getNamedType(field.type)) ? '' : ' { __typename }'] as const);
  };
  const errorsOf = async (document: string, key: string) =>
    ((await workspace.gateway.graphql(key, document)).errors ?? []).map(({ message }) => message);

  sampled(test, 4).each(selected('Viewer'))('Viewer.%s', async (name, below) => {
    const document = `{ viewer { ${name}${below} } }`;
    const expected = await errorsOf(document, member);
    expect(await errorsOf(document, (await viewerOf(workspace.kept)).key)).toEqual(expected);
  });

  // Viewers call no tools, so that none is approved for them.
  const ofOrganization = selected('Organization').filter(([name]) => name !== 'toolApprovals');
  sampled(test, 8).each(ofOrganization)('Organization.%s', async (name, below) => {
    const document = `{ viewer { organization { ${name}${below} } } }`;
    // The reason can be another one, such as the scope that the role does not have.
    const expected = await errorsOf(document, member);
    expect(await errorsOf(document, (await viewerOf(workspace.kept)).key)).toHaveLength(expected.length);
  });
});

test('a viewer has bound keys and apps with scopes that read, a profile, and leaves', async () => {
  const { gateway, kept } = workspace;
  const { key } = await createViewer(kept.slug);
  const create = async (input: object) =>
    mutate<{ key: string; apiKey: { id: string } }>(gateway, key, 'createApiKey', input, 'key apiKey { id }');
  const refused = [
    { name: 'a', scopes: ['SESSIONS_READ', 'SESSIONS_RECORD'] },
    { name: 'b', scopes: ['API_KEYS_WRITE'] },
    { name: 'c', scopes: ['SESSIONS_READ'], allOrganizations: true },
  ];
  // A bound key creates no unbound one anyway.
  for (const input of refused) expect((await create(input)).__typename).toBe('ForbiddenError');
  const { apiKey } = await create({ name: 'd', scopes: ['SESSIONS_READ', 'API_KEYS_READ'] });
  const id = apiKey.id;
  const renamed = await mutate(gateway, key, 'renameApiKey', { apiKeyId: id, name: 'e' });
  const revoked = await mutate(gateway, key, 'revokeApiKey', { apiKeyId: id });
  const named = await mutate(gateway, key, 'updateViewer', { name: 'Vera' });
  expect([renamed.__typename, revoked.__typename, named.__typename]).toEqual([
    'RenameApiKeyPayload',
    'RevokeApiKeyPayload',
    'UpdateViewerPayload',
  ]);
  const left = await mutate(gateway, key, 'leaveOrganization', {});
  expect(left.__typename).toBe('LeaveOrganizationPayload');
});

test('a person who becomes a viewer records nothing more, with an unbound key neither, and their service accounts alike', async () => {
  const { gateway, kept } = workspace;
  const admin = kept.callers.admin.key;
  const person = await gateway.createKey({ organization: kept.slug, role: 'member' });
  const sessionId = await createSession(gateway, person.key, { visibility: 'PUBLIC' });
  const change = (role: string) =>
    mutate(gateway, admin, 'changeOrganizationMemberRole', { userId: person.userId, role }, 'member { role }');
  expect(await change('VIEWER')).toMatchObject({ member: { role: 'VIEWER' } });
  const path = `/v1/sessions/${sessionId}`;
  const triedWith = async (key: string) => [
    (await gateway.rest('POST', `${path}/events`, { key, body: { events: [{ type: 'x', data: {} }] } })).status,
    (await gateway.rest('GET', path, { key })).status,
  ];
  expect(await triedWith(person.key)).toEqual([403, 200]);
  const program = await createServiceAccountKey(gateway, admin, { role: 'viewer', scopes: ['sessions.read'] });
  expect(await triedWith(program.key)).toEqual([403, 200]);
});

test('the role is not given while a process of an earlier version is running', async () => {
  const { gateway, kept } = workspace;
  const admin = kept.callers.admin.key;
  const older = new pg.Client({ connectionString: gateway.databaseUrl, application_name: 'gateway listener' });
  await gateway.dependencies.sql.query('delete from finished_version', []);
  await older.connect();
  const email = 'later@example.com';
  const invited = await mutate(gateway, admin, 'inviteOrganizationMember', { email, role: 'VIEWER' });
  await older.end();
  await gateway.dependencies.sql.query(
    `insert into finished_version (version, finished_at) values ('1.1.0', now()) on conflict do nothing`,
    [],
  );
  await expect.poll(() => gateway.dependencies.hasOlderProcess('1.1.0')).toBe(false);
  const again = await mutate(gateway, admin, 'inviteOrganizationMember', { email, role: 'VIEWER' });
  expect([invited.__typename, again.__typename]).toEqual(['ConflictError', 'InviteOrganizationMemberPayload']);
});
