import { type RequestListener, type Server, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Provider } from 'oidc-provider';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type TestGateway, startTestGateway } from './helpers/gateway.ts';
import { mcpHandler, startPeer } from './helpers/mcp-server.ts';

/** The whole flow against an authorization server that others wrote and had certified: oidc-provider. */

let gateway: TestGateway;
let key: string;
let server: Server;
let issuer: string;
let refreshes = 0;
let mcp: Awaited<ReturnType<typeof startPeer>>;

beforeAll(async () => {
  gateway = await startTestGateway({ ALLOW_PRIVATE_NETWORK: 'true' });
  key = (await gateway.createKey()).key;
  let listener: RequestListener = (_, response) => response.writeHead(503).end();
  server = createServer((request, response) => listener(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const serve = mcpHandler();
  mcp = await startPeer((request, response) => {
    if (request.url?.startsWith('/.well-known/oauth-protected-resource')) {
      const metadata = { resource: `${mcp.origin}/mcp`, authorization_servers: [issuer], scopes_supported: ['tools'] };
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(metadata));
      return;
    }
    void isValid(/^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1]).then((valid) => {
      if (valid) serve(request, response);
      else
        response
          .writeHead(401, {
            'WWW-Authenticate': `Bearer resource_metadata="${mcp.origin}/.well-known/oauth-protected-resource/mcp"`,
          })
          .end();
    });
  });
  const provider = new Provider(issuer, {
    clients: [],
    scopes: ['openid', 'offline_access', 'tools'],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async () => true,
    ttl: { AccessToken: 3600, RefreshToken: 86_400, Grant: 86_400, Interaction: 600, Session: 600, IdToken: 600 },
    findAccount: async (_: unknown, accountId: string) => ({ accountId, claims: async () => ({ sub: accountId }) }),
    features: {
      registration: { enabled: true },
      revocation: { enabled: true },
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_: unknown, resource: string) => ({
          scope: 'tools',
          audience: resource,
          accessTokenFormat: 'opaque' as const,
        }),
      },
    },
  });
  provider.on('grant.success', (context: { oidc: { params?: { grant_type?: unknown } } }) => {
    if (context.oidc.params?.grant_type === 'refresh_token') refreshes += 1;
  });
  const isValid = async (token: string | undefined) =>
    token !== undefined && (await provider.AccessToken.find(token)) !== undefined;
  listener = provider.callback();
});
afterAll(async () => {
  await mcp.stop();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await gateway.close();
});

/** What a browser does: follows redirects with its cookies, and sends the forms of the login and consent pages. */
async function browse(start: string): Promise<URL> {
  const cookies = new Map<string, string>();
  let request: { url: string; form?: URLSearchParams } = { url: start };
  for (let step = 0; step < 20; step += 1) {
    const response = await fetch(request.url, {
      redirect: 'manual',
      method: request.form ? 'POST' : 'GET',
      headers: { Cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(request.form && { body: request.form }),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location !== null) {
      const next = new URL(location, request.url);
      if (next.pathname === '/v1/mcp-connections/oauth/callback') return next;
      request = { url: next.href };
      continue;
    }
    const page = await response.text();
    const action = /<form[^>]* action="([^"]+)"/.exec(page)?.[1];
    const prompt = /name="prompt" value="([^"]+)"/.exec(page)?.[1];
    if (!action || !prompt) throw new Error(`no form at ${request.url}: ${response.status} ${page.slice(0, 500)}`);
    request = {
      url: new URL(action, request.url).href,
      form: new URLSearchParams({ prompt, ...(prompt === 'login' && { login: 'user', password: 'any' }) }),
    };
  }
  throw new Error('too many steps');
}

test('registration, consent, resource, rotation: connected, and one refresh under 20 concurrent uses', async () => {
  const created = await gateway.rest<{ authorizationUrl: string; connection: { id: string } }>(
    'POST',
    '/v1/mcp-connections',
    { key, body: { name: 'oidc', serverUrl: `${mcp.origin}/mcp` } },
  );
  expect(created).toMatchObject({ status: 201 });
  const back = await browse(created.body.authorizationUrl);
  const page = await gateway.fetch(back.pathname + back.search);
  expect({ status: page.status, text: await page.text() }).toEqual({
    status: 200,
    text: expect.stringContaining('is connected'),
  });
  const { id } = created.body.connection;
  const node = await gateway.graphql<{ node: unknown }>(
    key,
    `{ node(id: "${Buffer.from(`McpServer:${id}`).toString('base64')}") { ... on McpServer { status issuer grantedScopes tools { name } } } }`,
  );
  expect(node.data?.node).toEqual({
    status: 'CONNECTED',
    issuer,
    grantedScopes: expect.arrayContaining(['tools']),
    tools: [{ name: 'add' }, { name: 'now' }],
  });

  gateway.setClock(new Date(Date.now() + 3_700_000));
  const uses = await Promise.all(
    Array.from({ length: 20 }, () =>
      gateway.graphql<{ testMcpServer: unknown }>(
        key,
        'mutation ($id: ID!) { testMcpServer(input: { mcpServerId: $id }) { __typename ... on Error { message } } }',
        { id },
      ),
    ),
  );
  expect(new Set(uses.map(({ data }) => JSON.stringify(data?.testMcpServer)))).toEqual(
    new Set(['{"__typename":"TestMcpServerPayload"}']),
  );
  expect(refreshes).toBe(1);
});
