import { randomUUID } from 'node:crypto';
import { readFileSync, globSync } from 'node:fs';
import { isObjectType } from 'graphql';
import { beforeAll, describe, expect, test } from 'vitest';
import { notFound } from '../../src/core/errors.ts';
import { schema } from '../../src/gateway/schema.ts';
import { type Callers, createCallers } from '../support/fixtures/api-keys.ts';
import { useTestGateway } from '../support/fixtures/gateway.ts';

/** What an error says in words, it also says in fields: in typed errors, in `extensions` and in `details`. */

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let keys: Callers;
beforeAll(async () => {
  keys = await createCallers(gateway);
});

const detailsOf = async (key: string, method: string, path: string, body?: object) =>
  (await gateway.rest<{ details?: unknown }>(method, path, { key, body })).body.details;

const DELETE_SESSION = `mutation($input: DeleteSessionInput!) { deleteSession(input: $input) {
  __typename ... on NotFoundError { type } ... on ForbiddenError { missing { scopes role subscription } } } }`;

describe('what the caller lacks', () => {
  test('scopes, all of one list', async () => {
    const scopes = [['sessions.write']];
    expect(await detailsOf(keys.scopeless, 'DELETE', `/v1/sessions/${randomUUID()}`)).toEqual({ missing: { scopes } });
    const input = { sessionId: randomUUID() };
    expect((await gateway.graphql(keys.scopeless, DELETE_SESSION, { input })).data).toEqual({
      deleteSession: { __typename: 'ForbiddenError', missing: { scopes, role: null, subscription: null } },
    });
    const { errors } = await gateway.graphql(keys.scopeless, `{ session(id: "${randomUUID()}") { id } }`);
    expect(errors?.[0]?.extensions).toMatchObject({ code: 'FORBIDDEN', missing: { scopes: [['sessions.read']] } });
  });

  test('one of several scopes', async () => {
    const query = '{ viewer { organization { auditLog { nodes { id } } } } }';
    const { errors } = await gateway.graphql(keys.scopeless, query);
    expect(errors?.[0]?.extensions).toMatchObject({
      missing: { scopes: [['audit_log.read'], ['organizations.write']] },
    });
  });

  test('a role', async () => {
    expect(await detailsOf(keys.member, 'GET', '/v1/webhooks')).toEqual({ missing: { scopes: [], role: 'admin' } });
    const { errors } = await gateway.graphql(keys.member, '{ viewer { organization { webhooks { nodes { id } } } } }');
    expect(errors?.[0]?.extensions).toMatchObject({ missing: { scopes: [], role: 'ADMIN' } });
    expect(await detailsOf(keys.viewer, 'POST', '/v1/sessions', { title: 'S' })).toEqual({
      missing: { scopes: [], role: 'member' },
    });
  });

  test('a subscription', async () => {
    const { errors } = await gateway.graphql(
      keys.unsubscribed,
      '{ viewer { organization { eventDefinitions { nodes { id } } } } }',
    );
    expect(errors?.[0]?.extensions).toMatchObject({ missing: { scopes: [], subscription: true } });
  });
});

test('the type of an object that is missing', async () => {
  const sessionId = randomUUID();
  expect(await detailsOf(keys.admin, 'GET', `/v1/sessions/${sessionId}`)).toEqual({ type: 'Session' });
  expect((await gateway.graphql(keys.admin, DELETE_SESSION, { input: { sessionId } })).data).toEqual({
    deleteSession: { __typename: 'NotFoundError', type: 'Session' },
  });
});

test('every type of a missing object is one of the schema', () => {
  const nouns = globSync('src/**/*.ts').flatMap((file) =>
    Array.from(readFileSync(file, 'utf8').matchAll(/\bnotFound\('([^']+)'\)/g), ([, noun = '']) => noun),
  );
  const types = new Set(nouns.flatMap((noun) => notFound(noun).type ?? []));
  expect(types).toContain('McpServer');
  expect([...types].filter((type) => !isObjectType(schema.getType(type)))).toEqual([]);
});

test('the maximum number that is reached', async () => {
  const create = () => detailsOf(keys.admin, 'POST', '/v1/webhooks', { url: 'https://example.com/hooks' });
  let created = 0;
  let details = await create();
  for (; details === undefined; details = await create()) created += 1;
  expect(details).toEqual({ limit: created });
});

test('why a remote server failed', async () => {
  const server = { name: 'Closed', serverUrl: 'http://127.0.0.1:9/mcp' };
  const details = { reason: 'UPSTREAM_UNREACHABLE' };
  expect(await detailsOf(keys.admin, 'POST', '/v1/mcp-connections', server)).toEqual(details);
  const { data } = await gateway.graphql(
    keys.admin,
    'mutation($input: CreateMcpServerInput!) { createMcpServer(input: $input) { ... on RemoteFailedError { reason } } }',
    { input: { remote: server } },
  );
  expect(data).toEqual({ createMcpServer: details });
});
