import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from '../../support/fixtures/gateway.ts';
import { type OAuthFixture, startOAuthFixture } from '../../support/peers/mcp-authorization-server.ts';

interface ConnectionBody {
  authorizationUrl: string | null;
  connection: Record<string, unknown> & { id: string };
}

let gateway: TestGateway;
let fixture: OAuthFixture;
let key: string;
let count = 0;
beforeAll(async () => {
  gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
  key = (await gateway.createKey()).key;
});
afterAll(() => gateway.close());
const fixtures: OAuthFixture[] = [];
afterEach(async () => {
  gateway.setClock(undefined);
  for (const one of fixtures.splice(0)) await one.stop();
});

async function start(): Promise<OAuthFixture> {
  fixture = await startOAuthFixture();
  fixtures.push(fixture);
  return fixture;
}

function create(body: Record<string, unknown> = {}) {
  count += 1;
  return gateway.rest<ConnectionBody & { error: string }>('POST', '/v1/mcp-connections', {
    key,
    body: { name: `connection ${count}`, serverUrl: fixture.serverUrl, ...body },
  });
}

const READ = `query ($id: ID!) { node(id: $id) { ... on McpServer { status statusReason nextAction issuer grantedScopes connectedAt authorizationExpiresAt tokenExpiresAt
  tools { name title description inputSchema } } } }`;

interface Server {
  status: string;
  statusReason: string | null;
  nextAction: string;
  issuer: string | null;
  grantedScopes: string[] | null;
  connectedAt: string | null;
  authorizationExpiresAt: string | null;
  tokenExpiresAt: string | null;
  tools: { name: string }[] | null;
}

async function read(id: string, fields?: string) {
  const answer = await gateway.graphql<{ node: Server }>(key, fields ? READ.replace(/tools \{[^}]*\}/, '') : READ, {
    id: Buffer.from(`McpServer:${id}`).toString('base64'),
  });
  return { node: answer.data?.node, errors: answer.errors };
}

async function status(id: string) {
  const { node } = await read(id, 'without tools');
  return { status: node?.status, statusReason: node?.statusReason, nextAction: node?.nextAction };
}

async function callback(url: URL) {
  const response = await gateway.fetch(url.pathname + url.search);
  return { status: response.status, text: await response.text(), headers: response.headers };
}

async function connect(body: Record<string, unknown> = {}): Promise<string> {
  const created = await create(body);
  expect(created).toMatchObject({ status: 201 });
  const page = await callback(fixture.consent(created.body.authorizationUrl ?? ''));
  expect(page).toMatchObject({ status: 200 });
  return created.body.connection.id;
}

