import type { AddClientAuthentication, OAuthTokens } from '@modelcontextprotocol/client';
import { mcpClient } from '../../../core/mcp-packages.ts';
import { RemoteFailedError } from '../../../core/errors.ts';
import type { Outbound, OutboundWork } from '../../../core/outbound/outbound.ts';
import { describedError } from '../remote/answers.ts';
import { explainRemote } from '../remote/errors.ts';
import type { AuthorizationServer, OAuthClient } from './authorization-server.ts';
import {
  UNKNOWN_CLIENT,
  authenticationOf,
  credentialsFor,
  methodsFor,
  withAuthentication,
} from './client-authentication.ts';
import { TOKENS, oauthFetch } from './oauth-fetch.ts';

/** The requests of the MCP authorization specification. Nothing is stored here. Every failure is a 502 that names the cause. */

const WHO = 'the authorization server';

/** The parameter `resource` of all requests; undefined when the owner of the connection leaves it out. */
const resourceOf = ({ resource }: AuthorizationServer): string | undefined => (resource === '' ? undefined : resource);

/**
 * @throws RemoteFailedError when the server does not announce PKCE with S256, which the MCP specification requires, unless an administrator
 * allows that.
 */
export function requirePkce({ metadata }: AuthorizationServer, isMissingAllowed: boolean): void {
  if (!isMissingAllowed && !metadata.code_challenge_methods_supported?.includes('S256')) {
    throw new RemoteFailedError(
      'the authorization server does not announce PKCE with S256 (code_challenge_methods_supported), so authorization would not be safe; if you know that it supports PKCE, set allowMissingPkceMetadata in the settings of the connection',
    );
  }
}

/**
 * Chooses the scope to request: the owner's, else the one of the server's challenge, else the supported scopes of the
 * resource. A step-up adds the scope that it requires.
 */
export const chooseScope = (
  server: AuthorizationServer,
  { wanted, challenged, stepUp }: { wanted: string | null; challenged: string | undefined; stepUp: string | undefined },
): string | undefined =>
  mcpClient().computeScopeUnion(wanted ?? challenged ?? server.scopesSupported ?? undefined, stepUp);

/**
 * The scope to request of a user. Unless the owner gave a scope, `offline_access` is added when the server supports it, because many servers
 * issue no refresh token without it.
 */
export function withOfflineAccess(
  { metadata }: AuthorizationServer,
  scope: string | undefined,
  wanted: string | null,
): string | undefined {
  const offersOffline = metadata.scopes_supported?.includes('offline_access') ?? false;
  return wanted === null && scope !== undefined && offersOffline
    ? mcpClient().computeScopeUnion(scope, 'offline_access')
    : scope;
}

/** Builds the authorization URL with PKCE. Like every URL from another server, it must be http(s) and public. */
export async function begin(
  outbound: Outbound,
  server: AuthorizationServer,
  client: OAuthClient,
  { redirectUri, scope, state }: { redirectUri: string; scope: string | undefined; state: string },
): Promise<{ authorizationUrl: string; codeVerifier: string }> {
  const { metadata, audience } = server;
  // Undefined at servers that issue tokens only to clients, although the type of the package says otherwise.
  if (!(metadata.authorization_endpoint as string | undefined))
    throw new RemoteFailedError(
      'the authorization server publishes no authorization_endpoint, so no user can authorize the connection; use client credentials',
    );
  try {
    await outbound.check(metadata.authorization_endpoint);
    const { authorizationUrl, codeVerifier } = await mcpClient().startAuthorization(server.url, {
      // Whether PKCE must be announced is decided by `requirePkce`. The code flow is the only one that is used.
      metadata: { ...metadata, response_types_supported: ['code'], code_challenge_methods_supported: ['S256'] },
      clientInformation: client,
      redirectUrl: redirectUri,
      scope,
      state,
      resource: resourceOf(server),
    });
    // The package asks for consent with `offline_access`. That locks out users whose administrator has consented for them.
    authorizationUrl.searchParams.delete('prompt');
    if (audience != null) authorizationUrl.searchParams.set('audience', audience);
    return { authorizationUrl: authorizationUrl.href, codeVerifier };
  } catch (error) {
    throw explainRemote(error, 'the authorization endpoint');
  }
}

export interface Grant {
  readonly tokens: OAuthTokens;
  /** The server with the method by which the client has authenticated. */
  readonly server: AuthorizationServer;
}

