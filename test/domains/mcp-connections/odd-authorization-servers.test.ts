import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, test } from 'vitest';
import { visit } from '../../support/fixtures/mcp-connections.ts';
import {
  AuthorizedConnections,
  CLIENT_DOCUMENT,
  clientIdIn,
  json,
} from '../../support/fixtures/authorized-connections.ts';
import { sampled } from '../../support/sample.ts';

/** Authorization servers that break the specifications, as people use them. */

const connections = new AuthorizedConnections();

const html = (_: IncomingMessage, response: ServerResponse) =>
  void response.writeHead(200, { 'Content-Type': 'text/html' }).end('<h1>App</h1>');
const failing = (code: number) => (_: IncomingMessage, response: ServerResponse) =>
  void response.writeHead(code, { 'Content-Type': 'text/plain' }).end('oops');

const RESOURCE = '/.well-known/oauth-protected-resource';
const OAUTH = '/.well-known/oauth-authorization-server';
const OPENID = '/.well-known/openid-configuration';
/** The metadata of the connections.fixture at another path, with other members. */
const metadata = (more: object = {}) => ({
  issuer: connections.fixture.issuer.origin,
  authorization_endpoint: `${connections.fixture.issuer.origin}/authorize`,
  token_endpoint: `${connections.fixture.issuer.origin}/token`,
  registration_endpoint: `${connections.fixture.issuer.origin}/register`,
  response_types_supported: ['code'],
  code_challenge_methods_supported: ['S256'],
  authorization_response_iss_parameter_supported: true,
  ...more,
});

/** The resource metadata are only at the place that the challenge names. */
function challengeWith(challengeOf: (place: string) => string): void {
  const place = '/meta/resource.json';
  const { mcp, serverUrl, issuer } = connections.fixture;
  connections.answer('mcp', `${RESOURCE}/mcp`, failing(404));
  connections.answer('mcp', place, json({ resource: serverUrl, authorization_servers: [issuer.origin] }));
  const { handler } = mcp;
  mcp.handler = (request, response) => {
    const writeHead = response.writeHead.bind(response) as (code: number, headers?: object) => ServerResponse;
    response.writeHead = ((code: number, headers: object = {}) =>
      writeHead(
        code,
        code === 401 ? { 'WWW-Authenticate': challengeOf(place) } : headers,
      )) as typeof response.writeHead;
    handler(request, response);
  };
}

