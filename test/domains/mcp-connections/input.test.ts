import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { useOwnGateway } from '../../support/fixtures/gateway.ts';
import { CONNECTION_FIELDS, STDIO, createConnection, toGraphQLInput } from '../../support/fixtures/mcp-connections.ts';
import { mutate as mutateAs } from '../../support/fixtures/sessions.ts';
import { type Peer, mcpHandler, startPeer } from '../../support/peers/mcp-server.ts';
import { sampled } from '../../support/sample.ts';

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

const namesTo = (count: number, prefix = 'V', value: string | null = 'v') =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, value]));

test('a connection never has more than 200 variables, and 200 names can be replaced by 200 others', async () => {
  const { body } = await create(admin, { ...STDIO, name: 'wide', env: namesTo(200) });
  const path = `/v1/mcp-connections/${body.connection?.id}`;
  const change = (env: object) =>
    gateway.rest<{ error?: string; envKeys?: string[] }>('PATCH', path, { key: admin, body: { env } });
  expect((await change({ one: 'v' })).body.error).toBe('env: must leave at most 200 names; there would be 201');
  expect((await change(namesTo(500, 'W', null))).body.error).toBe('env: must have at most 200 names');
  expect((await change(namesTo(40_000, 'W', null))).body.error).toBe('env: must have at most 500 properties');
  expect((await change({ ...namesTo(100, 'V', null), ...namesTo(100, 'W') })).status).toBe(200);
  const [stored] = await gateway.dependencies.sql.query<{ count: number }>(`select count(*)::int from secret`, []);
  expect(stored?.count).toBe(200);
});

test('a connection of an earlier version with more than 200 variables can lose and replace some, but gets no more', async () => {
  const { body } = await create(admin, { ...STDIO, name: 'wider', env: namesTo(200) });
  const many = [...Array.from({ length: 200 }, (_, index) => `V${index}`), 'X', 'Y'];
  await gateway.dependencies.sql.query('update mcp_connection set env_keys = $2 where id = $1', [
    body.connection?.id,
    many,
  ]);
  const path = `/v1/mcp-connections/${body.connection?.id}`;
  const change = (env: object) =>
    gateway.rest<{ error?: string; envKeys?: string[] }>('PATCH', path, { key: admin, body: { env } });
  expect((await change({ Z: 'v' })).body.error).toBe('env: must leave at most 200 names; there would be 203');
  expect((await change({ V0: 'w' })).body.envKeys).toHaveLength(202);
  expect((await change({ X: null })).body.envKeys).toHaveLength(201);
  expect((await change({ Z: 'v' })).body.error).toBe('env: must leave at most 200 names; there would be 202');
});

const INVALID: [string, Record<string, unknown>, string][] = [
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
  ['201 variables', { type: 'stdio', name: 'n', command: 'c', env: namesTo(201) }, 'env: must have at most 200 names'],
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
  ...['u:p@', ':@', '@'].map((given): (typeof INVALID)[number] => [
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
  ].map((serverUrl): (typeof INVALID)[number] => [
    `an address that is no URI, ${JSON.stringify(serverUrl)}`,
    { name: 'n', serverUrl },
    'serverUrl: must be a URI (RFC 3986): begin with https:// or http://, and have other characters than its own percent-encoded',
  ]),
];

/** Converts a REST message to that of GraphQL, where headers and variables are lists and enum values are in capitals. */
function toGraphQLMessage(body: Record<string, unknown>, error: string): string {
  const { type = 'remote', headers, env } = body;
  const names = Object.keys(headers ?? env ?? {});
  return error
    .split('; ')
    .map((fault) => {
      const [, list, name = '', rule = ''] = /^(headers|env)\.(.*): (.*)$/.exec(fault) ?? [];
      const part = /name of an HTTP header|set by the transport|given twice|not an allowed name/.test(rule)
        ? 'name'
        : 'value';
      const located = list ? `${list}.${names.lastIndexOf(name)}.${part}: ${rule}` : fault;
      return `${String(type)}.${located}`.replace(/(?<=authType |oauthRegistration )\w+/, (value) =>
        value.toUpperCase(),
      );
    })
    .join('; ');
}

describe('invalid input', () => {
  sampled(test, 6).each(INVALID)('%s: 400 on both APIs, with the field names of each', async (_, body, error) => {
    expect(await create(admin, body)).toMatchObject({ status: 400, body: { error } });
    if (error.includes('is required') && !('name' in body)) return;
    expect(await mutate(admin, 'createMcpServer', toGraphQLInput(body))).toMatchObject({
      __typename: 'ValidationError',
      message: toGraphQLMessage(body, error),
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
      { ...STDIO, serverUrl: 'https://example.com', commnad: 'c' },
      'serverUrl: is not a known property of type stdio; commnad: is not a known property of type stdio',
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
    '__proto__ as a name in %s or at the top level: 400, and no prototype is changed',
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

  test('null for an optional field is the same as an absent field', async () => {
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
