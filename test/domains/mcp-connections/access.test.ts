import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { CONNECTION_FIELDS, STDIO, createConnection, toGraphQLInput } from '../../support/fixtures/mcp-connections.ts';
import { mutate as mutateAs } from '../../support/fixtures/sessions.ts';
import { type Peer, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';

const gateway = useOwnGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let peer: Peer;
let organization: string;
let admin: string;
let member: string;
let otherMember: string;
let stranger: string;
beforeAll(async () => {
  peer = await startPeer(mcpHandler());
  const first = await gateway.createKey();
  organization = first.organization;
  admin = first.key;
  member = (await gateway.createKey({ organization, role: 'member' })).key;
  otherMember = (await gateway.createKey({ organization, role: 'member' })).key;
  stranger = (await gateway.createKey()).key;
});
afterAll(() => peer.stop());
beforeEach(async () => {
  peer.handler = mcpHandler();
  await gateway.dependencies.sql.query('delete from mcp_connection', []);
  await gateway.dependencies.sql.query('delete from secret', []);
});

const create = (key: string, body: unknown) => createConnection(gateway, key, body);
const mutate = (key: string, name: string, input: object, payload = `mcpServer { ${CONNECTION_FIELDS} }`) =>
  mutateAs<Record<string, unknown>>(gateway, key, name, input, payload);

describe('names', () => {
  test('are unique among shared connections and among the personal connections of a user; no server is contacted for a name that is taken', async () => {
    const taken = {
      status: 409,
      body: { error: 'name: local already exists as the name of another MCP connection; choose another name' },
    };
    expect((await create(admin, STDIO)).status).toBe(201);
    expect(await create(admin, STDIO)).toMatchObject(taken);
    expect((await create(admin, { ...STDIO, visibility: 'personal' })).status).toBe(201);
    expect((await create(member, { ...STDIO, visibility: 'personal' })).status).toBe(201);
    expect(await create(member, { ...STDIO, visibility: 'personal' })).toMatchObject(taken);
    expect((await create(stranger, STDIO)).status).toBe(201);
    const before = peer.requests.length;
    expect(await create(admin, { name: 'local', serverUrl: `${peer.origin}/mcp` })).toMatchObject(taken);
    expect(peer.requests.length).toBe(before);
    expect(await mutate(admin, 'createMcpServer', toGraphQLInput(STDIO))).toEqual({
      __typename: 'ConflictError',
      message: `stdio.${taken.body.error}`,
      code: 'CONFLICT',
      path: ['stdio', 'name'],
    });
  });

  test('of 20 concurrent creations with one name, one succeeds, and the others leave no rows', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        create(admin, index % 2 ? STDIO : { name: 'local', serverUrl: `${peer.origin}/mcp` }),
      ),
    );
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([
      201,
      ...Array<number>(19).fill(409),
    ]);
    expect(await gateway.dependencies.sql.query('select 1 as one from mcp_connection', [])).toHaveLength(1);
    expect(
      await gateway.dependencies.sql.query(
        'select 1 from secret s where not exists (select 1 from mcp_connection c where c.id = s.owner_id)',
        [],
      ),
    ).toEqual([]);
  });
});