const DISCOVERY: Readonly<Record<string, () => void>> = {
  'an issuer with a last slash in its metadata only': () => {
    connections.fixture.metadata = { issuer: `${connections.fixture.issuer.origin}/` };
  },
  'a web page at the first place': () => {
    connections.answer('issuer', OAUTH, html);
    connections.answer('issuer', OPENID, json(metadata()));
  },
  'HTTP 500 at the first place': () => {
    connections.answer('issuer', OAUTH, failing(500));
    connections.answer('issuer', OPENID, json(metadata()));
  },
  'metadata of another issuer at the first place': () => {
    connections.answer('issuer', OAUTH, json(metadata({ issuer: 'https://other.example' })));
    connections.answer('issuer', OPENID, json(metadata()));
  },
  'a closed connection at the first place': () => {
    connections.answer('issuer', OAUTH, (request) => request.socket.destroy());
    connections.answer('issuer', OPENID, json(metadata()));
  },
  'a second authorization server that works': () => {
    connections.fixture.resourceMetadata = {
      authorization_servers: [`${connections.fixture.mcp.origin}/gone`, connections.fixture.issuer.origin],
    };
  },
  'resource metadata that the challenge names but that are missing': () => {
    connections.answer('mcp', `${RESOURCE}/elsewhere`, failing(404));
    const { handler } = connections.fixture.mcp;
    connections.fixture.mcp.handler = (request, response) => {
      const writeHead = response.writeHead.bind(response) as (code: number, headers?: object) => ServerResponse;
      const challenge = `Bearer resource_metadata="${connections.fixture.mcp.origin}${RESOURCE}/elsewhere"`;
      response.writeHead = ((code: number, headers: object = {}) =>
        writeHead(code, code === 401 ? { 'WWW-Authenticate': challenge } : headers)) as typeof response.writeHead;
      handler(request, response);
    };
  },
  'resource metadata of another server at the path, and its own at the root': () => {
    const own = { resource: connections.fixture.serverUrl, authorization_servers: [connections.fixture.issuer.origin] };
    connections.answer('mcp', `${RESOURCE}/mcp`, json({ ...own, resource: `${connections.fixture.mcp.origin}/other` }));
    connections.answer('mcp', RESOURCE, json(own));
  },
  'nulls in the resource metadata': () => {
    connections.fixture.resourceMetadata = { scopes_supported: null, resource_name: null, jwks_uri: null };
  },
  'nulls in the metadata': () => {
    connections.fixture.metadata = { scopes_supported: null, jwks_uri: null, introspection_endpoint: null };
  },
  'texts instead of lists in the metadata': () => {
    connections.fixture.metadata = {
      code_challenge_methods_supported: 'S256',
      scopes_supported: 'a b',
      grant_types_supported: 7,
    };
  },
  'no response types': () => {
    connections.fixture.metadata = { response_types_supported: undefined };
  },
  'response types of other flows': () => {
    connections.fixture.metadata = { response_types_supported: ['token', 'code id_token'] };
  },
  'empty and malformed addresses that are not needed': () => {
    connections.fixture.metadata = { revocation_endpoint: '/revoke', service_documentation: '', jwks_uri: 'none' };
  },
  'lists with items of other types, and flags as text': () => {
    connections.fixture.metadata = {
      code_challenge_methods_supported: [null, 1, 'S256'],
      scopes_supported: { read: true },
      token_endpoint_auth_methods_supported: [1, 'client_secret_basic'],
      authorization_response_iss_parameter_supported: 'true',
    };
    connections.fixture.resourceMetadata = { authorization_servers: ['', 7, connections.fixture.issuer.origin] };
  },
  'a challenge with a relative address': () => challengeWith((place) => `Bearer resource_metadata="${place}"`),
  'a challenge in single quotes, after a semicolon': () =>
    challengeWith((place) => `Bearer realm='x'; resource_metadata='${connections.fixture.mcp.origin}${place}'`),
  'a challenge without a scheme': () =>
    challengeWith((place) => `resource_metadata="${connections.fixture.mcp.origin}${place}"`),
  'a first authorization server that registers nobody': () => {
    const { issuer } = connections.fixture;
    connections.answer(
      'issuer',
      `${OAUTH}/first`,
      json(metadata({ issuer: `${issuer.origin}/first`, registration_endpoint: null })),
    );
    connections.fixture.resourceMetadata = { authorization_servers: [`${issuer.origin}/first`, issuer.origin] };
  },
  'a first authorization server without PKCE': () => {
    const { issuer } = connections.fixture;
    const first = metadata({ issuer: `${issuer.origin}/first`, code_challenge_methods_supported: undefined });
    connections.answer('issuer', `${OAUTH}/first`, json(first));
    connections.fixture.resourceMetadata = { authorization_servers: [`${issuer.origin}/first`, issuer.origin] };
  },
};

