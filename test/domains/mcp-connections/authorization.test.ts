import { afterEach, beforeAll, describe, expect, test } from 'vitest';
import { useTestGateway } from '../../support/fixtures/gateway.ts';
import {
  type ConnectionAnswer,
  TEST_CONNECTION,
  createConnection,
  readStatus,
  visit,
} from '../../support/fixtures/mcp-connections.ts';
import { type OAuthFixture, startOAuthFixture } from '../../support/peers/mcp-authorization-server.ts';

const gateway = useTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
let fixture: OAuthFixture;
let key: string;
let count = 0;
beforeAll(async () => {
  key = (await gateway.createKey()).key;
});
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
  return createConnection(gateway, key, { name: `connection ${count}`, serverUrl: fixture.serverUrl, ...body });
}

const status = (id: string) => readStatus(gateway, key, id);
const callback = (url: URL) => visit(gateway, url);

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

async function read(id: string) {
  const answer = await gateway.graphql<{ node: Server }>(key, READ, {
    id: Buffer.from(`McpServer:${id}`).toString('base64'),
  });
  return { node: answer.data?.node, errors: answer.errors };
}

async function connect(body: Record<string, unknown> = {}): Promise<string> {
  const created = await create(body);
  expect(created).toMatchObject({ status: 201 });
  const page = await callback(fixture.consent(created.body.authorizationUrl ?? ''));
  expect(page).toMatchObject({ status: 200 });
  return created.body.connection.id;
}

test('a connection is created, authorized and connected, lists its tools, refreshes its token, loses it by revocation, and is authorized again', async () => {
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
    statusReason: 'the user must complete the authorization',
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

  // One second before the token expires, within the time in which it is refreshed.
  gateway.setClock(new Date(Date.now() + 3_599_000));
  const tested = await gateway.graphql<{ testMcpServer: object }>(key, TEST_CONNECTION, { id });
  expect(tested.data?.testMcpServer).toEqual({
    __typename: 'TestMcpServerPayload',
    info: { name: 'fixture', version: '1.2.3', protocolVersion: '2026-07-28' },
  });
  expect(fixture.tokenRequests.map((form) => [form.get('grant_type'), form.get('resource')])).toEqual([
    ['authorization_code', fixture.serverUrl],
    ['refresh_token', fixture.serverUrl],
  ]);

  fixture.revokeAll();
  // A token is not refreshed again within 10 seconds.
  gateway.setClock(new Date(Date.now() + 3_610_000));
  const failed = await gateway.graphql<{ testMcpServer: { message: string } }>(key, TEST_CONNECTION, { id });
  const reason =
    'the authorization server no longer accepts the refresh token (invalid_grant): it has expired or was revoked';
  expect(failed.data?.testMcpServer).toEqual({
    __typename: 'RemoteFailedError',
    message: `the MCP connection must be authorized: ${reason}`,
  });
  expect(await status(id)).toEqual({ status: 'AUTHORIZATION_REQUIRED', statusReason: reason, nextAction: 'AUTHORIZE' });

  const again = await gateway.rest<ConnectionAnswer>('POST', `/v1/mcp-connections/${id}/authorize`, { key });
  expect({ status: again.status, connectedAt: again.body.connection['connectedAt'] }).toEqual({
    status: 200,
    connectedAt: null,
  });
  expect((await callback(fixture.consent(again.body.authorizationUrl ?? ''))).status).toBe(200);
  expect(await status(id)).toEqual({ status: 'CONNECTED', statusReason: null, nextAction: 'NONE' });
  // Both authorizations used the same client registration.
  expect(fixture.registrations).toHaveLength(1);
  // A connection that works needs no new authorization.
  const third = await gateway.rest<ConnectionAnswer>('POST', `/v1/mcp-connections/${id}/authorize`, { key });
  expect({ status: third.status, url: third.body.authorizationUrl }).toEqual({ status: 200, url: null });
});