describe('permissions', () => {
  test('a member can read shared connections, but creating or changing them is 403', async () => {
    const error = 'only an administrator of the organization can manage shared MCP connections';
    expect(await create(member, STDIO)).toMatchObject({ status: 403, body: { error } });
    const { id } = (await create(admin, STDIO)).body.connection;
    expect(await gateway.rest('POST', `/v1/mcp-connections/${id}/authorize`, { key: member })).toMatchObject({
      status: 403,
      body: { error },
    });
    for (const name of ['authorizeMcpServer', 'deleteMcpServer', 'updateMcpServer']) {
      expect(await mutate(member, name, { mcpServerId: id }, '__typename')).toEqual({
        __typename: 'ForbiddenError',
        message: error,
        code: 'FORBIDDEN',
        path: null,
      });
    }
    expect(await names(member)).toEqual(['local']);
  });

  test("a member's personal connection is the same 404 as a missing one for everybody else, even for admins", async () => {
    const { id } = (await create(member, { ...STDIO, visibility: 'personal' })).body.connection;
    const missing = '00000000-0000-4000-8000-000000000000';
    for (const key of [admin, otherMember, stranger]) {
      for (const one of [id, missing]) {
        const rest = await gateway.rest('POST', `/v1/mcp-connections/${one}/authorize`, { key });
        expect({ status: rest.status, text: rest.text }).toEqual({
          status: 404,
          text: '{"error":"MCP connection not found","details":{"type":"McpServer"}}',
        });
        for (const name of ['authorizeMcpServer', 'deleteMcpServer', 'updateMcpServer', 'testMcpServer']) {
          expect(await mutate(key, name, { mcpServerId: one }, '__typename')).toEqual({
            __typename: 'NotFoundError',
            message: 'MCP connection not found',
            code: 'NOT_FOUND',
            path: null,
          });
        }
        const node = await gateway.graphql<{ node: unknown }>(
          key,
          `{ node(id: "${Buffer.from(`McpServer:${one}`).toString('base64')}") { id } }`,
        );
        expect(node.data?.node).toBeNull();
      }
      expect(await names(key)).toEqual([]);
    }
    expect(await names(member)).toEqual(['local']);
    expect(
      (
        await mutate(member, 'updateMcpServer', {
          mcpServerId: id,
          name: 'renamed',
          env: [
            { name: 'TOKEN', value: null },
            { name: 'NEW', value: 'v' },
          ],
        })
      )['mcpServer'],
    ).toMatchObject({ name: 'renamed', envKeys: ['PATH_EXTRA', 'NEW'] });
    expect((await mutate(member, 'deleteMcpServer', { mcpServerId: id }, 'deletedId')).__typename).toBe(
      'DeleteMcpServerPayload',
    );
    expect(await gateway.dependencies.sql.query('select 1 from secret where owner_id = $1', [id])).toEqual([]);
  });

  test('403 for creating without mcp_connections.write, and for listing without mcp_connections.read', async () => {
    const reader = (await gateway.createKey({ organization, role: 'admin', scopes: ['mcp_connections.read'] })).key;
    expect(await create(reader, STDIO)).toMatchObject({
      status: 403,
      body: { error: 'the API key lacks the scope mcp_connections.write' },
    });
    const writer = (await gateway.createKey({ organization, role: 'admin', scopes: ['mcp_connections.write'] })).key;
    const answer = await gateway.graphql(writer, '{ viewer { organization { mcpServers { nodes { name } } } } }');
    expect(answer.errors).toMatchObject([
      { message: 'the API key lacks the scope mcp_connections.read', extensions: { code: 'FORBIDDEN' } },
    ]);
  });

  test('a malformed id is 400; fields of another kind of connection are 400', async () => {
    expect(await gateway.rest('POST', '/v1/mcp-connections/nonsense/authorize', { key: admin })).toMatchObject({
      status: 400,
      body: { error: 'mcpConnectionId: must be a UUID' },
    });
    for (const mutation of ['authorizeMcpServer', 'testMcpServer', 'updateMcpServer'])
      expect(await mutate(admin, mutation, { mcpServerId: 'x' })).toMatchObject({
        __typename: 'ValidationError',
        message: 'mcpServerId: must be an id of the type McpServer',
        path: ['mcpServerId'],
      });
    const { id } = (await create(admin, STDIO)).body.connection;
    expect(await mutate(admin, 'updateMcpServer', { mcpServerId: id, serverUrl: 'https://example.com' })).toMatchObject(
      { __typename: 'ValidationError', message: 'serverUrl: must not be given for a stdio connection' },
    );
  });
});

async function names(key: string): Promise<string[]> {
  const answer = await gateway.graphql<{ viewer: { organization: { mcpServers: { nodes: { name: string }[] } } } }>(
    key,
    '{ viewer { organization { mcpServers { nodes { name } } } } }',
  );
  return answer.data?.viewer.organization.mcpServers.nodes.map(({ name }) => name) ?? [];
}

test('the list can be paged forward and backward by name, with a number of statements that does not depend on the length of the page', async () => {
  for (const name of ['b', 'a', 'd', 'c', 'e']) await create(admin, { ...STDIO, name });
  const query = `query ($first: Int, $after: String, $last: Int, $before: String) { viewer { organization { mcpServers(first: $first, after: $after, last: $last, before: $before, filter: { types: [STDIO], visibilities: [SHARED] }) {
    totalCount pageInfo { hasNextPage hasPreviousPage startCursor endCursor } nodes { name envKeys status } } } } }`;
  interface Page {
    viewer: {
      organization: {
        mcpServers: {
          totalCount: number;
          pageInfo: { endCursor: string; startCursor: string; hasNextPage: boolean };
          nodes: { name: string }[];
        };
      };
    };
  }
  const read = async (variables: Record<string, unknown>) => {
    gateway.statements.length = 0;
    const page = (await gateway.graphql<Page>(admin, query, variables)).data?.viewer.organization.mcpServers;
    return { page, sent: gateway.statements.length };
  };
  const { page: first } = await read({ first: 2 });
  const after = first?.pageInfo.endCursor;
  const { page: second, sent: ofThree } = await read({ first: 3, after });
  const { sent: ofOne } = await read({ first: 1, after });
  const { page: back } = await read({ last: 2, before: second?.pageInfo.startCursor });
  expect([first, second, back].map((page) => page?.nodes.map(({ name }) => name).join(''))).toEqual([
    'ab',
    'cde',
    'ab',
  ]);
  expect({ total: first?.totalCount, more: second?.pageInfo.hasNextPage }).toEqual({ total: 5, more: false });
  expect(ofThree).toBe(ofOne);
  expect(ofOne).toBeLessThanOrEqual(5);
});