describe('discovery', () => {
  sampled(test, 5).each(Object.entries(DISCOVERY))('%s: the connection is authorized', async (_, misbehave) => {
    await connections.start();
    misbehave();
    expect(await connections.use(await connections.connect())).toBe('TestMcpServerPayload');
  });

  test('a server that works without authorization and names no authorization server stays connected', async () => {
    await connections.start();
    connections.fixture.isOpen = true;
    connections.fixture.resourceMetadata = { authorization_servers: [] };
    const created = await connections.create();
    const again = await connections.authorize(created.body.connection.id);
    expect({ status: again.status, url: again.body.authorizationUrl }).toEqual({ status: 200, url: null });
  });

  test('what each place has answered is in the message', async () => {
    await connections.start();
    connections.answer('issuer', OAUTH, failing(500));
    connections.answer('issuer', OPENID, html);
    const host = new URL(connections.fixture.issuer.origin).host;
    expect((await connections.create()).body.error).toBe(
      `the MCP server requires authorization, but discovery of the authorization server found no metadata that can be used: ${host}${OAUTH} answered with HTTP 500 (text/plain); ${host}${OPENID} answered with text/html instead of a JSON object`,
    );
  });

  test('JSON that is nested too deeply is an error of the server', async () => {
    await connections.start();
    const deep = '['.repeat(50_000) + ']'.repeat(50_000);
    connections.answer('issuer', OAUTH, (_, response) => {
      const { issuer } = connections.fixture;
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(`{"issuer":"${issuer.origin}","x":${deep}}`);
    });
    const created = await connections.create();
    expect({ status: created.status, error: created.body.error }).toEqual({
      status: 502,
      error: expect.stringContaining(
        `${new URL(connections.fixture.issuer.origin).host} answers with JSON that is nested too deeply`,
      ),
    });
  });
});

/** Changes the answer of the registration. */
function registered(change: (document: Record<string, unknown>) => object): void {
  const { handler } = connections.fixture.issuer;
  connections.fixture.issuer.handler = (request, response) => {
    if (request.url === '/register') {
      const end = response.end.bind(response) as (body: string) => ServerResponse;
      response.end = ((body: string) =>
        end(JSON.stringify(change(JSON.parse(body) as Record<string, unknown>)))) as typeof response.end;
    }
    handler(request, response);
  };
}

