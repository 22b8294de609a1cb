import { Provider, type ProviderContext } from 'oidc-provider';
import { type Handler, mcpHandler, startPeer } from './mcp-server.ts';

/**
 * An MCP server of the official package behind oidc-provider, an independent and certified authorization server with pages for login and
 * consent, dynamic registration, PKCE, resource indicators, and rotating refresh tokens.
 */
export interface OidcFixture {
  readonly serverUrl: string;
  readonly issuer: string;
  /** The number of token refreshes. */
  refreshes(): number;
  /** Revokes all grants. */
  revokeAll(): Promise<void>;
  /** Stops the servers. */
  stop(): Promise<void>;
}

/** `beforeToken` runs before each answer of the token endpoint. */
export async function startOidcFixture({ beforeToken = async () => {} } = {}): Promise<OidcFixture> {
  const notYet: Handler = (_, response) => void response.writeHead(503).end();
  const authorization = await startPeer(notYet);
  const issuer = authorization.origin;
  const grants = new Set<string>();
  let refreshes = 0;
  const isRefresh = ({ oidc }: ProviderContext) => oidc.params?.grant_type === 'refresh_token';

  const provider = new Provider(issuer, {
    clients: [],
    scopes: ['openid', 'offline_access', 'tools'],
    pkce: { required: () => true },
    rotateRefreshToken: true,
    issueRefreshToken: async () => true,
    ttl: {
      AccessToken: 3600,
      RefreshToken: 86_400,
      Grant: 86_400,
      Interaction: 600,
      Session: 600,
      IdToken: 600,
    },
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
  provider.on('grant.success', (context) => {
    if (isRefresh(context)) refreshes += 1;
    grants.add(context.oidc.entities.AccessToken?.grantId ?? '');
  });
  const answer = provider.callback();
  authorization.handler = (request, response) =>
    void (request.url === '/token' ? beforeToken() : Promise.resolve()).then(() => answer(request, response));

  const serve = mcpHandler();
  const mcp = await startPeer((request, response) => {
    if (request.url?.startsWith('/.well-known/oauth-protected-resource')) {
      const metadata = { resource: `${mcp.origin}/mcp`, authorization_servers: [issuer], scopes_supported: ['tools'] };
      response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(metadata));
      return;
    }
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const where = `Bearer resource_metadata="${mcp.origin}/.well-known/oauth-protected-resource/mcp"`;
    void provider.AccessToken.find(token).then((found) => {
      if (found) serve(request, response);
      else response.writeHead(401, { 'WWW-Authenticate': where }).end();
    });
  });

  return {
    serverUrl: `${mcp.origin}/mcp`,
    issuer,
    refreshes: () => refreshes,
    revokeAll: async () => {
      for (const grant of grants) {
        await provider.AccessToken.revokeByGrantId(grant);
        await provider.RefreshToken.revokeByGrantId(grant);
      }
    },
    stop: async () => {
      await mcp.stop();
      await authorization.stop();
    },
  };
}

/**
 * Acts like a browser: follows redirects with cookies, and submits the forms for login and consent. @returns the URL of
 * the last redirect.
 */
export async function consentByForms(start: string): Promise<URL> {
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
