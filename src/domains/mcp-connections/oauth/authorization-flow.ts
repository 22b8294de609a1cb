import {
  type AuthorizationServerMetadata,
  ClientCredentialsProvider,
  type OAuthTokens,
  checkResourceAllowed,
  computeScopeUnion,
  discoverOAuthServerInfo,
  exchangeAuthorization,
  fetchToken,
  refreshAuthorization,
  resourceUrlFromServerUrl,
  selectClientAuthMethod,
  startAuthorization,
} from '@modelcontextprotocol/client';
import { RemoteFailedError } from '../../../core/errors.ts';
import type { Outbound, OutboundWork } from '../../../core/outbound/outbound.ts';
import type { AuthorizationServer, OAuthClient } from './client.ts';
import { explainRemote, shown } from '../remote/errors.ts';
import { tolerant } from './tolerance.ts';

/** The requests of the MCP authorization specification. Nothing is stored here. Every failure is a 502 that names the cause. */

const WHO = 'the authorization server';

const KEPT = [
  'issuer',
  'authorization_endpoint',
  'token_endpoint',
  'registration_endpoint',
  'revocation_endpoint',
  'response_types_supported',
  'scopes_supported',
  'token_endpoint_auth_methods_supported',
  'code_challenge_methods_supported',
  'authorization_response_iss_parameter_supported',
  'client_id_metadata_document_supported',
] as const;

/**
 * Finds the authorization server of an MCP server (RFC 9728, then RFC 8414 or OpenID Connect Discovery). Its metadata
 * must name itself as issuer.
 */
export async function discover(
  work: OutboundWork,
  serverUrl: string,
  resourceMetadataUrl: URL | undefined,
): Promise<AuthorizationServer> {
  try {
    const { authorizationServerUrl, authorizationServerMetadata, resourceMetadata } = await discoverOAuthServerInfo(
      serverUrl,
      { resourceMetadataUrl, fetchFn: tolerant(work.fetch) },
    );
    if (!authorizationServerMetadata)
      throw new RemoteFailedError(
        'the MCP server requires authorization, but its authorization server publishes no metadata (RFC 8414)',
      );
    const own = resourceUrlFromServerUrl(serverUrl);
    if (
      resourceMetadata &&
      !checkResourceAllowed({ requestedResource: own, configuredResource: resourceMetadata.resource })
    ) {
      throw new RemoteFailedError(
        `the MCP server publishes the metadata of another resource: ${shown(resourceMetadata.resource)} instead of ${shown(own.href)} (RFC 9728, section 3.3); enter the address that it names, if it is the same server`,
      );
    }
    const known: Record<string, unknown> = authorizationServerMetadata;
    return {
      url: authorizationServerUrl,
      issuer: authorizationServerMetadata.issuer,
      metadata: Object.fromEntries(
        KEPT.flatMap((key) => (known[key] === undefined ? [] : [[key, known[key]]])),
      ) as AuthorizationServerMetadata,
      resource: resourceMetadata?.resource ?? own.href,
      scopesSupported: resourceMetadata?.scopes_supported?.join(' ') || null,
    };
  } catch (error) {
    throw explainRemote(error, 'discovery of the authorization server');
  }
}

/** @throws RemoteFailedError when the server does not announce PKCE with S256, which the MCP specification requires. */
export function requirePkce({ metadata }: AuthorizationServer): void {
  if (!metadata.code_challenge_methods_supported?.includes('S256')) {
    throw new RemoteFailedError(
      'the authorization server does not announce PKCE with S256 (code_challenge_methods_supported), so authorization would not be safe',
    );
  }
}

/**
 * Chooses the scope to request: the owner's, else the one of the server's challenge, else the supported scopes of the
 * resource. A step-up adds the scope that it requires. Unless the owner gave a scope, `offline_access` is added when
 * the server supports it, because many servers issue no refresh token without it.
 */
