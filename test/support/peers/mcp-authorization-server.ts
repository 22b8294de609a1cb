import { createHash, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Handler, type Peer, mcpHandler, startPeer } from './mcp-server.ts';

/**
 * An MCP server that requires authorization, and its authorization server, on two loopback origins: RFC 9728 and RFC 8414 metadata,
 * RFC 7591 registration, PKCE, RFC 8707 resource, RFC 9207 issuer, rotation with reuse detection, RFC 7009 revocation. It records its
 * requests, and a test can make it answer incorrectly.
 */
export interface OAuthFixture {
  readonly mcp: Peer;
  readonly issuer: Peer;
  readonly serverUrl: string;
  /** Every secret that it issued or received: codes, tokens, client secrets. */
  readonly secrets: Set<string>;
  /** Bodies of the token requests. */
  readonly tokenRequests: URLSearchParams[];
  readonly registrations: Record<string, unknown>[];
  readonly revoked: string[];
  /** Replaces properties of the metadata; undefined removes one. */
  metadata: Record<string, unknown>;
  resourceMetadata: Record<string, unknown>;
  /** If set, answers token requests. `answer` sends the usual answer of the token endpoint. */
  onToken: ((...exchange: [...Parameters<Handler>, answer: () => void]) => void) | undefined;
  tokenLifetimeS: number;
  /** The lifetime that answers name, if it is another one. */
  announcedLifetimeS?: number | null;
  /** Changes the answers of the token endpoint. */
  onAnswer?: (answer: object) => object;
  /** Whether a refresh token is valid once; unless false. */
  rotates?: boolean;
  /** Whether the MCP server works without a token. */
  isOpen?: boolean;
  /** Scope that the MCP server requests in its challenge. */
  challengeScope: string | undefined;
  /** Scope that a token must have; without it the MCP server answers 403 `insufficient_scope`. */
  requiredScope: string | undefined;
  /** Consents like a user who opens the URL. Returns the URL to which the user is redirected. */
  consent(authorizationUrl: string): URL;
  /** Revokes all issued tokens. */
  revokeAll(): void;
  /** Adds a client that was registered manually. */
  addClient(id: string, secret?: string): void;
  stop(): Promise<void>;
}

interface Grant {
  readonly clientId: string;
  readonly scope: string | undefined;
  readonly challenge: string;
  readonly redirectUri: string;
  readonly resource: string | null;
}