describe('registration', () => {
  sampled(test, 3).each<[string, (document: Record<string, unknown>) => object]>([
    [
      'nulls and empty texts',
      (document) => ({
        ...document,
        scope: null,
        contacts: null,
        client_secret_expires_at: null,
        token_endpoint_auth_method: '',
      }),
    ],
    ['nothing but the client', ({ client_id, client_secret }) => ({ client_id, client_secret })],
    [
      'odd members',
      (document) => ({
        ...document,
        redirect_uris: 'none',
        grant_types: {},
        logo_uri: 'x',
        client_id_issued_at: 'now',
      }),
    ],
  ])('answered with %s: the connection is authorized and refreshed', async (_, change) => {
    await connections.start();
    registered(change);
    const id = await connections.connect();
    connections.advance(3700);
    expect(await connections.use(id)).toBe('TestMcpServerPayload');
  });

  test('the method of the registration is used, although the metadata do not list it', async () => {
    await connections.start();
    connections.fixture.metadata = { token_endpoint_auth_methods_supported: ['none'] };
    connections.fixture.addClient('given', 'its secret');
    registered(() => ({
      client_id: 'given',
      client_secret: 'its secret',
      token_endpoint_auth_method: 'client_secret_post',
    }));
    expect(await connections.use(await connections.connect())).toBe('TestMcpServerPayload');
    expect(connections.fixture.tokenRequests.map((form) => form.get('client_secret'))).toEqual(['its secret']);
  });

  test.each(['none', 'client_secret_post'])(
    'a client with a secret whose registration says %s is also tried with the method that the server takes',
    async (method) => {
      await connections.start();
      connections.fixture.addClient('given', 'its-secret');
      registered(() => ({ client_id: 'given', client_secret: 'its-secret', token_endpoint_auth_method: method }));
      connections.fixture.onToken = ({ headers }, response, reply) =>
        headers.authorization === undefined
          ? json({ error: 'invalid_request', error_description: 'the client must authenticate' }, 400)(
              {} as IncomingMessage,
              response,
            )
          : reply();
      expect(await connections.use(await connections.connect())).toBe('TestMcpServerPayload');
    },
  );

  test('the client id metadata document is used only where `none` is among the methods', async () => {
    await connections.start();
    const supported = { client_id_metadata_document_supported: true };
    const methods = (...token_endpoint_auth_methods_supported: string[]) => {
      connections.fixture.metadata = { ...supported, token_endpoint_auth_methods_supported };
    };
    methods('client_secret_basic', 'none');
    expect(clientIdIn((await connections.create()).body.authorizationUrl)).toBe(CLIENT_DOCUMENT);
    methods('client_secret_basic');
    expect(clientIdIn((await connections.create()).body.authorizationUrl)).toMatch(/^client-/);
  });

  sampled(test, 3).each<[string, (id: string, url: string | null) => Promise<unknown>]>([
    ['does not come back', async () => undefined],
    [
      'is refused as an invalid request',
      async (_, url) => {
        const back = connections.fixture.consent(url ?? '');
        back.search = new URLSearchParams({
          error: 'invalid_request',
          state: back.searchParams.get('state') ?? '',
          iss: connections.fixture.issuer.origin,
        }).toString();
        expect((await visit(connections.gateway, back)).text).toContain('invalid_request');
      },
    ],
    [
      'gets a token that the MCP server forbids',
      async (_, url) => {
        const serve = connections.fixture.mcp.handler;
        connections.answer('mcp', '/mcp', (__, response) => void response.writeHead(403).end());
        expect((await connections.consent(url)).text).toContain('HTTP 403');
        connections.fixture.mcp.handler = serve;
      },
    ],
    [
      'gets a token that the MCP server refuses',
      async (_, url) => {
        const serve = connections.fixture.mcp.handler;
        connections.answer(
          'mcp',
          '/mcp',
          (__, response) => void response.writeHead(401, { 'WWW-Authenticate': 'Bearer' }).end(),
        );
        expect((await connections.consent(url)).text).toContain('the MCP server refuses the new token');
        connections.fixture.mcp.handler = serve;
      },
    ],
  ])('if an authorization with the document %s, the next one registers a client', async (_, fail) => {
    await connections.start();
    connections.fixture.metadata = { client_id_metadata_document_supported: true };
    connections.fixture.addClient(CLIENT_DOCUMENT);
    const { authorizationUrl, connection } = (await connections.create()).body;
    expect(clientIdIn(authorizationUrl)).toBe(CLIENT_DOCUMENT);
    await fail(connection.id, authorizationUrl);
    connections.fixture.revokeAll();
    const again = await connections.authorize(connection.id);
    expect(clientIdIn(again.body.authorizationUrl)).toMatch(/^client-/);
    expect((await connections.consent(again.body.authorizationUrl)).status).toBe(200);
    expect(await connections.use(connection.id)).toBe('TestMcpServerPayload');
  });
});

describe('clients that the server has forgotten', () => {
  const refusedBy = (status: number, body: unknown) => {
    connections.fixture.onToken = (request, response) => json(body, status)(request, response);
  };
  sampled(test, 2).each<[number, unknown]>([
    [401, 'Unauthorized'],
    [401, { error: 'unauthorized' }],
    [400, { error: 'INVALID_CLIENT' }],
    [400, { error: 'invalid_request', error_description: 'unknown client_id' }],
    [404, { error: 'client_not_found' }],
    [400, { error: { code: 'invalid_client', message: 'gone' } }],
  ])('HTTP %d and %j at the exchange of the code: the next authorization registers again', async (status, body) => {
    await connections.start();
    const { authorizationUrl, connection } = (await connections.create()).body;
    refusedBy(status, body);
    expect((await connections.consent(authorizationUrl)).status).toBe(400);
    connections.fixture.onToken = undefined;
    const again = (await connections.authorize(connection.id)).body.authorizationUrl;
    expect(clientIdIn(again)).not.toBe(clientIdIn(authorizationUrl));
    expect((await connections.consent(again)).status).toBe(200);
  });

  test.each<[number, unknown]>([
    [400, { error: 'invalid_grant' }],
    [400, { error: 'invalid_scope' }],
    [503, 'down'],
  ])('HTTP %d and %j is no reason to register again', async (status, body) => {
    await connections.start();
    const { authorizationUrl, connection } = (await connections.create()).body;
    refusedBy(status, body);
    await connections.consent(authorizationUrl);
    const again = (await connections.authorize(connection.id)).body.authorizationUrl;
    expect(clientIdIn(again)).toBe(clientIdIn(authorizationUrl));
  });

  test('a token that the MCP server forbids can be replaced by another authorization', async () => {
    await connections.start();
    const id = await connections.connect();
    connections.answer('mcp', '/mcp', (_, response) => void response.writeHead(403).end());
    expect(await connections.use(id)).toContain('HTTP 403');
    expect((await connections.authorize(id)).body.authorizationUrl).toContain('/authorize?');
  });
});

