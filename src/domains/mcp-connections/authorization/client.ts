import type { AuthorizationServerMetadata } from '@modelcontextprotocol/client';
import { mcpClient } from '../../../core/mcp-packages.ts';
import type { OutboundWork } from '../../../core/outbound/outbound.ts';
import { MisconfiguredError, explainRemote } from '../remote/errors.ts';
import { type AuthorizationServer, type OAuthClient, isSameIssuer } from './authorization-server.ts';
import { REGISTRATION, oauthFetch } from './oauth-fetch.ts';
import type { WorkContext } from '../../../core/operation.ts';

/** OAuth clients of the gateway at authorization servers. */

/** The client that the tokens were issued to. Credentials of one issuer are never sent to another. */
export function clientOf(
  { clientId }: { readonly clientId?: string | null | undefined },
  server: AuthorizationServer | null | undefined,
  registration: OAuthClient | undefined,
  clientSecret: string | undefined,
): OAuthClient | undefined {
  if (!server) return undefined;
  if (clientId != null) return { issuer: server.issuer, client_id: clientId, client_secret: clientSecret };
  return registration && isSameIssuer(registration.issuer, server.issuer) ? registration : undefined;
}

export interface ClientChoice {
  /** The client that the owner registered, if any. */
  readonly given: { readonly clientId: string; readonly clientSecret: string | undefined } | undefined;
  /** The issuer that the given client was used with before. */
  readonly givenFor: string | undefined;
  /** The client of an earlier dynamic registration. */
  readonly stored: OAuthClient | undefined;
  readonly redirectUri: string;
  readonly clientMetadataUrl: string;
  readonly scope: string | undefined;
  readonly now: Date;
}

/**
 * Chooses a client in the order of the specification: the owner's client; the client id metadata document; the client
 * that was registered with this issuer before; dynamic registration (RFC 7591).
 */
export async function chooseClient(
  work: OutboundWork,
  server: AuthorizationServer,
  choice: ClientChoice,
): Promise<OAuthClient> {
  const { given, givenFor, stored, redirectUri, clientMetadataUrl, now } = choice;
  const { issuer, metadata } = server;
  if (given) {
    if (givenFor !== undefined && !isSameIssuer(givenFor, issuer)) {
      throw new MisconfiguredError(
        'the MCP server now names another authorization server than the one that the client credentials are for; if that is correct, update the clientId of the connection',
      );
    }
    return { issuer, client_id: given.clientId, client_secret: given.clientSecret };
  }
  if (takesMetadataDocument(server) && clientMetadataUrl.startsWith('https:'))
    return { issuer, client_id: clientMetadataUrl, redirect_uri: redirectUri };
  const isRegistered = stored && stored.client_id !== clientMetadataUrl && isSameIssuer(stored.issuer, issuer);
  if (isRegistered && stored.redirect_uri === redirectUri && !isExpired(stored, now)) return stored;
  if (!metadata.registration_endpoint) {
    throw new MisconfiguredError(
      'the authorization server does not support client registration; register a client there and give its clientId',
    );
  }
  return register(work, server, choice);
}

/**
 * Whether to use the client id metadata document. Its client has no secret, so a server that requires one refuses it. Where there is no
 * other way, it is tried nevertheless.
 */
function takesMetadataDocument({ metadata, refusesMetadataDocument }: AuthorizationServer): boolean {
  if (metadata.client_id_metadata_document_supported !== true) return false;
  if (!metadata.registration_endpoint) return true;
  return !refusesMetadataDocument && (metadata.token_endpoint_auth_methods_supported?.includes('none') ?? false);
}

async function register(
  work: OutboundWork,
  { url, issuer, metadata }: AuthorizationServer,
  { redirectUri, scope }: ClientChoice,
): Promise<OAuthClient> {
  try {
    const registered = await mcpClient().registerClient(url, {
      metadata,
      clientMetadata: clientMetadata(redirectUri, metadata),
      scope,
      fetchFn: oauthFetch(work, REGISTRATION),
    });
    const { client_id, client_secret, client_secret_expires_at, token_endpoint_auth_method } = registered;
    return {
      issuer,
      client_id,
      client_secret,
      client_secret_expires_at,
      token_endpoint_auth_method,
      redirect_uri: redirectUri,
    };
  } catch (error) {
    throw explainRemote(error, 'the authorization server');
  }
}

const isExpired = ({ client_secret_expires_at: expiresAt }: OAuthClient, now: Date): boolean =>
  expiresAt !== undefined && expiresAt !== 0 && expiresAt * 1000 <= now.getTime();

/** Metadata of this client (RFC 7591, section 2). It uses a client secret if the server supports that. */
export function clientMetadata(redirectUri: string, metadata?: AuthorizationServerMetadata) {
  const supported = metadata?.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const method = ['client_secret_basic', 'client_secret_post', 'none'].find((one) => supported.includes(one)) ?? 'none';
  return {
    client_name: 'Workspace gateway',
    redirect_uris: [redirectUri],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: metadata ? method : 'none',
    application_type: /^http:\/\/(?:localhost|127\.|\[::1\])/.test(redirectUri) ? 'native' : 'web',
  };
}

/** The addresses of the gateway as an OAuth client. */

export const CALLBACK_PATH = '/v1/mcp-connections/oauth/callback';
export const CLIENT_METADATA_PATH = '/v1/mcp-connections/oauth/client-metadata.json';

/** The URL of the client id metadata document, which is also the client id. */
export const clientMetadataUrlOf = ({ clientMetadataUrl, publicUrl }: WorkContext['settings']): string =>
  clientMetadataUrl ?? publicUrl + CLIENT_METADATA_PATH;