export async function startOAuthFixture(): Promise<OAuthFixture> {
  const clients = new Map<string, string | undefined>();
  const codes = new Map<string, Grant>();
  const access = new Map<string, { scope: string | undefined; expiresAt: number }>();
  const refreshTokens = new Map<string, Pick<Grant, 'clientId' | 'scope' | 'resource'>>();
  const serve = mcpHandler();
  const secret = () => {
    const value = randomBytes(24).toString('base64url');
    fixture.secrets.add(value);
    return value;
  };
  const json = (response: ServerResponse, status: number, body: unknown) =>
    void response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));

  const mcp = await startPeer((request, response) => {
    if (request.url?.startsWith('/.well-known/oauth-protected-resource')) {
      const metadata = { resource: fixture.serverUrl, authorization_servers: [issuer.origin] };
      json(response, 200, { ...metadata, ...fixture.resourceMetadata });
      return;
    }
    if (fixture.isOpen) return serve(request, response);
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const found = access.get(token);
    const where = `resource_metadata="${mcp.origin}/.well-known/oauth-protected-resource/mcp"`;
    if (!found || found.expiresAt < Date.now()) {
      const scope = fixture.challengeScope === undefined ? '' : `, scope="${fixture.challengeScope}"`;
      response.writeHead(401, { 'WWW-Authenticate': `Bearer ${where}${scope}` }).end();
      return;
    }
    if (fixture.requiredScope !== undefined && !(found.scope ?? '').split(' ').includes(fixture.requiredScope)) {
      response
        .writeHead(403, {
          'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${fixture.requiredScope}", ${where}`,
        })
        .end();
      return;
    }
    serve(request, response);
  });

  const issuer = await startPeer(
    (request, response) => void answer(request, response).catch(() => json(response, 500, {})),
  );

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url?.split('?')[0];
    // Refuses with what its query says.
    if (path === '/refuses')
      return json(response, 400, Object.fromEntries(new URL(request.url ?? '', 'http://x').searchParams));
    if (path === '/.well-known/oauth-authorization-server') return json(response, 200, metadataOf());
    const body = await readBody(request);
    if (path === '/register') {
      const document = JSON.parse(body) as Record<string, unknown>;
      fixture.registrations.push(document);
      const id = `client-${randomBytes(6).toString('hex')}`;
      const isPublic = document['token_endpoint_auth_method'] === 'none';
      const clientSecret = isPublic ? undefined : secret();
      clients.set(id, clientSecret);
      return json(response, 201, {
        ...document,
        client_id: id,
        ...(clientSecret && { client_secret: clientSecret, client_secret_expires_at: 0 }),
      });
    }
    if (path === '/token') {
      const form = new URLSearchParams(body);
      fixture.tokenRequests.push(form);
      const reply = () => answerToken(request, form, response);
      return fixture.onToken ? fixture.onToken(request, response, reply) : reply();
    }
    if (path === '/revoke') {
      fixture.revoked.push(new URLSearchParams(body).get('token') ?? '');
      response.writeHead(200).end();
      return;
    }
    response.writeHead(404).end();
  }

  function metadataOf() {
    return {
      issuer: issuer.origin,
      authorization_endpoint: `${issuer.origin}/authorize`,
      token_endpoint: `${issuer.origin}/token`,
      registration_endpoint: `${issuer.origin}/register`,
      revocation_endpoint: `${issuer.origin}/revoke`,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token', 'client_credentials'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
      authorization_response_iss_parameter_supported: true,
      ...fixture.metadata,
    };
  }

  function answerToken(request: IncomingMessage, form: URLSearchParams, response: ServerResponse): void {
    const refuse = (error: string, status = 400) =>
      json(response, status, { error, error_description: '<script>alert(1)</script>' });
    const [basicId, basicSecret] = Buffer.from(
      /^Basic (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '',
      'base64',
    )
      .toString()
      .split(':')
      .map(decodeURIComponent);
    const clientId = basicId || form.get('client_id') || '';
    if (!clients.has(clientId) || clients.get(clientId) !== (basicSecret ?? form.get('client_secret') ?? undefined))
      return refuse('invalid_client', 401);
    const grant = form.get('grant_type');
    if (grant === 'client_credentials')
      return give(response, { clientId, scope: form.get('scope') ?? undefined, resource: form.get('resource') }, false);
    if (grant === 'refresh_token') {
      const given = form.get('refresh_token') ?? '';
      const found = refreshTokens.get(given);
      // A refresh token that is used twice revokes all tokens derived from it.
      if (!found || found.clientId !== clientId) {
        fixture.revokeAll();
        return refuse('invalid_grant');
      }
      if (fixture.rotates !== false) refreshTokens.delete(given);
      return give(response, found, true);
    }
    const code = form.get('code') ?? '';
    const found = codes.get(code);
    codes.delete(code);
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    if (
      !found ||
      found.clientId !== clientId ||
      found.challenge !== challenge ||
      found.redirectUri !== form.get('redirect_uri') ||
      found.resource !== form.get('resource')
    )
      return refuse('invalid_grant');
    fixture.secrets.add(form.get('code_verifier') ?? '');
    give(response, found, true);
  }

  function give(
    response: ServerResponse,
    grant: Pick<Grant, 'clientId' | 'scope' | 'resource'>,
    withRefresh: boolean,
  ): void {
    const accessToken = secret();
    access.set(accessToken, { scope: grant.scope, expiresAt: Date.now() + fixture.tokenLifetimeS * 1000 });
    const refreshToken = withRefresh ? secret() : undefined;
    if (refreshToken) refreshTokens.set(refreshToken, grant);
    const given = {
      access_token: accessToken,
      token_type: 'Bearer',
      expires_in: fixture.announcedLifetimeS === undefined ? fixture.tokenLifetimeS : fixture.announcedLifetimeS,
      ...(refreshToken && { refresh_token: refreshToken }),
    };
    json(response, 200, fixture.onAnswer?.(given) ?? given);
  }

  const fixture: OAuthFixture = {
    mcp,
    issuer,
    serverUrl: `${mcp.origin}/mcp`,
    secrets: new Set(),
    tokenRequests: [],
    registrations: [],
    revoked: [],
    metadata: {},
    resourceMetadata: {},
    onToken: undefined,
    tokenLifetimeS: 3600,
    challengeScope: undefined,
    requiredScope: undefined,
    consent(authorizationUrl) {
      const { searchParams: asked } = new URL(authorizationUrl);
      const code = secret();
      codes.set(code, {
        clientId: asked.get('client_id') ?? '',
        scope: asked.get('scope') ?? undefined,
        challenge: asked.get('code_challenge') ?? '',
        redirectUri: asked.get('redirect_uri') ?? '',
        resource: asked.get('resource'),
      });
      const back = new URL(asked.get('redirect_uri') ?? '');
      const announced = fixture.metadata['issuer'];
      const iss = typeof announced === 'string' ? announced : issuer.origin;
      back.search = new URLSearchParams({ code, state: asked.get('state') ?? '', iss }).toString();
      return back;
    },
    revokeAll() {
      access.clear();
      refreshTokens.clear();
    },
    addClient: (id, clientSecret) => void clients.set(id, clientSecret),
    stop: async () => {
      await mcp.stop();
      await issuer.stop();
    },
  };
  return fixture;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
