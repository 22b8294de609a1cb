import { beforeEach, describe, expect, test } from 'vitest';
import { endRights } from '../../support/fixtures/changes.ts';
import { type TestGateway, useTestGateway } from '../../support/fixtures/gateway.ts';
import { createSession } from '../../support/fixtures/sessions.ts';
import { sampled } from '../../support/sample.ts';

/** A stored answer is returned only to a caller who still has the right to the operation on that object. */

type Issued = Awaited<ReturnType<TestGateway['createKey']>>;

const gateway = useTestGateway();
let admin: Issued;
let caller: Issued;
beforeEach(async () => {
  admin = await gateway.createKey();
  caller = await gateway.createKey({ organization: admin.organization, role: 'admin' });
});

interface Sent {
  readonly status: number;
  readonly isReplayed: boolean;
  readonly text: string;
}

async function rest(method: string, path: string, body: object, { key } = caller): Promise<Sent> {
  const answer = await gateway.rest(method, path, {
    key,
    body,
    headers: { 'Idempotency-Key': 'k-1', 'X-Request-Id': 'r-1' },
  });
  return { status: answer.status, isReplayed: answer.headers.has('Idempotent-Replayed'), text: answer.text };
}

async function mutate(name: string, input: object, { key } = caller, fields = ''): Promise<Sent> {
  const type = `${name[0]?.toUpperCase()}${name.slice(1)}`;
  const payload = fields && `... on ${type}Payload { ${fields} }`;
  const query = `mutation($input: ${type}Input!) { ${name}(input: $input) { __typename ${payload} ... on Error { code message } } }`;
  return rest('POST', '/graphql', { query, variables: { input } }, { key } as Issued);
}

const demote = () => endRights(gateway, admin.key, 'demoted', caller);
const connection = { type: 'stdio', name: 'Shared', command: 'mcp' };

const changes: Readonly<
  Record<string, { readonly make: () => Promise<() => Promise<Sent>>; readonly refused: object }>
> = {
  'PATCH of a private session of somebody else': {
    make: async () => {
      const id = await createSession(gateway, admin.key);
      return () => rest('PATCH', `/v1/sessions/${id}`, { title: 'Mine' });
    },
    refused: { status: 404, text: expect.stringContaining('{"error":"session not found"') },
  },
  'updateSession of a private session of somebody else': {
    make: async () => {
      const sessionId = await createSession(gateway, admin.key);
      return () => mutate('updateSession', { sessionId, title: 'Mine' }, caller, 'session { description }');
    },
    refused: { text: expect.stringContaining('"__typename":"NotFoundError","code":"NOT_FOUND"') },
  },
  'PATCH of a public session of somebody else': {
    make: async () => {
      const id = await createSession(gateway, admin.key, { visibility: 'PUBLIC' });
      return () => rest('PATCH', `/v1/sessions/${id}`, { title: 'Mine' });
    },
    refused: {
      status: 403,
      text: expect.stringContaining('{"error":"only the creator of the session and administrators can change it"'),
    },
  },
  'PATCH of a shared MCP connection': {
    make: async () => {
      const made = await gateway.rest<{ connection: { id: string } }>('POST', '/v1/mcp-connections', {
        key: admin.key,
        body: connection,
      });
      return () => rest('PATCH', `/v1/mcp-connections/${made.body.connection.id}`, { name: 'Renamed' });
    },
    refused: {
      status: 403,
      text: expect.stringContaining(
        '{"error":"only an administrator of the organization can manage shared MCP connections"',
      ),
    },
  },
  'POST of a shared MCP connection': {
    make: async () => () => rest('POST', '/v1/mcp-connections', connection),
    refused: {
      status: 403,
      text: expect.stringContaining(
        '{"error":"only an administrator of the organization can manage shared MCP connections"',
      ),
    },
  },
  'renameApiKey of somebody else': {
    make: async () => () => mutate('renameApiKey', { apiKeyId: admin.keyId, name: 'Theirs' }),
    refused: { text: expect.stringContaining('"code":"NOT_FOUND"') },
  },
  updateOrganization: {
    make: async () => {
      const { organizationId } = admin;
      return () => mutate('updateOrganization', { organizationId, name: 'Ours' });
    },
    refused: { text: expect.stringContaining('"__typename":"ForbiddenError","code":"FORBIDDEN"') },
  },
  'createSession, whose payload may show what only administrators read': {
    make: async () => () => mutate('createSession', { title: 'New' }, caller, 'session { viewerCanUpdate }'),
    refused: { text: expect.stringContaining('as an administrator of the organization, which you no longer are') },
  },
};

describe('an administrator who was demoted gets the answer of a new request', () => {
  sampled(test, 5).each(Object.entries(changes))('%s', async (_, { make, refused }) => {
    const send = await make();
    const first = await send();
    const again = await send();
    expect([again.text, again.isReplayed]).toEqual([first.text, true]);
    await demote();
    expect(await send()).toMatchObject({ isReplayed: false, ...refused });
  });
});

test('a user who becomes an administrator again gets the stored answer', async () => {
  const id = await createSession(gateway, admin.key);
  const send = () => rest('PATCH', `/v1/sessions/${id}`, { title: 'Mine' });
  const first = await send();
  await demote();
  expect((await send()).status).toBe(404);
  const input = { userId: caller.userId, role: 'ADMIN' };
  await gateway.graphql(
    admin.key,
    'mutation($input: ChangeOrganizationMemberRoleInput!) { changeOrganizationMemberRole(input: $input) { __typename } }',
    { input },
  );
  expect(await send()).toEqual({ ...first, isReplayed: true });
});

test('the stored answer of a deletion is returned although the object no longer exists', async () => {
  const made = await gateway.rest<{ connection: { id: string } }>('POST', '/v1/mcp-connections', {
    key: caller.key,
    body: { ...connection, visibility: 'personal' },
  });
  const send = () => rest('DELETE', `/v1/mcp-connections/${made.body.connection.id}`, {});
  expect([(await send()).status, await send()]).toMatchObject([204, { status: 204, isReplayed: true }]);
});

test('a stored answer with an API key is not returned to a key of the same user that has fewer rights', async () => {
  const body = { name: 'CI', scopes: ['sessions.read'] };
  const created = await rest('POST', '/v1/api-keys', body);
  const other = await gateway.createKey({ email: caller.email, organization: caller.organization });
  expect(await rest('POST', '/v1/api-keys', body, other)).toEqual({ ...created, isReplayed: true });
  await gateway.dependencies.sql.query(`update api_key set expires_at = now() + interval '1 hour' where id = $1`, [
    other.keyId,
  ]);
  expect(await rest('POST', '/v1/api-keys', body, other)).toMatchObject({
    status: 403,
    isReplayed: false,
    text: expect.stringContaining(
      '{"error":"Idempotency-Key: the stored answer is an API key with more rights than the calling key"',
    ),
  });
});
