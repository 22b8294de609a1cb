import { isLeafType, getNamedType, isNonNullType, isObjectType } from 'graphql';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SCOPES } from '../../src/core/access.ts';
import { isKeyless, isWrite } from '../../src/core/http/route.ts';
import { routes } from '../../src/gateway/modules.ts';
import { schema } from '../../src/gateway/schema.ts';
import { createServiceAccountKey } from '../support/fixtures/service-accounts.ts';
import { send } from '../support/fixtures/second-gateway.ts';
import { MUTATION_CASES, ROUTE_CASES, missingCases, restRequestOf } from '../support/operations/cases.ts';
import type { Caller, Recorded } from '../support/operations/recorded-organization.ts';
import { selectionsOf } from '../support/operations/references.ts';
import {
  type WriteWorkspace,
  callerOf,
  mutate,
  payloadOf,
  request,
  startWriteWorkspace,
} from '../support/operations/write-workspace.ts';
import { sampled } from '../support/sample.ts';

/** Every operation of both APIs with the key of a service account that is an administrator and has all scopes. */

/** What only people can do. All other operations succeed. */
const ONLY_PEOPLE = new Set([
  'acceptOrganizationInvitation',
  'cancelUserDeletion',
  'createOrganization',
  'decideToolApproval',
  'deleteUser',
  'leaveOrganization',
  'readViewer',
  'revokeConnectedApp',
  'updateViewer',
]);
const REFUSED = 'only people can do this, and the API key is of a service account';

let workspace: WriteWorkspace;
const callers = new Map<string, Caller>();
beforeAll(async () => {
  workspace = await startWriteWorkspace();
});
afterAll(() => workspace.stop());

/** The same objects, whose callers are all a service account of their organization. */
async function asServiceAccount(to: Recorded): Promise<Recorded> {
  const known = callers.get(to.organizationId);
  const { id, ...made } = known
    ? { ...known, id: known.userId }
    : await createServiceAccountKey(workspace.gateway, to.callers.admin.key, { role: 'admin', scopes: SCOPES });
  const caller = { key: made.key, keyId: made.keyId, userId: id, organizationId: to.organizationId };
  callers.set(to.organizationId, caller);
  return { ...to, callers: { admin: caller, member: caller, guest: caller, deletedUser: caller } };
}

test('every operation has a case', () => {
  expect(missingCases()).toBe('');
});

sampled(test, 12).each(MUTATION_CASES)('mutation %s', async (name, write) => {
  const to = await asServiceAccount(await workspace.objectsFor(name, write));
  if (!ONLY_PEOPLE.has(name)) return void (await mutate(workspace.gateway, [name, write], to));
  const { data } = await workspace.gateway.graphql<Record<string, object>>(
    callerOf(write, to).key,
    `mutation($input: ${payloadOf(name).replace(/Payload$/, 'Input')}!) { ${name}(input: $input) { __typename ... on Error { message } } }`,
    { input: write.input(to) },
  );
  return expect(data?.[name]).toEqual({ __typename: 'ForbiddenError', message: REFUSED });
});

const keyed = ROUTE_CASES.filter(([, , route]) => !isKeyless(route));
sampled(test, 10).each(keyed)('REST %s', async (name, write, route) => {
  const to = await asServiceAccount(await workspace.objectsFor(name, write));
  if (!ONLY_PEOPLE.has(name)) return void (await request(workspace.gateway, [write, route], to));
  const { path, body } = restRequestOf(route, to);
  const { key } = callerOf(write, to);
  const { status, body: answer } = await workspace.gateway.rest(route.method, path, { key, ...(body && { body }) });
  return expect([status, answer]).toEqual([403, { error: REFUSED }]);
});

const READS = routes.filter((route) => !isWrite(route) && !isKeyless(route));
/** A GET without a session of the protocol. */
const OTHER_STATUSES: Readonly<Record<string, number>> = { openMcpStream: 405 };
const QUERY_STRINGS: Readonly<Record<string, string>> = {
  searchSessions: '?text=kept',
  readUsageReport: '?from=2026-01-01&until=2026-12-31&groupBy=DAY',
};

sampled(test, 8).each(READS.map((route) => [route.operationId, route] as const))('REST %s', async (name, route) => {
  const to = await asServiceAccount(workspace.kept);
  const { path } = restRequestOf(route, to);
  const { key } = to.callers.admin;
  const answer = await send(workspace.gateway, route.method, `${path}${QUERY_STRINGS[name] ?? ''}`, { key });
  expect([answer.status, answer.text]).toEqual([
    ONLY_PEOPLE.has(name) ? 403 : (OTHER_STATUSES[name] ?? 200),
    answer.text,
  ]);
});

describe('queries', () => {
  const ask = async (document: string) => {
    const { key } = (await asServiceAccount(workspace.kept)).callers.admin;
    const { data, errors = [] } = await workspace.gateway.graphql<Record<string, unknown>>(key, `{ ${document} }`);
    return { data, errors: errors.map(({ message }) => message) };
  };
  const fields = (name: string) => {
    const type = schema.getType(name);
    return isObjectType(type) ? Object.values(type.getFields()) : [];
  };
  const selected = (name: string) =>
    fields(name)
      .filter(({ args }) => !args.some(({ type }) => isNonNullType(type)))
      .map((field) => [field.name, isLeafType(getNamedType(field.type)) ? '' : ' { __typename }'] as const);

  sampled(test, 4).each(fields('Query').map((field) => [field.name, field] as const))('%s', async (name, field) => {
    const [document = `${name} ${isLeafType(getNamedType(field.type)) ? '' : '{ __typename }'}`] = selectionsOf(
      field,
      workspace.kept,
    );
    if (field.args.some(({ type }) => isNonNullType(type)) && selectionsOf(field, workspace.kept).length === 0) return;
    expect((await ask(document)).errors).toEqual([]);
  });

  sampled(test, 4).each(selected('Viewer'))('Viewer.%s', async (name, below) => {
    const { errors } = await ask(`viewer { ${name}${below} }`);
    expect(errors).toEqual(name === 'invitations' ? [REFUSED] : []);
  });

  // The text has two names, of which one must be given.
  const ofOrganization = selected('Organization').filter(([name]) => name !== 'sessionSearch');
  sampled(test, 8).each(ofOrganization)('Organization.%s', async (name, below) => {
    expect((await ask(`viewer { organization { ${name}${below} } }`)).errors).toEqual([]);
  });
});