export function chooseScope(
  server: AuthorizationServer,
  { wanted, challenged, stepUp }: { wanted: string | null; challenged: string | undefined; stepUp: string | undefined },
): string | undefined {
  const scope = computeScopeUnion(wanted ?? challenged ?? server.scopesSupported ?? undefined, stepUp);
  const offersOffline = server.metadata.scopes_supported?.includes('offline_access') ?? false;
  return wanted === null && scope !== undefined && offersOffline ? computeScopeUnion(scope, 'offline_access') : scope;
}

/** Builds the authorization URL with PKCE. Like every URL from another server, it must be http(s) and public. */
export async function begin(
  outbound: Outbound,
  server: AuthorizationServer,
  client: OAuthClient,
  { redirectUri, scope, state }: { redirectUri: string; scope: string | undefined; state: string },
): Promise<{ authorizationUrl: string; codeVerifier: string }> {
  try {
    await outbound.check(server.metadata.authorization_endpoint);
    const { authorizationUrl, codeVerifier } = await startAuthorization(server.url, {
      metadata: server.metadata,
      clientInformation: client,
      redirectUrl: redirectUri,
      scope,
      state,
      resource: server.resource,
    });
    return { authorizationUrl: authorizationUrl.href, codeVerifier };
  } catch (error) {
    throw explainRemote(error, 'the authorization endpoint');
  }
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
): Promise<OAuthTokens> {
  const { metadata, resource } = server;
  try {
    return await exchangeAuthorization(server.url, {
      metadata,
      clientInformation: client,
      authorizationCode: code,
      iss,
      codeVerifier,
      redirectUri,
      resource,
      fetchFn: tolerant(work.fetch),
    });
  } catch (error) {
    throw explainRemote(error, WHO);
  }
}

/** Refreshes tokens. Errors are not translated, because the caller decides by their kind what happens to the stored tokens. */
export function refresh(
  work: OutboundWork,
  { url, metadata, resource }: AuthorizationServer,
  client: OAuthClient,
  refreshToken: string,
): Promise<OAuthTokens> {
  return refreshAuthorization(url, {
    metadata,
    clientInformation: client,
    refreshToken,
    resource,
    fetchFn: tolerant(work.fetch),
  });
}

/** The client credentials grant (RFC 6749, section 4.4). Errors are not translated. */
export function fetchClientToken(
  work: OutboundWork,
  server: AuthorizationServer,
  client: OAuthClient,
  scope: string | undefined,
): Promise<OAuthTokens> {
  const { client_id: clientId, client_secret: clientSecret = '' } = client;
  const provider = new ClientCredentialsProvider({ clientId, clientSecret, scope, expectedIssuer: server.issuer });
  return fetchToken(provider, server.url, {
    metadata: server.metadata,
    resource: server.resource,
    scope,
    fetchFn: tolerant(work.fetch),
  });
}

/**
 * Revokes a token if the server supports that (RFC 7009).
 * @returns false when the revocation must be retried, because the server did not answer or failed.
 */
export async function revoke(
  work: OutboundWork,
  { metadata }: AuthorizationServer,
  client: OAuthClient,
  token: string,
): Promise<boolean> {
  const endpoint =
    'revocation_endpoint' in metadata && typeof metadata.revocation_endpoint === 'string'
      ? metadata.revocation_endpoint
      : undefined;
  if (endpoint === undefined) return true;
  const headers: Record<string, string> = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams({ token });
  const { client_id: id, client_secret: secret } = client;
  if (
    secret !== undefined &&
    selectClientAuthMethod(client, metadata.token_endpoint_auth_methods_supported ?? []) === 'client_secret_basic'
  ) {
    headers['Authorization'] =
      `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`;
  } else {
    body.set('client_id', id);
    if (secret !== undefined) body.set('client_secret', secret);
  }
  try {
    const response = await work.fetch(endpoint, { method: 'POST', headers, body: body.toString() });
    await response.body?.cancel();
    return response.status < 500;
  } catch {
    return false;
  }
}