/** Exchanges an authorization code for tokens, after checking `iss` (RFC 9207). @throws RemoteFailedError. */
export async function exchange(
  work: OutboundWork,
  server: AuthorizationServer,
  client: OAuthClient,
  {
    code,
    iss,
    codeVerifier,
    redirectUri,
  }: { code: string; iss: string | undefined; codeVerifier: string; redirectUri: string },
): Promise<Grant> {
  const { metadata } = server;
  try {
    const { answer, server: known } = await withAuthentication(client, server, (addClientAuthentication) =>
      mcpClient().exchangeAuthorization(server.url, {
        metadata,
        clientInformation: client,
        authorizationCode: code,
        iss,
        codeVerifier,
        redirectUri,
        resource: resourceOf(server),
        addClientAuthentication,
        fetchFn: oauthFetch(work, TOKENS, [client.client_secret, code, codeVerifier]),
      }),
    );
    return { tokens: answer, server: known };
  } catch (error) {
    throw explainRemote(error, WHO);
  }
}

/** Refreshes tokens, with one request. The scope that was asked for is sent again, because some servers require that. */
export async function refresh(
  work: OutboundWork,
  server: AuthorizationServer,
  client: OAuthClient,
  { refreshToken, scope }: { readonly refreshToken: string; readonly scope: string | undefined },
): Promise<OAuthTokens> {
  const { url, metadata } = server;
  try {
    return await mcpClient().refreshAuthorization(url, {
      metadata,
      clientInformation: client,
      refreshToken,
      scope,
      resource: resourceOf(server),
      addClientAuthentication: authenticationOf(methodsFor(client, server)[0], client, server),
      fetchFn: oauthFetch(work, TOKENS, [client.client_secret, refreshToken]),
    });
  } catch (error) {
    throw explainRemote(error, WHO);
  }
}

/** The client credentials grant (RFC 6749, section 4.4). `isRepeated` sends one request, with the method of authentication that has worked. */
export async function fetchClientToken(
  work: OutboundWork,
  server: AuthorizationServer,
  client: OAuthClient,
  { scope, isRepeated = false }: { readonly scope: string | undefined; readonly isRepeated?: boolean },
): Promise<Grant> {
  const { client_id: clientId, client_secret: clientSecret = '' } = client;
  const [first, ...others] = methodsFor(client, server);
  const methods = isRepeated ? [first] : [first, ...others];
  const send = (addClientAuthentication: AddClientAuthentication) => {
    const provider = new (mcpClient().ClientCredentialsProvider)({
      clientId,
      clientSecret,
      scope,
      expectedIssuer: server.issuer,
    });
    return mcpClient().fetchToken(Object.assign(provider, { addClientAuthentication }), server.url, {
      metadata: server.metadata,
      resource: resourceOf(server),
      scope,
      fetchFn: oauthFetch(work, TOKENS, [clientSecret]),
    });
  };
  try {
    const { answer, server: known } = await withAuthentication(client, server, send, methods);
    return { tokens: answer, server: known };
  } catch (error) {
    throw explainRemote(error, WHO);
  }
}

/**
 * Revokes a token if the server supports that (RFC 7009), with the client authentication of token requests.
 * @returns false when the revocation must be retried, because the server did not answer or failed.
 */
export async function revoke(
  work: OutboundWork,
  server: AuthorizationServer,
  client: OAuthClient,
  token: string,
): Promise<boolean> {
  const { metadata } = server;
  const endpoint =
    'revocation_endpoint' in metadata && typeof metadata.revocation_endpoint === 'string'
      ? metadata.revocation_endpoint
      : undefined;
  if (endpoint === undefined) return true;
  try {
    for (const method of methodsFor(client, server)) {
      const { authorization, form } = credentialsFor(method, client);
      const headers = {
        'Content-Type': 'application/x-www-form-urlencoded',
        ...(authorization !== undefined && { Authorization: authorization }),
      };
      const body = new URLSearchParams({ token, ...form }).toString();
      const response = await work.fetch(endpoint, { method: 'POST', headers, body });
      const code = describedError(await response.text())?.code;
      if (response.status !== 401 && !UNKNOWN_CLIENT.has(code)) return response.status < 500;
    }
    return true;
  } catch {
    return false;
  }
}
