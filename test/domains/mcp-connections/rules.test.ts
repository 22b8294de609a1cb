import { readFile, readdir } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { type Peer, legacyMcpHandler, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';

let gateway: TestGateway;
let peer: Peer;
let organization: string;
let admin: string;
let member: string;
let otherMember: string;
let stranger: string;
beforeAll(async () => {
  gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
  peer = await startPeer(mcpHandler());
  const first = await gateway.createKey();
  organization = first.organization;
  admin = first.key;
  member = (await gateway.createKey({ organization, role: 'member' })).key;
  otherMember = (await gateway.createKey({ organization, role: 'member' })).key;
  stranger = (await gateway.createKey()).key;
});
afterAll(async () => {
  await peer.stop();
  await gateway.close();
});
beforeEach(async () => {
  peer.handler = mcpHandler();
  await gateway.dependencies.sql.query('delete from mcp_connection', []);
  await gateway.dependencies.sql.query('delete from secret', []);
});

interface Result {
  authorizationUrl: string | null;
  connection: Record<string, unknown> & { id: string };
  error: string;
}

const stdio = {
  type: 'stdio',
  name: 'local',
  command: 'npx',
  args: ['-y', 'server'],
  env: { TOKEN: 'sssh', PATH_EXTRA: '/opt' },
};

function create(key: string, body: unknown) {
  return gateway.rest<Result>('POST', '/v1/mcp-connections', { key, body });
}

interface Typed {
  __typename: string;
  message?: string;
  code?: string;
  path?: string[] | null;
  [field: string]: unknown;
}

const FIELDS = `databaseId name type visibility serverUrl connectedAt args authType command createdAt updatedAt envKeys headerKeys status statusReason nextAction`;

/** The answer of a mutation: its only field. */
async function mutate(key: string, name: string, input: unknown, payload = `mcpServer { ${FIELDS} }`): Promise<Typed> {
  const title = name.charAt(0).toUpperCase() + name.slice(1);
  const answer = await gateway.graphql<Record<string, Typed>>(
    key,
    `mutation ($input: ${title}Input!) { ${name}(input: $input) { __typename ... on ${title}Payload { ${payload} } ... on Error { message code path } } }`,
    { input },
  );
  const result = answer.data?.[name];
  if (!result) throw new Error(JSON.stringify(answer));
  return result;
}

const UPPER: Record<string, string> = {
  remote: 'REMOTE',
  stdio: 'STDIO',
  shared: 'SHARED',
  personal: 'PERSONAL',
  oauth: 'OAUTH',
  client_credentials: 'CLIENT_CREDENTIALS',
  static_headers: 'STATIC_HEADERS',
  automatic: 'AUTOMATIC',
  pre_registered: 'PRE_REGISTERED',
};

/** What REST takes, as GraphQL writes it. */
function toGraphQL(body: Record<string, unknown>) {
  const { type = 'remote', ...rest } = body;
  const fields = Object.fromEntries(
    Object.entries(rest).map(([field, value]) => {
      if ((field === 'env' || field === 'headers') && value !== null)
        return [field, Object.entries(value as Record<string, string>).map(([name, text]) => ({ name, value: text }))];
      return [
        field,
        typeof value === 'string' && ['visibility', 'authType', 'oauthRegistration'].includes(field)
          ? (UPPER[value] ?? value)
          : value,
      ];
    }),
  );
  return { [type as string]: fields };
}

describe('stdio', () => {
  test('is stored, with the documented thirteen fields, the same through both doors', async () => {
    const rest = await create(admin, stdio);
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
      toGraphQL({ ...stdio, name: 'second' }),
      `authorizationUrl mcpServer { ${FIELDS} }`,
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

  test('no process is ever started: no code can, and a command that would leave a trace leaves none', async () => {
    const files = (await readdir('src', { recursive: true })).filter(
      (file) => file.endsWith('.ts') && !file.includes('embedded-postgres'),
    );
    expect(files.length).toBeGreaterThan(50);
    for (const file of files) {
      const text = await readFile(`src/${file}`, 'utf8');
      expect({
        file,
        starts: /child_process|worker_threads|client\/stdio|StdioClientTransport|process\.binding/.test(text),
      }).toEqual({ file, starts: false });
    }
    const trace = `/tmp/gateway-mcp-trace-${process.pid}`;
    const created = await create(admin, { type: 'stdio', name: 'tracer', command: 'touch', args: [trace] });
    const { id } = created.body.connection;
    const authorize = await gateway.rest('POST', `/v1/mcp-connections/${id}/authorize`, { key: admin });
    expect({ status: authorize.status, body: authorize.body }).toEqual({
      status: 409,
      body: { error: 'a stdio connection is only stored; there is nothing to authorize' },
    });
    expect(await mutate(admin, 'authorizeMcpServer', { mcpServerId: id })).toMatchObject({
      __typename: 'ConflictError',
      message: 'a stdio connection is only stored; there is nothing to authorize',
    });
    expect((await mutate(admin, 'testMcpServer', { mcpServerId: id })).__typename).toBe('ConflictError');
    await expect(readFile(trace)).rejects.toThrow('ENOENT');
  });
});

describe('remote', () => {
  test.each([
    ['both generations', mcpHandler()],
    ['the newer generation alone', mcpHandler({ legacy: 'reject' })],
    ['the older generation alone', legacyMcpHandler()],
  ])('a server without authorization that speaks %s is connected at once', async (_, handler) => {
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
      toGraphQL({ name: 'open too', serverUrl: `${peer.origin}/mcp` }),
      'authorizationUrl mcpServer { status tools { name } }',
    );
    expect(graphql).toEqual({
      __typename: 'CreateMcpServerPayload',
      authorizationUrl: null,
      mcpServer: { status: 'CONNECTED', tools: [{ name: 'add' }, { name: 'now' }] },
    });
  });

  test('static headers are sent with each request, and refused ones are 502', async () => {
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
    const error = 'the MCP server does not accept the headers';
    expect(await create(admin, refused)).toMatchObject({ status: 502, body: { error } });
    expect(await mutate(admin, 'createMcpServer', toGraphQL(refused))).toEqual({
      __typename: 'RemoteFailedError',
      message: error,
      code: 'REMOTE_FAILED',
      path: null,
    });
    // Merge by name, case ignored; null removes.
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

  test('static headers are replaced and removed one by one, but for the last one', async () => {
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

  test('a new serverUrl clears the credentials: nothing given for one server is shown to another', async () => {
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
    const again = await gateway.rest<Result>('POST', `/v1/mcp-connections/${id}/authorize`, { key: admin });
    expect({
      status: again.status,
      url: again.body.authorizationUrl,
      connectedAt: again.body.connection['connectedAt'],
    }).toEqual({ status: 200, url: null, connectedAt: expect.any(String) });
    expect(new Set(seen)).toEqual(new Set([undefined]));
    await thief.stop();
  });

  test('a server that fails later: authorize and tools are REMOTE_FAILED, the status says why, and it recovers', async () => {
    const created = await create(admin, { name: 'flaky', serverUrl: `${peer.origin}/mcp` });
    const { id } = created.body.connection;
    peer.handler = (_, response) => void response.writeHead(500).end();
    const authorize = await gateway.rest('POST', `/v1/mcp-connections/${id}/authorize`, { key: admin });
    expect({ status: authorize.status, body: authorize.body }).toEqual({
      status: 502,
      body: { error: 'the MCP server answered with HTTP 500' },
    });
    const query = `{ viewer { organization { mcpServers(first: 5) { totalCount nodes { name status statusReason nextAction tools { name } } } } } }`;
    const answer = await gateway.graphql<{ viewer: { organization: { mcpServers: unknown } } }>(admin, query);
    expect(answer.data?.viewer.organization.mcpServers).toEqual({
      totalCount: 1,
      nodes: [
        {
          name: 'flaky',
          status: 'UNREACHABLE',
          statusReason: 'the MCP server answered with HTTP 500',
          nextAction: 'TEST',
          tools: null,
        },
      ],
    });
    expect(answer.errors).toMatchObject([
      { message: 'the MCP server answered with HTTP 500', extensions: { code: 'REMOTE_FAILED' } },
    ]);
    peer.handler = mcpHandler();
    expect(await mutate(admin, 'testMcpServer', { mcpServerId: id }, 'mcpServer { status statusReason }')).toEqual({
      __typename: 'TestMcpServerPayload',
      mcpServer: { status: 'CONNECTED', statusReason: null },
    });
  });
});

const BAD: [string, Record<string, unknown>, string][] = [
  ['no name', { type: 'stdio', command: 'x' }, 'name: is required for type stdio'],
  ['an empty name', { type: 'stdio', name: '', command: 'x' }, 'name: must not be empty'],
  ['a long name', { type: 'stdio', name: 'n'.repeat(201), command: 'x' }, 'name: must be at most 200 characters'],
  [
    'a NUL in the name',
    { type: 'stdio', name: 'a\0b', command: 'x' },
    'name: must be well-formed text without NUL characters',
  ],
  [
    'a long command',
    { type: 'stdio', name: 'n', command: 'c'.repeat(4097) },
    'command: must be at most 4096 characters',
  ],
  [
    '101 args',
    { type: 'stdio', name: 'n', command: 'c', args: Array(101).fill('a') },
    'args: must have at most 100 items',
  ],
  [
    'a long arg',
    { type: 'stdio', name: 'n', command: 'c', args: ['ok', 'a'.repeat(8193)] },
    'args.1: must be at most 8192 characters',
  ],
  [
    'a long env value',
    { type: 'stdio', name: 'n', command: 'c', env: { A: 'v'.repeat(16_385) } },
    'env.A: must be at most 16384 characters',
  ],
  [
    'a long header value',
    {
      name: 'n',
      serverUrl: 'https://example.com',
      authType: 'static_headers',
      headers: { 'X-Team': 'v'.repeat(16_385) },
    },
    'headers.X-Team: must be at most 16384 characters',
  ],
  [
    'a header that is no token',
    { name: 'n', serverUrl: 'https://example.com', authType: 'static_headers', headers: { 'X Team': 'v' } },
    'headers.X Team: must be a name of an HTTP header',
  ],
  [
    'a header of the transport',
    { name: 'n', serverUrl: 'https://example.com', authType: 'static_headers', headers: { Host: 'v' } },
    'headers.Host: is set by the transport and cannot be given',
  ],
  [
    'a header value with a line break',
    { name: 'n', serverUrl: 'https://example.com', authType: 'static_headers', headers: { 'X-A': 'a\r\nB: c' } },
    'headers.X-A: must be printable characters of ISO 8859-1, without line breaks',
  ],
  [
    'a header twice',
    { name: 'n', serverUrl: 'https://example.com', authType: 'static_headers', headers: { 'X-A': 'a', 'x-a': 'b' } },
    'headers.x-a: is given twice, in different case',
  ],
  [
    'no headers',
    { name: 'n', serverUrl: 'https://example.com', authType: 'static_headers' },
    'headers: is required for authType static_headers',
  ],
  [
    'empty headers',
    { name: 'n', serverUrl: 'https://example.com', authType: 'static_headers', headers: {} },
    'headers: must name at least one header',
  ],
  [
    'headers with oauth',
    { name: 'n', serverUrl: 'https://example.com', headers: { 'X-A': 'a' } },
    'headers: must not be given with authType oauth',
  ],
  [
    'a client with static headers',
    {
      name: 'n',
      serverUrl: 'https://example.com',
      authType: 'static_headers',
      headers: { 'X-A': 'a' },
      clientId: 'c',
      scope: 's',
    },
    'clientId: must not be given with authType static_headers; scope: must not be given with authType static_headers',
  ],
  [
    'client credentials without them',
    { name: 'n', serverUrl: 'https://example.com', authType: 'client_credentials' },
    'clientId: is required for authType client_credentials; clientSecret: is required for authType client_credentials',
  ],
  [
    'pre-registered without a client',
    { name: 'n', serverUrl: 'https://example.com', oauthRegistration: 'pre_registered' },
    'clientId: is required for oauthRegistration pre_registered',
  ],
  [
    'a long client id',
    { name: 'n', serverUrl: 'https://example.com', clientId: 'c'.repeat(4097) },
    'clientId: must be at most 4096 characters',
  ],
  [
    'a long client secret',
    { name: 'n', serverUrl: 'https://example.com', clientId: 'c', clientSecret: 's'.repeat(65_537) },
    'clientSecret: must be at most 65536 characters',
  ],
  [
    'a long scope',
    { name: 'n', serverUrl: 'https://example.com', scope: 's'.repeat(4097) },
    'scope: must be at most 4096 characters',
  ],
  ['an address that is no URL', { name: 'n', serverUrl: 'example.com' }, 'serverUrl: must be an http or https URL'],
  [
    'an address of another scheme',
    { name: 'n', serverUrl: 'file:///etc/passwd' },
    'serverUrl: must be an http or https URL',
  ],
  ...['u:p@', ':@', '@'].map((given): (typeof BAD)[number] => [
    `an address with user information, ${given}`,
    { name: 'n', serverUrl: `https://${given}example.com` },
    'serverUrl: must not contain user information',
  ]),
  [
    'an address with a fragment',
    { name: 'n', serverUrl: 'https://example.com/#f' },
    'serverUrl: must not contain a fragment',
  ],
  ...[
    ' https://example.com',
    'https://example.com/a b',
    'https://exam\nple.com',
    'https:example.com',
    'https:///example.com',
    'ht\ttps://example.com',
    '\u0001https://example.com',
    'https://exämple.com',
  ].map((serverUrl): (typeof BAD)[number] => [
    `an address that is no URI, ${JSON.stringify(serverUrl)}`,
    { name: 'n', serverUrl },
    'serverUrl: must be a URI (RFC 3986): begin with https:// or http://, and have other characters than its own percent-encoded',
  ]),
];

describe('what is refused', () => {
  test.each(BAD)('%s: 400, in the same words through both doors', async (_, body, error) => {
    expect(await create(admin, body)).toMatchObject({ status: 400, body: { error } });
    if (error.includes('is required') && !('name' in body)) return;
    expect(await mutate(admin, 'createMcpServer', toGraphQL(body))).toMatchObject({
      __typename: 'ValidationError',
      message: error,
      code: 'INVALID_INPUT',
    });
  });

  test.each<[string, unknown, string]>([
    ['another type', { type: 'http', name: 'n', command: 'c' }, 'type: must be "stdio" or "remote"'],
    [
      'a stdio field in a remote one',
      { name: 'n', serverUrl: 'https://example.com', command: 'c' },
      'command: is not a known property of type remote',
    ],
    [
      'a remote field in a stdio one',
      { ...stdio, serverUrl: 'https://example.com' },
      'serverUrl: is not a known property of type stdio',
    ],
    ['no type, and null for one', { type: null, name: 'n' }, 'serverUrl: is required for type remote'],
    ['nothing', {}, 'name: is required for type remote; serverUrl: is required for type remote'],
    [
      'an unknown authType',
      { name: 'n', serverUrl: 'https://example.com', authType: 'basic' },
      'authType: must be one of "oauth", "client_credentials", "static_headers"',
    ],
    ['an array', [], 'the body must be a JSON object'],
  ])('%s: 400', async (_, body, error) => {
    expect(await create(admin, body)).toMatchObject({ status: 400, body: { error } });
  });

  test.each(['env', 'headers'])(
    '__proto__ as a name in %s, and at the top: 400, and no prototype is changed',
    async (field) => {
      const body =
        field === 'env'
          ? `{"type":"stdio","name":"p","command":"c","env":{"__proto__":"x","A":"b"}}`
          : `{"name":"p","serverUrl":"https://example.com","authType":"static_headers","headers":{"__proto__":"x","A":"b"}}`;
      expect(await create(admin, body)).toMatchObject({
        status: 400,
        body: { error: `${field}.__proto__: is not an allowed name` },
      });
      expect((await create(admin, `{"type":"stdio","name":"p","command":"c","__proto__":{"a":1}}`)).status).toBe(400);
      expect(({} as Record<string, unknown>)['a']).toBeUndefined();
    },
  );

  test('null for an optional field is the same as absent', async () => {
    const created = await create(admin, {
      type: 'stdio',
      name: 'nulls',
      command: 'c',
      args: null,
      env: null,
      visibility: null,
    });
    expect(created.body.connection).toMatchObject({ args: [], envKeys: [], visibility: 'shared' });
    const remote = await create(admin, {
      type: null,
      name: 'remote nulls',
      serverUrl: `${peer.origin}/mcp`,
      authType: null,
      clientId: null,
      clientSecret: null,
      headers: null,
      oauthRegistration: null,
      scope: null,
      visibility: null,
    });
    expect({ status: remote.status, authType: remote.body.connection['authType'] }).toEqual({
      status: 201,
      authType: 'oauth',
    });
  });
});

describe('names', () => {
  test('are unique among the shared ones, and among the personal ones of an owner; no server is asked for a taken one', async () => {
    const taken = {
      status: 409,
      body: { error: 'name: local is taken by another MCP connection; choose another name' },
    };
    expect((await create(admin, stdio)).status).toBe(201);
    expect(await create(admin, stdio)).toMatchObject(taken);
    expect((await create(admin, { ...stdio, visibility: 'personal' })).status).toBe(201);
    expect((await create(member, { ...stdio, visibility: 'personal' })).status).toBe(201);
    expect(await create(member, { ...stdio, visibility: 'personal' })).toMatchObject(taken);
    expect((await create(stranger, stdio)).status).toBe(201);
    const before = peer.requests.length;
    expect(await create(admin, { name: 'local', serverUrl: `${peer.origin}/mcp` })).toMatchObject(taken);
    expect(peer.requests.length).toBe(before);
    expect(await mutate(admin, 'createMcpServer', toGraphQL(stdio))).toEqual({
      __typename: 'ConflictError',
      message: taken.body.error,
      code: 'CONFLICT',
      path: ['name'],
    });
  });

  test('of 20 creations at the same time one wins, and nothing is left of the others', async () => {
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        create(admin, index % 2 ? stdio : { name: 'local', serverUrl: `${peer.origin}/mcp` }),
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

describe('who may', () => {
  test('a member neither creates nor changes shared ones: 403; they see them', async () => {
    const error = 'only an admin of the organization manages shared MCP connections';
    expect(await create(member, stdio)).toMatchObject({ status: 403, body: { error } });
    const { id } = (await create(admin, stdio)).body.connection;
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

  test("a member's personal one is 404 to everybody else, admins included, as a missing one is", async () => {
    const { id } = (await create(member, { ...stdio, visibility: 'personal' })).body.connection;
    const missing = '00000000-0000-4000-8000-000000000000';
    for (const key of [admin, otherMember, stranger]) {
      for (const one of [id, missing]) {
        const rest = await gateway.rest('POST', `/v1/mcp-connections/${one}/authorize`, { key });
        expect({ status: rest.status, text: rest.text }).toEqual({
          status: 404,
          text: '{"error":"MCP connection not found"}',
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

  test('scopes: without mcp_connections.write 403, without mcp_connections.read nothing is listed', async () => {
    const reader = (await gateway.createKey({ organization, role: 'admin', scopes: ['mcp_connections.read'] })).key;
    expect(await create(reader, stdio)).toMatchObject({
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
        message: 'mcpServerId: must be an id of an MCP connection',
        path: ['mcpServerId'],
      });
    const { id } = (await create(admin, stdio)).body.connection;
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

test('the list pages both ways by name, and is read in a fixed number of statements', async () => {
  for (const name of ['b', 'a', 'd', 'c', 'e']) await create(admin, { ...stdio, name });
  const query = `query ($first: Int, $after: String, $last: Int, $before: String) { viewer { organization { mcpServers(first: $first, after: $after, last: $last, before: $before, type: STDIO, visibility: SHARED) {
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
  const first = (await gateway.graphql<Page>(admin, query, { first: 2 })).data?.viewer.organization.mcpServers;
  gateway.statements.length = 0;
  const second = (await gateway.graphql<Page>(admin, query, { first: 3, after: first?.pageInfo.endCursor })).data
    ?.viewer.organization.mcpServers;
  // Those that tell of an earlier change apart.
  const statements = gateway.statements.filter((text) => !text.includes('pg_notify')).length;
  const back = (await gateway.graphql<Page>(admin, query, { last: 2, before: second?.pageInfo.startCursor })).data
    ?.viewer.organization.mcpServers;
  expect([first, second, back].map((page) => page?.nodes.map(({ name }) => name).join(''))).toEqual([
    'ab',
    'cde',
    'ab',
  ]);
  expect({ total: first?.totalCount, more: second?.pageInfo.hasNextPage }).toEqual({ total: 5, more: false });
  expect(statements).toBeLessThanOrEqual(5);
});
