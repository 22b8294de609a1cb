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
import { sampled } from '../../support/sample.ts';

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

async function connect(body: Record<string, unknown> = {}): Promise<string> {
  const created = await create(body);
  expect(created).toMatchObject({ status: 201 });
  const page = await callback(fixture.consent(created.body.authorizationUrl ?? ''));
  expect(page).toMatchObject({ status: 200 });
  return created.body.connection.id;
}

describe('discovery', () => {
  sampled(test, 4).each<[string, () => void, string]>([
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
      'names another issuer than expected: "https://evil.example" instead of "http://127.0.0.1:',
    ],
    [
      'metadata of another resource',
      () => (fixture.resourceMetadata = { resource: 'https://evil.example/mcp' }),
      'publishes the metadata of another resource: "https://evil.example/mcp" instead of "http://127.0.0.1:',
    ],
    [
      'no registration',
      () => (fixture.metadata = { registration_endpoint: undefined }),
      'does not support client registration',
    ],
    [
      'a registration that is refused with a reason',
      () =>
        (fixture.metadata = {
          registration_endpoint: `${fixture.issuer.origin}/refuses?${new URLSearchParams({ error: 'invalid_redirect_uri', error_description: 'Only <b>known</b>\nhosts' })}`,
        }),
      'refused the registration of this client: invalid_redirect_uri: "Only <b>known</b>?hosts" (HTTP 400 at 127.0.0.1:',
    ],
    [
      'an authorization endpoint that is a script',
      () => (fixture.metadata = { authorization_endpoint: 'javascript:alert(1)' }),
      'discovery of the authorization server',
    ],
    [
      'an authorization endpoint that is data',
      () => (fixture.metadata = { authorization_endpoint: 'data:text/html,x' }),
      'discovery of the authorization server',
    ],
    [
      'an authorization endpoint that is a file',
      () => (fixture.metadata = { authorization_endpoint: 'file:///etc/passwd' }),
      'answered with a malformed document (authorization_endpoint: must be an http or https URL)',
    ],
    [
      'an authorization server that is a file',
      () => (fixture.resourceMetadata = { authorization_servers: ['file:///etc/passwd'] }),
      'discovery of the authorization server',
    ],
    ['malformed metadata', () => (fixture.metadata = { token_endpoint: 7 }), 'answered with a malformed document'],
  ])('%s: 502 with the cause, and no connection is stored', async (_, misbehave, cause) => {
    await start();
    misbehave();
    const before = await gateway.dependencies.sql.query('select id from mcp_connection', []);
    const created = await create();
    expect({ status: created.status, body: created.body }).toEqual({
      status: 502,
      body: { error: expect.stringContaining(cause) },
    });
    expect(await gateway.dependencies.sql.query('select id from mcp_connection', [])).toEqual(before);
  });

  test('the requested scope comes from the connection, else from the challenge, else from the resource metadata; offline_access is added unless the connection names a scope', async () => {
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

  test('if a server requires more scopes, the next authorization requests the old and the new scopes', async () => {
    await start();
    fixture.challengeScope = 'basic';
    const id = await connect();
    fixture.requiredScope = 'more';
    const failed = await gateway.graphql<{ testMcpServer: object }>(key, TEST_CONNECTION, { id });
    expect(failed.data?.testMcpServer).toEqual({
      __typename: 'RemoteFailedError',
      message: expect.stringContaining('the server requires more scopes than were granted'),
    });
    const again = await gateway.rest<ConnectionAnswer>('POST', `/v1/mcp-connections/${id}/authorize`, { key });
    expect(new URL(again.body.authorizationUrl ?? '').searchParams.get('scope')?.split(' ').toSorted()).toEqual([
      'basic',
      'more',
    ]);
    expect((await callback(fixture.consent(again.body.authorizationUrl ?? ''))).status).toBe(200);
    expect((await status(id)).status).toBe('CONNECTED');
  });
});

describe('clients', () => {
  test('a pre-registered client is used without registering another', async () => {
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

  test('a connection with client credentials is connected immediately, and gets a new token when the old one has expired', async () => {
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
    const tested = await gateway.graphql<{ testMcpServer: { __typename: string } }>(key, TEST_CONNECTION, {
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
      body: {
        error: `the authorization server refused: invalid_client: "<script>alert(1)</script>" (HTTP 401 at ${new URL(fixture.issuer.origin).host}/token); check clientId and clientSecret, or authorize again to register a new client`,
      },
    });
  });

  test('the client id metadata document describes the gateway as an OAuth client', async () => {
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

  test('client credentials are never sent to another authorization server: if the MCP server changes to one, the connection is MISCONFIGURED', async () => {
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