describe('token answers', () => {
  test.each<[number, unknown]>([
    [500, { error: 'invalid_grant' }],
    [400, { error: 'INVALID_GRANT' }],
    [200, { error: 'invalid_grant' }],
    [400, { error: { code: 'invalid_grant' } }],
  ])('a refresh refused with HTTP %d and %j: the grant is dead', async (status, body) => {
    await connections.start();
    const id = await connections.connect();
    connections.advance(3700);
    connections.fixture.onToken = (request, response) => json(body, status)(request, response);
    expect(await connections.use(id)).toContain('no longer accepts the refresh token (invalid_grant)');
    expect((await connections.status(id)).nextAction).toBe('AUTHORIZE');
  });

  sampled(test, 2).each<[number, unknown]>([
    [401, { error: 'invalid_token' }],
    [403, { error: 'access_denied' }],
    [404, 'gone'],
    [410, {}],
    [200, { error: 'token_expired' }],
  ])('a refresh refused with HTTP %d and %j: a person is asked, and the tokens are kept', async (status, body) => {
    await connections.start();
    const id = await connections.connect();
    connections.advance(3700);
    connections.fixture.onToken = (request, response) => json(body, status)(request, response);
    await connections.use(id);
    expect((await connections.status(id)).nextAction).toBe('AUTHORIZE');
    connections.fixture.onToken = undefined;
    connections.advance(3800);
    expect(await connections.use(id)).toBe('TestMcpServerPayload');
  });

  test('the issuer of the authorization response is compared exactly, as RFC 9207 requires', async () => {
    await connections.start();
    const { authorizationUrl } = (await connections.create()).body;
    const back = connections.fixture.consent(authorizationUrl ?? '');
    back.searchParams.set('iss', `${connections.fixture.issuer.origin}/`);
    expect((await visit(connections.gateway, back)).text).toContain('another issuer');
  });

  sampled(test, 2).each<[string, (answer: object) => object]>([
    ['nulls', (answered) => ({ ...answered, scope: null, id_token: null })],
    ['scopes in a list', (answered) => ({ ...answered, scope: ['a', 'b'] })],
    ['a lifetime as text', (answered) => ({ ...answered, expires_in: '3600' })],
    ['a lifetime that is no number', (answered) => ({ ...answered, expires_in: 'never' })],
    ['another type', (answered) => ({ ...answered, token_type: ['mac'] })],
    ['a refresh token of spaces', (answered) => ({ ...answered, refresh_token: ' ', error: false })],
    ['a type in upper case', (answered) => ({ ...answered, token_type: 'BEARER' })],
  ])('%s: the connection works', async (_, change) => {
    await connections.start();
    connections.fixture.onAnswer = change;
    expect(await connections.use(await connections.connect())).toBe('TestMcpServerPayload');
  });

  test('an answer in the form of a form is read', async () => {
    await connections.start();
    const created = await connections.create();
    connections.fixture.onToken = (_, response) =>
      void response
        .writeHead(200, { 'Content-Type': 'application/x-www-form-urlencoded' })
        .end('access_token=a&token_type=bearer');
    const page = await connections.consent(created.body.authorizationUrl);
    expect(page.text).toContain('the MCP server refuses the new token');
  });

  test('prompt is never sent', async () => {
    await connections.start();
    connections.fixture.metadata = { scopes_supported: ['offline_access'] };
    connections.fixture.resourceMetadata = { scopes_supported: ['tools'] };
    const url = new URL((await connections.create()).body.authorizationUrl ?? '');
    expect([url.searchParams.get('scope'), url.searchParams.get('prompt')]).toEqual(['tools offline_access', null]);
  });

  test('the scope that was asked for is sent again at a refresh, or what was granted of it', async () => {
    await connections.start();
    const repeated = async (granted: string | undefined) => {
      connections.fixture.onAnswer = (answered) => ({ ...answered, scope: granted });
      const id = await connections.connect({ scope: 'api/.default offline_access' });
      connections.advance(3700);
      expect(await connections.use(id)).toBe('TestMcpServerPayload');
      connections.gateway.setClock(undefined);
      return connections.fixture.tokenRequests.at(-1)?.get('scope');
    };
    expect(await repeated(undefined)).toBe('api/.default offline_access');
    expect(await repeated('api/read')).toBe('api/.default offline_access');
    expect(await repeated('api/.default')).toBe('api/.default');
  });
});