describe('the callback', () => {
  test('completes an authorization once: of ten concurrent callbacks one succeeds, and a later one is unknown', async () => {
    await start();
    const created = await create();
    const url = fixture.consent(created.body.authorizationUrl ?? '');
    const pages = await Promise.all(Array.from({ length: 10 }, () => callback(url)));
    expect(pages.map((page) => page.status).toSorted((a, b) => a - b)).toEqual([
      200, 400, 400, 400, 400, 400, 400, 400, 400, 400,
    ]);
    const replay = await callback(url);
    expect(replay.text).toContain('This authorization is unknown');
    expect(fixture.tokenRequests).toHaveLength(1);
    expect((await status(created.body.connection.id)).status).toBe('CONNECTED');
  });

  test('refuses a state that is unknown, missing, repeated or older than 10 minutes, and its page repeats nothing from the URL', async () => {
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
        known: page.text.includes('This authorization is unknown'),
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

  test('refuses the state of an authorization that was replaced by a newer one; HEAD does not use up a state', async () => {
    await start();
    const created = await create();
    const newer = await gateway.rest<ConnectionAnswer>(
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
  ])('%s in the response: the code is not redeemed, and the page shows the reason', async (_, change) => {
    await start();
    const created = await create();
    const url = fixture.consent(created.body.authorizationUrl ?? '');
    change(url);
    const page = await callback(url);
    expect(page.status).toBe(400);
    expect(page.text).toContain('names another issuer than expected');
    expect(fixture.tokenRequests).toHaveLength(0);
    expect((await status(created.body.connection.id)).status).toBe('AUTHORIZATION_REQUIRED');
  });

  test.each([
    ['another issuer', (url: URL) => url.searchParams.set('iss', 'https://evil.example')],
    ['no issuer, though the server announces one', (url: URL) => url.searchParams.delete('iss')],
  ])('%s in an error response: its error is not shown (RFC 9207)', async (_, change) => {
    await start();
    const created = await create();
    const url = fixture.consent(created.body.authorizationUrl ?? '');
    url.searchParams.delete('code');
    url.searchParams.set('error', 'access_denied');
    change(url);
    const page = await callback(url);
    const reason = 'the response names another issuer than the authorization server that was asked (RFC 9207)';
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

  test('the page shows the code of a refusal, and the description by the server in quotes and escaped', async () => {
    await start();
    const created = await create({ name: '<b>bold</b> & co' });
    const url = fixture.consent(created.body.authorizationUrl ?? '');
    url.searchParams.delete('code');
    url.searchParams.set('error', 'access_denied');
    url.searchParams.set('error_description', '<script>alert(1)</script>');
    const page = await callback(url);
    expect(page.text).toContain(
      'The MCP connection “&lt;b&gt;bold&lt;/b&gt; &amp; co” was not connected: the authorization server refused: access_denied: &quot;&lt;script&gt;alert(1)&lt;/script&gt;&quot;.',
    );
    expect(page.text).not.toContain('<script');
    expect(await status(created.body.connection.id)).toEqual({
      status: 'AUTHORIZATION_REQUIRED',
      statusReason: 'the authorization server refused: access_denied: "<script>alert(1)</script>"',
      nextAction: 'AUTHORIZE',
    });
  });

  test('is refused if the user who started the authorization has lost the right since', async () => {
    await start();
    const admin = await gateway.createKey();
    const created = await gateway.rest<ConnectionAnswer>('POST', '/v1/mcp-connections', {
      key: admin.key,
      body: { name: 'left', serverUrl: fixture.serverUrl },
    });
    await gateway.dependencies.sql.query('update membership set role = $1 where user_id = $2', [
      'member',
      admin.userId,
    ]);
    const page = await callback(fixture.consent(created.body.authorizationUrl ?? ''));
    expect(page.status).toBe(400);
    expect(page.text).toContain('This authorization is unknown');
    expect(fixture.tokenRequests).toHaveLength(0);
    const stored = 'select connected_at from mcp_connection where id = $1';
    expect(await gateway.dependencies.sql.query(stored, [created.body.connection.id])).toEqual([
      { connected_at: null },
    ]);
  });
});

describe('a client that was registered dynamically', () => {
  const authorize = async (id: string) =>
    (await gateway.rest<ConnectionAnswer>('POST', `/v1/mcp-connections/${id}/authorize`, { key })).body
      .authorizationUrl ?? '';
  const begin = async (name: string) => {
    await start();
    const body = { name, serverUrl: fixture.serverUrl };
    const created = await gateway.rest<ConnectionAnswer>('POST', '/v1/mcp-connections', { key, body });
    return { id: created.body.connection.id, url: created.body.authorizationUrl ?? '' };
  };

  test('is registered again if an authorization has not come back', async () => {
    const { id } = await begin('never came back');
    const again = await authorize(id);
    expect(fixture.registrations).toHaveLength(2);
    expect((await callback(fixture.consent(again))).status).toBe(200);
    // A registration that works is used again.
    await authorize(id);
    expect(fixture.registrations).toHaveLength(2);
  });

  test('is registered again if the server does not know it at the exchange of the code, or says so when it comes back', async () => {
    const { id, url } = await begin('forgotten');
    const serve = fixture.onToken;
    fixture.onToken = (_, response) =>
      void response.writeHead(401, { 'Content-Type': 'application/json' }).end('{"error":"invalid_client"}');
    expect((await callback(fixture.consent(url))).text).toContain('invalid_client');
    fixture.onToken = serve;
    const state = new URL(await authorize(id)).searchParams.get('state') ?? '';
    expect(fixture.registrations).toHaveLength(2);
    const back = new URLSearchParams({ state, error: 'unauthorized_client', iss: fixture.issuer.origin });
    await callback(new URL(`/v1/mcp-connections/oauth/callback?${back}`, 'http://gateway'));
    expect((await callback(fixture.consent(await authorize(id)))).status).toBe(200);
    expect(fixture.registrations).toHaveLength(3);
  });
});

describe('the key that started an authorization', () => {
  test.each(['revoked', 'expired'])('completes nothing after it is %s, and the code is not redeemed', async (end) => {
    await start();
    const starter = await gateway.createKey();
    const { organization, email } = starter;
    const other = await gateway.createKey({ organization, email });
    const created = await gateway.rest<ConnectionAnswer>('POST', '/v1/mcp-connections', {
      key: starter.key,
      body: { name: `of a key that is ${end}`, serverUrl: fixture.serverUrl, visibility: 'shared' },
    });
    if (end === 'revoked') await gateway.rest('DELETE', `/v1/api-keys/${starter.keyId}`, { key: other.key });
    else await gateway.dependencies.sql.query('update api_key set expires_at = now() where id = $1', [starter.keyId]);
    const page = await callback(fixture.consent(created.body.authorizationUrl ?? ''));
    expect([page.status, page.text.includes('This authorization is unknown')]).toEqual([400, true]);
    expect(fixture.tokenRequests).toHaveLength(0);
    const stored = 'select connected_at from mcp_connection where id = $1';
    expect(await gateway.dependencies.sql.query(stored, [created.body.connection.id])).toEqual([
      { connected_at: null },
    ]);
  });
});

describe('deletion', () => {
  test('deletes the secrets, and revokes the token at the authorization server', async () => {
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