test('create → URL → consent → callback → connected → tools listed → expires → refreshed → revoked → authorize again', async () => {
  await start();
  fixture.challengeScope = 'tools:read';
  const created = await create();
  const { id } = created.body.connection;
  expect({ status: created.status, body: created.body }).toEqual({
    status: 201,
    body: {
      authorizationUrl: expect.stringContaining(`${fixture.issuer.origin}/authorize?`),
      connection: {
        id: expect.any(String),
        name: `connection ${count}`,
        type: 'remote',
        visibility: 'shared',
        serverUrl: fixture.serverUrl,
        connectedAt: null,
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
  const url = new URL(created.body.authorizationUrl ?? '');
  expect(Object.fromEntries(url.searchParams)).toEqual({
    response_type: 'code',
    client_id: expect.stringMatching(/^client-/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
    redirect_uri: 'http://127.0.0.1:4000/v1/mcp-connections/oauth/callback',
    state: expect.stringMatching(/^[\w-]{43}$/),
    scope: 'tools:read',
    resource: fixture.serverUrl,
  });
  expect(await status(id)).toEqual({
    status: 'PENDING_AUTHORIZATION',
    statusReason: 'its user has to complete the authorization',
    nextAction: 'COMPLETE_AUTHORIZATION',
  });

  const page = await callback(fixture.consent(url.href));
  expect({
    status: page.status,
    csp: page.headers.get('content-security-policy'),
    cache: page.headers.get('cache-control'),
  }).toEqual({
    status: 200,
    csp: expect.stringMatching(
      /^default-src 'none'; style-src 'sha256-[^']+'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'$/,
    ),
    cache: 'no-store',
  });
  expect(page.text).toContain(`The MCP connection “connection ${count}” is connected.`);
  const connected = await read(id);
  expect(connected).toEqual({
    errors: undefined,
    node: {
      status: 'CONNECTED',
      statusReason: null,
      nextAction: 'NONE',
      issuer: fixture.issuer.origin,
      grantedScopes: ['tools:read'],
      connectedAt: expect.any(String),
      authorizationExpiresAt: null,
      tokenExpiresAt: expect.any(String),
      tools: [
        {
          name: 'add',
          title: 'Add',
          description: 'Adds two numbers.',
          inputSchema: expect.objectContaining({ type: 'object' }),
        },
        {
          name: 'now',
          title: null,
          description: 'Tells the time.',
          inputSchema: expect.objectContaining({ type: 'object' }),
        },
      ],
    },
  });

  // Ahead of expiry: at most two minutes before, for a life of an hour.
  gateway.setClock(new Date(Date.now() + 3_599_000));
  const tested = await gateway.graphql<{ testMcpServer: object }>(key, TEST, { id });
  expect(tested.data?.testMcpServer).toEqual({
    __typename: 'TestMcpServerPayload',
    info: { name: 'fixture', version: '1.2.3', protocolVersion: '2026-07-28' },
  });
  expect(fixture.tokenRequests.map((form) => [form.get('grant_type'), form.get('resource')])).toEqual([
    ['authorization_code', fixture.serverUrl],
    ['refresh_token', fixture.serverUrl],
  ]);

  fixture.revokeAll();
  const failed = await gateway.graphql<{ testMcpServer: { message: string } }>(key, TEST, { id });
  const reason =
    'the authorization server no longer accepts the refresh token (invalid_grant): it has expired or was revoked';
  expect(failed.data?.testMcpServer).toEqual({
    __typename: 'RemoteFailedError',
    message: `the MCP connection must be authorized: ${reason}`,
  });
  expect(await status(id)).toEqual({ status: 'AUTHORIZATION_REQUIRED', statusReason: reason, nextAction: 'AUTHORIZE' });

  const again = await gateway.rest<ConnectionBody>('POST', `/v1/mcp-connections/${id}/authorize`, { key });
  expect({ status: again.status, connectedAt: again.body.connection['connectedAt'] }).toEqual({
    status: 200,
    connectedAt: null,
  });
  expect((await callback(fixture.consent(again.body.authorizationUrl ?? ''))).status).toBe(200);
  expect(await status(id)).toEqual({ status: 'CONNECTED', statusReason: null, nextAction: 'NONE' });
  // One registration served both.
  expect(fixture.registrations).toHaveLength(1);
  // What works is not authorized again.
  const third = await gateway.rest<ConnectionBody>('POST', `/v1/mcp-connections/${id}/authorize`, { key });
  expect({ status: third.status, url: third.body.authorizationUrl }).toEqual({ status: 200, url: null });
});

const TEST = `mutation ($id: ID!) { testMcpServer(input: { mcpServerId: $id }) { __typename ... on TestMcpServerPayload { info { name version protocolVersion } } ... on Error { message } } }`;

describe('the callback', () => {
  test('serves once: of ten at the same time one wins, and a replay is not known', async () => {
    await start();
    const created = await create();
    const url = fixture.consent(created.body.authorizationUrl ?? '');
    const pages = await Promise.all(Array.from({ length: 10 }, () => callback(url)));
    expect(pages.map((page) => page.status).toSorted((a, b) => a - b)).toEqual([
      200, 400, 400, 400, 400, 400, 400, 400, 400, 400,
    ]);
    const replay = await callback(url);
    expect(replay.text).toContain('This authorization is not known');
    expect(fixture.tokenRequests).toHaveLength(1);
    expect((await status(created.body.connection.id)).status).toBe('CONNECTED');
  });

  test('a state that is unknown, missing, doubled or over 10 minutes old is not known, and nothing of the address is repeated', async () => {
    await start();
    const path = '/v1/mcp-connections/oauth/callback';
    for (const query of [
      '',
      '?code=x',
      '?state=',
      '?state=%3Cscript%3Ehello%3C/script%3E&code=x&error_description=%3Cscript%3Ehello',
      '?state=a&state=b&code=x',
    ]) {
      const page = await callback(new URL(`http://gateway${path}${query}`));
      expect({
        status: page.status,
        known: page.text.includes('This authorization is not known'),
        echo: page.text.includes('hello'),
      }).toEqual({ status: 400, known: true, echo: false });
    }
    const created = await create();
    const url = fixture.consent(created.body.authorizationUrl ?? '');
    gateway.setClock(new Date(Date.now() + 10 * 60_000 + 1000));
    expect(await status(created.body.connection.id)).toEqual({
      status: 'AUTHORIZATION_REQUIRED',
      statusReason: 'the authorization was not completed within 10 minutes',
      nextAction: 'AUTHORIZE',
    });
    expect((await callback(url)).status).toBe(400);
    expect(fixture.tokenRequests).toHaveLength(0);
  });

  test('a newer authorization replaces an older one; HEAD uses nothing up', async () => {
    await start();
    const created = await create();
    const newer = await gateway.rest<ConnectionBody>(
      'POST',
      `/v1/mcp-connections/${created.body.connection.id}/authorize`,
      { key },
    );
    expect((await callback(fixture.consent(created.body.authorizationUrl ?? ''))).status).toBe(400);
    const url = fixture.consent(newer.body.authorizationUrl ?? '');
    expect((await gateway.fetch(url.pathname + url.search, { method: 'HEAD' })).status).toBe(200);
    expect((await callback(url)).status).toBe(200);
  });

  test.each([
    ['another issuer', (url: URL) => url.searchParams.set('iss', 'https://evil.example')],
    ['no issuer, though the server announces one', (url: URL) => url.searchParams.delete('iss')],
  ])('%s in the answer: no code is sent, and the reason is told', async (_, change) => {
    await start();
    const created = await create();
    const url = fixture.consent(created.body.authorizationUrl ?? '');
    change(url);
    const page = await callback(url);
    expect(page.status).toBe(400);
    expect(page.text).toContain('names another issuer than the one that was asked');
    expect(fixture.tokenRequests).toHaveLength(0);
    expect((await status(created.body.connection.id)).status).toBe('AUTHORIZATION_REQUIRED');
  });

  test.each([
    ['another issuer', (url: URL) => url.searchParams.set('iss', 'https://evil.example')],
    ['no issuer, though the server announces one', (url: URL) => url.searchParams.delete('iss')],
  ])('%s in an answer without a code: what it says is not believed (RFC 9207)', async (_, change) => {
    await start();
    const created = await create();
    const url = fixture.consent(created.body.authorizationUrl ?? '');
    url.searchParams.delete('code');
    url.searchParams.set('error', 'access_denied');
    change(url);
    const page = await callback(url);
    const reason = 'the answer comes from another issuer than the one that was asked (RFC 9207)';
    expect(page.status).toBe(400);
    expect(page.text).toContain(`was not connected: ${reason}.`);
    expect(page.text).not.toContain('access_denied');
    expect(fixture.tokenRequests).toHaveLength(0);
    expect(await status(created.body.connection.id)).toEqual({
      status: 'AUTHORIZATION_REQUIRED',
      statusReason: reason,
      nextAction: 'AUTHORIZE',
    });
  });

  test('a refusal of the user is told by its code; the description of the server is not shown', async () => {
    await start();
    const created = await create({ name: '<b>bold</b> & co' });
    const url = fixture.consent(created.body.authorizationUrl ?? '');
    url.searchParams.delete('code');
    url.searchParams.set('error', 'access_denied');
    url.searchParams.set('error_description', '<script>alert(1)</script>');
    const page = await callback(url);
    expect(page.text).toContain(
      'The MCP connection “&lt;b&gt;bold&lt;/b&gt; &amp; co” was not connected: the authorization server refused: access_denied.',
    );
    expect(page.text).not.toContain('script');
    expect(await status(created.body.connection.id)).toEqual({
      status: 'AUTHORIZATION_REQUIRED',
      statusReason: 'the authorization server refused: access_denied',
      nextAction: 'AUTHORIZE',
    });
  });

  test('whoever began it must still be a member with the right', async () => {
    await start();
    const admin = await gateway.createKey();
    const created = await gateway.rest<ConnectionBody>('POST', '/v1/mcp-connections', {
      key: admin.key,
      body: { name: 'left', serverUrl: fixture.serverUrl },
    });
    await gateway.dependencies.sql.query('update membership set role = $1 where user_id = $2', [
      'member',
      admin.userId,
    ]);
    expect((await callback(fixture.consent(created.body.authorizationUrl ?? ''))).status).toBe(400);
  });
});

describe('discovery', () => {
  test.each<[string, () => void, string]>([
    [
      'no PKCE announced',
      () => (fixture.metadata = { code_challenge_methods_supported: undefined }),
      'does not announce PKCE with S256',
    ],
    [
      'PKCE with plain alone',
      () => (fixture.metadata = { code_challenge_methods_supported: ['plain'] }),
      'does not announce PKCE with S256',
    ],
    [
      'metadata of another issuer',
      () => (fixture.metadata = { issuer: 'https://evil.example' }),
      'names another issuer than the one that was asked',
    ],
    [
      'metadata of another resource',
      () => (fixture.resourceMetadata = { resource: 'https://evil.example/mcp' }),
      'publishes the metadata of another resource',
    ],
    [
      'no registration',
      () => (fixture.metadata = { registration_endpoint: undefined }),
      'offers no registration of clients',
    ],
    [
      'an authorization endpoint that is a script',
      () => (fixture.metadata = { authorization_endpoint: 'javascript:alert(1)' }),
      'the discovery of the authorization server',
    ],
    [
      'an authorization endpoint that is data',
      () => (fixture.metadata = { authorization_endpoint: 'data:text/html,x' }),
      'the discovery of the authorization server',
    ],
    [
      'an authorization endpoint that is a file',
      () => (fixture.metadata = { authorization_endpoint: 'file:///etc/passwd' }),
      'the authorization endpoint failed',
    ],
    [
      'an authorization server that is a file',
      () => (fixture.resourceMetadata = { authorization_servers: ['file:///etc/passwd'] }),
      'the discovery of the authorization server',
    ],
    ['malformed metadata', () => (fixture.metadata = { token_endpoint: 7 }), 'answered with a malformed document'],
  ])('%s: 502 with the cause, and nothing is left behind', async (_, lie, cause) => {
    await start();
    lie();
    const before = await gateway.dependencies.sql.query('select id from mcp_connection', []);
    const created = await create();
    expect({ status: created.status, body: created.body }).toEqual({
      status: 502,
      body: { error: expect.stringContaining(cause) },
    });
    expect(await gateway.dependencies.sql.query('select id from mcp_connection', [])).toEqual(before);
  });

  test('the scope: what the owner wants, else the challenge, else what the resource supports; with offline_access where it is left to the server', async () => {
    await start();
    const scopeOf = async (body: object) =>
      new URL((await create({ ...body })).body.authorizationUrl ?? '').searchParams.get('scope');
    expect(await scopeOf({})).toBeNull();
    fixture.resourceMetadata = { scopes_supported: ['a', 'b'] };
    expect(await scopeOf({})).toBe('a b');
    fixture.challengeScope = 'c';
    expect(await scopeOf({})).toBe('c');
    fixture.metadata = { scopes_supported: ['c', 'offline_access'] };
    expect(await scopeOf({})).toBe('c offline_access');
    expect(await scopeOf({ scope: 'wanted' })).toBe('wanted');
  });

  test('step-up: a server that wants more is asked for the union', async () => {
    await start();
    fixture.challengeScope = 'basic';
    const id = await connect();
    fixture.requiredScope = 'more';
    const failed = await gateway.graphql<{ testMcpServer: object }>(key, TEST, { id });
    expect(failed.data?.testMcpServer).toEqual({
      __typename: 'RemoteFailedError',
      message: expect.stringContaining('the server asks for more scopes than were granted'),
    });
    const again = await gateway.rest<ConnectionBody>('POST', `/v1/mcp-connections/${id}/authorize`, { key });
    expect(new URL(again.body.authorizationUrl ?? '').searchParams.get('scope')?.split(' ').toSorted()).toEqual([
      'basic',
      'more',
    ]);
    expect((await callback(fixture.consent(again.body.authorizationUrl ?? ''))).status).toBe(200);
    expect((await status(id)).status).toBe('CONNECTED');
  });
});

describe('clients', () => {
  test('a pre-registered one is used before any registration', async () => {
    await start();
    fixture.addClient('mine', 'my-client-secret');
    const created = await create({
      oauthRegistration: 'pre_registered',
      clientId: 'mine',
      clientSecret: 'my-client-secret',
    });
    expect(new URL(created.body.authorizationUrl ?? '').searchParams.get('client_id')).toBe('mine');
    expect((await callback(fixture.consent(created.body.authorizationUrl ?? ''))).status).toBe(200);
    expect(fixture.registrations).toEqual([]);
  });

  test('client credentials: connected at once, and renewed by themselves', async () => {
    await start();
    fixture.addClient('machine', 'machine-secret');
    const created = await create({
      authType: 'client_credentials',
      clientId: 'machine',
      clientSecret: 'machine-secret',
      scope: 'run',
    });
    expect({
      status: created.status,
      url: created.body.authorizationUrl,
      connectedAt: created.body.connection['connectedAt'],
    }).toEqual({ status: 201, url: null, connectedAt: expect.any(String) });
    gateway.setClock(new Date(Date.now() + 3_700_000));
    const tested = await gateway.graphql<{ testMcpServer: { __typename: string } }>(key, TEST, {
      id: created.body.connection.id,
    });
    expect(tested.data?.testMcpServer.__typename).toBe('TestMcpServerPayload');
    expect(fixture.tokenRequests.map((form) => [form.get('grant_type'), form.get('scope')])).toEqual([
      ['client_credentials', 'run'],
      ['client_credentials', 'run'],
    ]);
    const refused = await create({ authType: 'client_credentials', clientId: 'machine', clientSecret: 'wrong' });
    expect({ status: refused.status, body: refused.body }).toEqual({
      status: 502,
      body: { error: 'the authorization server refused: invalid_client' },
    });
  });

  test('the client id metadata document says what this client is', async () => {
    const response = await gateway.fetch('/v1/mcp-connections/oauth/client-metadata.json');
    expect(await response.json()).toEqual({
      client_id: 'http://127.0.0.1:4000/v1/mcp-connections/oauth/client-metadata.json',
      client_uri: 'http://127.0.0.1:4000',
      client_name: 'Workspace gateway',
      redirect_uris: ['http://127.0.0.1:4000/v1/mcp-connections/oauth/callback'],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
      application_type: 'native',
    });
  });

  test('credentials of one issuer are not shown to another: a server that moves to another authorization server has to be authorized anew', async () => {
    await start();
    fixture.addClient('mine', 'my-client-secret');
    const id = await connect({ clientId: 'mine', clientSecret: 'my-client-secret' });
    const thief = await startOAuthFixture();
    fixtures.push(thief);
    fixture.revokeAll();
    fixture.resourceMetadata = { authorization_servers: [thief.issuer.origin] };
    const again = await gateway.rest<{ error: string }>('POST', `/v1/mcp-connections/${id}/authorize`, { key });
    expect({ status: again.status, body: again.body }).toEqual({
      status: 502,
      body: { error: expect.stringContaining('names another authorization server') },
    });
    expect(thief.tokenRequests).toEqual([]);
    expect((await status(id)).status).toBe('MISCONFIGURED');
  });
});

describe('the subscription', () => {
  test('tells of the present state, and of each change that another process makes, and ends with the connection', async () => {
    await start();
    const second = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' }, { beside: gateway });
    const created = await create();
    const { id } = created.body.connection;
    const response = await gateway.fetch('/graphql', {
      method: 'POST',
      headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', Accept: 'text/event-stream' },
      body: JSON.stringify({
        query: 'subscription ($id: ID!) { mcpServer(mcpServerId: $id) { name status } }',
        variables: { id },
      }),
    });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = '';
    const until = async (part: string) => {
      while (!text.includes(part)) {
        const { done, value } = (await reader?.read()) ?? { done: true };
        if (done) break;
        text += value;
      }
      expect(text).toContain(part);
    };
    await until('"status":"PENDING_AUTHORIZATION"');
    const url = fixture.consent(created.body.authorizationUrl ?? '');
    expect((await second.fetch(url.pathname + url.search)).status).toBe(200);
    await until('"status":"CONNECTED"');
    await second.graphql(
      key,
      'mutation ($id: ID!) { updateMcpServer(input: { mcpServerId: $id, name: "renamed" }) { __typename } }',
      { id },
    );
    await until('"name":"renamed"');
    await second.graphql(key, 'mutation ($id: ID!) { deleteMcpServer(input: { mcpServerId: $id }) { __typename } }', {
      id,
    });
    await until('event: complete');
    await second.close();
  });
});

describe('deletion', () => {
  test('takes the secrets along, and revokes the token at the server', async () => {
    await start();
    const id = await connect();
    const deleted = await gateway.graphql<{ deleteMcpServer: object }>(
      key,
      `mutation ($id: ID!) { deleteMcpServer(input: { mcpServerId: $id }) { __typename ... on DeleteMcpServerPayload { deletedId } } }`,
      { id },
    );
    expect(deleted.data?.deleteMcpServer).toEqual({
      __typename: 'DeleteMcpServerPayload',
      deletedId: Buffer.from(`McpServer:${id}`).toString('base64'),
    });
    expect(await gateway.dependencies.sql.query('select 1 from secret where owner_id = $1', [id])).toEqual([]);
    expect(fixture.revoked).toHaveLength(1);
    expect(fixture.secrets.has(fixture.revoked[0] ?? '')).toBe(true);
  });
});
