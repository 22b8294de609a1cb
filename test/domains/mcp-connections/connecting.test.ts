import { type ChildProcess, spawn } from 'node:child_process';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { readFile, readdir } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import {
  CONNECTION_FIELDS,
  type ConnectionAnswer,
  STDIO,
  createConnection,
  toGraphQLInput,
} from '../../support/fixtures/mcp-connections.ts';
import { mutate as mutateAs } from '../../support/fixtures/sessions.ts';
import { type Peer, legacyMcpHandler, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';

const gateway = useOwnGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let peer: Peer;
let admin: string;
beforeAll(async () => {
  peer = await startPeer(mcpHandler());
  admin = (await gateway.createKey()).key;
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

describe('stdio', () => {
  test('a stdio connection is stored and returned with the thirteen documented fields, on both APIs', async () => {
    const rest = await create(admin, STDIO);
    const expected = {
      id: expect.any(String),
      name: 'local',
      type: 'stdio',
      visibility: 'shared',
      serverUrl: null,
      connectedAt: null,
      args: ['-y', 'server'],
      authType: null,
      command: 'npx',
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: expect.any(String),
      envKeys: ['TOKEN', 'PATH_EXTRA'],
      headerKeys: [],
    };
    expect({ status: rest.status, body: rest.body }).toEqual({
      status: 201,
      body: { authorizationUrl: null, connection: expected },
    });
    expect(Object.keys(rest.body.connection)).toHaveLength(13);
    const graphql = await mutate(
      admin,
      'createMcpServer',
      toGraphQLInput({ ...STDIO, name: 'second' }),
      `authorizationUrl mcpServer { ${CONNECTION_FIELDS} }`,
    );
    const { id: _, ...common } = expected;
    expect(graphql).toEqual({
      __typename: 'CreateMcpServerPayload',
      authorizationUrl: null,
      mcpServer: {
        ...common,
        databaseId: expect.any(String),
        name: 'second',
        type: 'STDIO',
        visibility: 'SHARED',
        status: 'STORED',
        statusReason: null,
        nextAction: 'NONE',
      },
    });
  });

  test('no process is ever started: the source has no code for it, and the command of a connection is not run', async () => {
    const files = (await readdir('src', { recursive: true })).filter(
      // The recorder starts agents, on the machine of its user.
      (file) => file.endsWith('.ts') && !file.includes('postgres/embedded') && !file.startsWith('recorder/'),
    );
    expect(files.length).toBeGreaterThan(50);
    for (const file of files) {
      const text = await readFile(`src/${file}`, 'utf8');
      expect({
        file,
        starts: /child_process|worker_threads|client\/stdio|StdioClientTransport|process\.binding/.test(text),
      }).toEqual({ file, starts: false });
    }
    // Node reports every process that this process starts without waiting for its end.
    const started: ChildProcess[] = [];
    const onStart = (message: unknown) => started.push((message as { process: ChildProcess }).process);
    subscribe('child_process', onStart);
    const created = await create(admin, { type: 'stdio', name: 'tracer', command: 'false' });
    const { id } = created.body.connection;
    const authorize = await gateway.rest('POST', `/v1/mcp-connections/${id}/authorize`, { key: admin });
    expect({ status: authorize.status, body: authorize.body }).toEqual({
      status: 409,
      body: { error: 'a stdio connection is only stored and cannot be authorized' },
    });
    expect(await mutate(admin, 'authorizeMcpServer', { mcpServerId: id })).toMatchObject({
      __typename: 'ConflictError',
      message: 'a stdio connection is only stored and cannot be authorized',
    });
    expect((await mutate(admin, 'testMcpServer', { mcpServerId: id })).__typename).toBe('ConflictError');
    await once(spawn('true'), 'exit');
    unsubscribe('child_process', onStart);
    expect(started.map(({ spawnfile }) => spawnfile)).toEqual(['true']);
  });
});

describe('remote', () => {
  test.each([
    ['both protocol generations', mcpHandler()],
    ['only the newer protocol generation', mcpHandler({ legacy: 'reject' })],
    ['only the older protocol generation', legacyMcpHandler()],
  ])('a server without authorization that supports %s is connected immediately', async (_, handler) => {
    peer.handler = handler;
    const rest = await create(admin, { name: 'open', serverUrl: `${peer.origin}/mcp` });
    expect({ status: rest.status, body: rest.body }).toEqual({
      status: 201,
      body: {
        authorizationUrl: null,
        connection: {
          id: expect.any(String),
          name: 'open',
          type: 'remote',
          visibility: 'shared',
          serverUrl: `${peer.origin}/mcp`,
          connectedAt: expect.stringMatching(/Z$/),
          args: null,
          authType: 'oauth',
          command: null,
          createdAt: expect.any(String),
          updatedAt: expect.any(String),
          envKeys: [],
          headerKeys: [],
        },
      },
    });
    const graphql = await mutate(
      admin,
      'createMcpServer',
      toGraphQLInput({ name: 'open too', serverUrl: `${peer.origin}/mcp` }),
      'authorizationUrl mcpServer { status tools { name } }',
    );
    expect(graphql).toEqual({
      __typename: 'CreateMcpServerPayload',
      authorizationUrl: null,
      mcpServer: { status: 'CONNECTED', tools: [{ name: 'add' }, { name: 'now' }] },
    });
  });

  test('static headers are sent with each request, and headers that the server refuses are 502', async () => {
    const serve = mcpHandler();
    peer.handler = (request, response) => {
      if (request.headers['x-team-key'] !== 'team-secret') {
        response.writeHead(401).end();
        return;
      }
      serve(request, response);
    };
    const body = {
      name: 'headed',
      serverUrl: `${peer.origin}/mcp`,
      authType: 'static_headers',
      headers: { 'X-Team-Key': 'team-secret', 'X-Other': 'x' },
    };
    const created = await create(admin, body);
    expect({ status: created.status, headerKeys: created.body.connection['headerKeys'] }).toEqual({
      status: 201,
      headerKeys: ['X-Team-Key', 'X-Other'],
    });
    expect(await mutate(admin, 'testMcpServer', { mcpServerId: created.body.connection.id }, 'info { name }')).toEqual({
      __typename: 'TestMcpServerPayload',
      info: { name: 'fixture' },
    });
    const refused = { ...body, name: 'wrong', headers: { 'X-Team-Key': 'no' } };
    const error = 'the MCP server does not accept the headers (HTTP 401); change them';
    expect(await create(admin, refused)).toMatchObject({ status: 502, body: { error } });
    expect(await mutate(admin, 'createMcpServer', toGraphQLInput(refused))).toEqual({
      __typename: 'RemoteFailedError',
      message: error,
      code: 'REMOTE_FAILED',
      path: null,
    });
    // Headers are merged by name, which ignores case; null removes a header.
    const updated = await mutate(admin, 'updateMcpServer', {
      mcpServerId: created.body.connection.id,
      headers: [
        { name: 'x-team-key', value: 'changed' },
        { name: 'X-Other', value: null },
        { name: 'X-New', value: 'n' },
      ],
    });
    expect(updated['mcpServer']).toMatchObject({
      headerKeys: ['x-team-key', 'X-New'],
      status: 'AUTHORIZATION_REQUIRED',
      connectedAt: null,
    });
    const failed = await mutate(admin, 'testMcpServer', { mcpServerId: created.body.connection.id });
    expect(failed.__typename).toBe('RemoteFailedError');
    const node = await gateway.graphql<{ node: unknown }>(
      admin,
      `{ node(id: "${Buffer.from(`McpServer:${created.body.connection.id}`).toString('base64')}") { ... on McpServer { status nextAction } } }`,
    );
    expect(node.data?.node).toEqual({ status: 'MISCONFIGURED', nextAction: 'UPDATE' });
  });

  test('static headers can be replaced and removed individually, but at least one must remain', async () => {
    const { body } = await create(admin, {
      name: 'headed',
      serverUrl: `${peer.origin}/mcp`,
      authType: 'static_headers',
      headers: { 'X-A': 'a', 'X-B': 'b' },
    });
    const change = (...headers: { name: string; value: string | null }[]) =>
      mutate(admin, 'updateMcpServer', { mcpServerId: body.connection.id, headers }, 'mcpServer { headerKeys }');
    const gone = { name: 'X-B', value: null };
    expect(await change({ name: 'X-A', value: null }, gone)).toMatchObject({
      __typename: 'ValidationError',
      message: 'headers: must leave at least one header',
    });
    expect(await change(gone)).toMatchObject({ mcpServer: { headerKeys: ['X-A'] } });
    expect(await change({ name: 'X-A', value: null }, { name: 'X-C', value: 'c' })).toMatchObject({
      mcpServer: { headerKeys: ['X-C'] },
    });
  });

  test('a new serverUrl deletes the credentials, so that they are never sent to another server', async () => {
    const created = await create(admin, {
      name: 'moves',
      serverUrl: `${peer.origin}/mcp`,
      authType: 'static_headers',
      headers: { 'X-Key': 'first' },
    });
    const { id } = created.body.connection;
    const seen: unknown[] = [];
    const thief = await startPeer((request, response) => {
      seen.push(request.headers['x-key']);
      mcpHandler()(request, response);
    });
    const updated = await mutate(admin, 'updateMcpServer', { mcpServerId: id, serverUrl: `${thief.origin}/mcp` });
    expect(updated['mcpServer']).toMatchObject({
      serverUrl: `${thief.origin}/mcp`,
      headerKeys: [],
      connectedAt: null,
      status: 'AUTHORIZATION_REQUIRED',
      nextAction: 'AUTHORIZE',
    });
    expect(await gateway.dependencies.sql.query('select 1 from secret where owner_id = $1', [id])).toEqual([]);
    const again = await gateway.rest<ConnectionAnswer>('POST', `/v1/mcp-connections/${id}/authorize`, { key: admin });
    expect({
      status: again.status,
      url: again.body.authorizationUrl,
      connectedAt: again.body.connection['connectedAt'],
    }).toEqual({ status: 200, url: null, connectedAt: expect.any(String) });
    expect(new Set(seen)).toEqual(new Set([undefined]));
    await thief.stop();
  });

  test('if a connected server fails, authorize is 502, tools is REMOTE_FAILED and the status has the reason, until the server works again', async () => {
    const created = await create(admin, { name: 'flaky', serverUrl: `${peer.origin}/mcp` });
    const { id } = created.body.connection;
    peer.handler = (_, response) => void response.writeHead(500).end();
    const message = `the MCP server answered with HTTP 500 at ${new URL(peer.origin).host}; try again later, or ask the operator of the server`;
    const authorize = await gateway.rest('POST', `/v1/mcp-connections/${id}/authorize`, { key: admin });
    expect({ status: authorize.status, body: authorize.body }).toEqual({
      status: 502,
      body: { error: message },
    });
    const query = `{ viewer { organization { mcpServers(first: 5) { totalCount nodes { name status statusReason nextAction tools { name } } } } } }`;
    const answer = await gateway.graphql<{ viewer: { organization: { mcpServers: unknown } } }>(admin, query);
    expect(answer.data?.viewer.organization.mcpServers).toEqual({
      totalCount: 1,
      nodes: [
        {
          name: 'flaky',
          status: 'UNREACHABLE',
          statusReason: message,
          nextAction: 'TEST',
          tools: null,
        },
      ],
    });
    expect(answer.errors).toMatchObject([{ message, extensions: { code: 'REMOTE_FAILED' } }]);
    peer.handler = mcpHandler();
    expect(await mutate(admin, 'testMcpServer', { mcpServerId: id }, 'mcpServer { status statusReason }')).toEqual({
      __typename: 'TestMcpServerPayload',
      mcpServer: { status: 'CONNECTED', statusReason: null },
    });
  });

  test('the tools of any number of connections are listed, at most 10 at a time, by the first request as by the second', async () => {
    const names = Array.from({ length: 23 }, (_, index) => `many ${String(index).padStart(2, '0')}`);
    for (const name of names) await create(admin, { name, serverUrl: `${peer.origin}/mcp` });
    await create(admin, { ...STDIO, name: 'stdio' });
    let running = 0;
    let most = 0;
    // The first requests are answered when ten are there.
    const ten = Promise.withResolvers<void>();
    const serve = mcpHandler();
    peer.handler = (request, response) => {
      running += 1;
      most = Math.max(most, running);
      if (running === 10) ten.resolve();
      response.once('close', () => (running -= 1));
      void ten.promise.then(() => serve(request, response));
    };
    const query = `{ viewer { organization { mcpServers(first: 50) { nodes { name toolCount toolsReadAt tools { id name } } } } } }`;
    const read = async () => {
      const { data, errors } = await gateway.graphql<{
        viewer: { organization: { mcpServers: { nodes: WithTools[] } } };
      }>(admin, query);
      return { nodes: data?.viewer.organization.mcpServers.nodes ?? [], errors };
    };
    const before = new Date().toISOString();
    const first = await read();
    expect(first.errors).toBeUndefined();
    expect(most).toBe(10);
    expect(
      first.nodes.map(({ name, toolCount, tools }) => [name, toolCount, tools?.map((tool) => tool.name) ?? null]),
    ).toEqual([...names.map((name) => [name, 2, ['add', 'now']]), ['stdio', null, null]]);
    const remote = first.nodes.slice(0, -1);
    for (const { toolsReadAt } of remote) expect(toolsReadAt && toolsReadAt >= before).toBe(true);
    // Each tool of each connection has an id of its own, by which caches keep it.
    expect(new Set(remote.flatMap(({ tools }) => tools?.map(({ id }) => id))).size).toBe(2 * names.length);
    expect(await read()).toEqual(first);
  });
});

interface WithTools {
  readonly name: string;
  readonly toolCount: number | null;
  readonly toolsReadAt: string | null;
  readonly tools: readonly { readonly id: string; readonly name: string }[] | null;
}