describe('client secrets', () => {
  const SECRET = 'a+b/c%41=:d ü';
  const authorizations: (string | undefined)[] = [];
  /** A server whose endpoints record how the client authenticates, and that knows it only in one way. */
  async function startKnowing(isKnown: (credentials: string | undefined) => boolean): Promise<void> {
    await connections.start();
    authorizations.length = 0;
    connections.fixture.addClient('mine', SECRET);
    connections.fixture.onToken = ({ headers }, response, reply) => {
      const credentials = /^Basic (.*)$/.exec(headers.authorization ?? '')?.[1];
      const plain = credentials && Buffer.from(credentials, 'base64').toString();
      authorizations.push(plain);
      if (!isKnown(plain)) return json({ error: 'invalid_client' }, 401)({} as IncomingMessage, response);
      // The connections.fixture reads credentials in another encoding.
      headers.authorization = `Basic ${Buffer.from(`mine:${encodeURIComponent(SECRET)}`).toString('base64')}`;
      reply();
    };
    connections.answer('issuer', '/revoke', ({ headers }, response) => {
      authorizations.push(Buffer.from(headers.authorization?.slice(6) ?? '', 'base64').toString());
      response.writeHead(200).end();
    });
  }
  const own = { clientId: 'mine', clientSecret: SECRET };
  const ENCODED = 'mine:a%2Bb%2Fc%2541%3D%3Ad+%C3%BC';

  test('are form-encoded in HTTP Basic at the token, refresh and revocation endpoints', async () => {
    await startKnowing((credentials) => credentials === ENCODED);
    const id = await connections.connect(own);
    connections.advance(3700);
    expect(await connections.use(id)).toBe('TestMcpServerPayload');
    await connections.gateway.rest('DELETE', `/v1/mcp-connections/${id}`, { key: connections.key });
    expect(authorizations).toEqual([ENCODED, ENCODED, ENCODED]);
  });

  test('of client credentials are form-encoded too', async () => {
    await startKnowing((credentials) => credentials === ENCODED);
    const created = await connections.create({ authType: 'client_credentials', ...own });
    expect({ status: created.status, authorizations }).toEqual({ status: 201, authorizations: [ENCODED] });
  });

  test('are sent as they are to a server that does not decode them, which is remembered', async () => {
    await startKnowing((credentials) => credentials === `mine:${SECRET}`);
    const id = await connections.connect(own);
    connections.advance(3700);
    expect(await connections.use(id)).toBe('TestMcpServerPayload');
    expect(authorizations).toEqual([ENCODED, `mine:${SECRET}`, `mine:${SECRET}`]);
  });

  test('are sent in the body to a server that refuses HTTP Basic', async () => {
    await startKnowing((credentials) => credentials === undefined);
    expect(await connections.use(await connections.connect(own))).toBe('TestMcpServerPayload');
    expect(authorizations).toEqual([ENCODED, `mine:${SECRET}`, undefined]);
  });
});
