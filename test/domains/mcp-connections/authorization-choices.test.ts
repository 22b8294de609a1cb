import { describe, expect, test } from 'vitest';
import { AuthorizedConnections, clientIdIn, json } from '../../support/fixtures/authorized-connections.ts';

/** What decides whether and how a connection is authorized. */

const connections = new AuthorizedConnections();

describe('tokens are kept', () => {
  const hasTokens = async (id: string) =>
    (
      await connections.gateway.dependencies.sql.query(
        `select 1 from secret where owner_id = $1 and field = 'tokens'`,
        [id],
      )
    ).length > 0;

  test.each([
    [400, { error: 'invalid_request' }],
    [400, { error: 'invalid_scope' }],
    [404, {}],
  ])('when a refresh is refused with %d %j, which asks for an authorization', async (code, body) => {
    await connections.start();
    const id = await connections.connect();
    connections.fixture.onToken = (request, response) => json(body, code)(request, response);
    connections.advance(3700);
    expect(await connections.use(id)).toMatch(/^the MCP connection must be authorized: the authorization server /);
    expect(await connections.status(id)).toMatchObject({ status: 'AUTHORIZATION_REQUIRED', nextAction: 'AUTHORIZE' });
    expect(await hasTokens(id)).toBe(true);
    connections.fixture.onToken = undefined;
    connections.advance(3720);
    expect(await connections.use(id)).toBe('TestMcpServerPayload');
  });

  test('when the MCP server refuses even a new token for a while', async () => {
    await connections.start();
    const id = await connections.connect();
    const serve = connections.fixture.mcp.handler;
    connections.answer(
      'mcp',
      '/mcp',
      (_, response) => void response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end(),
    );
    expect(await connections.use(id)).toBe(
      'the MCP connection must be authorized: the MCP server does not accept the access token',
    );
    expect(await connections.status(id)).toMatchObject({ status: 'AUTHORIZATION_REQUIRED' });
    connections.fixture.mcp.handler = serve;
    expect(await connections.use(id)).toBe('TestMcpServerPayload');
    expect(await connections.status(id)).toMatchObject({ status: 'CONNECTED' });
  });
});

describe('a server that works without authorization', () => {
  async function startOpen(): Promise<void> {
    await connections.start();
    connections.fixture.isOpen = true;
  }

  test('is connected at once, and `authorize` starts OAuth if it publishes resource metadata', async () => {
    await startOpen();
    const created = await connections.create();
    expect(created).toMatchObject({ status: 201, body: { authorizationUrl: null } });
    const { id } = created.body.connection;
    const again = await connections.authorize(id);
    expect(clientIdIn(again.body.authorizationUrl)).toMatch(/^client-/);
    expect((await connections.consent(again.body.authorizationUrl)).status).toBe(200);
  });

  test('begins OAuth at once if the owner gave a client', async () => {
    await startOpen();
    connections.fixture.addClient('mine', 'my secret');
    const created = await connections.create({
      clientId: 'mine',
      clientSecret: 'my secret',
      oauthRegistration: 'pre_registered',
    });
    expect(clientIdIn(created.body.authorizationUrl)).toBe('mine');
  });
});

describe('settings', () => {
  async function connectWith(settings: object): Promise<string> {
    const { id, url } = await connections.createWith(settings);
    expect((await connections.consent(url)).status).toBe(200);
    return id;
  }

  test('audience and resource are sent in authorization, token and refresh requests', async () => {
    await connections.start();
    const resource = 'urn:api:tools';
    connections.fixture.resourceMetadata = { resource };
    const id = await connectWith({ audience: 'the tools', resource });
    connections.advance(3700);
    expect(await connections.use(id)).toBe('TestMcpServerPayload');
    const sent = connections.fixture.tokenRequests.map((form) => [
      form.get('grant_type'),
      form.get('audience'),
      form.get('resource'),
    ]);
    expect(sent).toEqual([
      ['authorization_code', 'the tools', resource],
      ['refresh_token', 'the tools', resource],
    ]);
    const { url } = await connections.createWith({ audience: 'the tools', resource });
    const { searchParams } = new URL(url ?? '');
    expect([searchParams.get('audience'), searchParams.get('resource')]).toEqual(['the tools', resource]);
  });

  test('an empty resource is never sent', async () => {
    await connections.start();
    const { id, url } = await connections.createWith({ resource: '' });
    expect(new URL(url ?? '').searchParams.has('resource')).toBe(false);
    expect((await connections.consent(url)).status).toBe(200);
    connections.advance(3700);
    expect(await connections.use(id)).toBe('TestMcpServerPayload');
    expect(connections.fixture.tokenRequests.map((form) => form.get('resource'))).toEqual([null, null]);
  });

  test('audience is sent with client credentials', async () => {
    await connections.start();
    connections.fixture.addClient('machine', 'machine secret');
    const credentials = { authType: 'client_credentials', clientId: 'machine', clientSecret: 'machine secret' };
    await connections.createWith({ audience: 'api' }, credentials);
    expect(connections.fixture.tokenRequests.at(-1)?.get('audience')).toBe('api');
  });

  test('a server that does not announce PKCE can be authorized if allowMissingPkceMetadata is set; PKCE is used', async () => {
    await connections.start();
    connections.fixture.metadata = { code_challenge_methods_supported: undefined };
    const refused = await connections.create();
    expect(refused.body.error).toContain('set allowMissingPkceMetadata in the settings of the connection');
    const id = await connectWith({ allowMissingPkceMetadata: true });
    expect(await connections.use(id)).toBe('TestMcpServerPayload');
    expect(connections.fixture.tokenRequests[0]?.get('code_verifier')).toMatch(/.{43}/);
  });
});
