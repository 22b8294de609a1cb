import { createHash, randomBytes } from 'node:crypto';
import { OAuthError, type OAuthTokens } from '@modelcontextprotocol/client';
import type { WorkContext } from '../../../core/operation.ts';
import type { OutboundWork } from '../../../core/outbound/outbound.ts';
import type { Credentials } from '../credentials.ts';
import type { McpConnection } from '../entity.ts';
import { begin, chooseScope, discover, fetchClientToken, requirePkce } from '../oauth/authorization-flow.ts';
import { type AuthorizationServer, type OAuthClient, chooseClient } from '../oauth/client.ts';
import { type Access, type ServerInfo, checkServer, withServer } from './client.ts';
import { AuthorizationNeeded, MisconfiguredError, explainRemote } from './errors.ts';

/** Makes a remote connection: only the network requests. Nothing is stored here. */

export const CALLBACK_PATH = '/v1/mcp-connections/oauth/callback';
export const CLIENT_METADATA_PATH = '/v1/mcp-connections/oauth/client-metadata.json';

export type Target = Pick<
  McpConnection,
  | 'serverUrl'
  | 'authType'
  | 'clientId'
  | 'scope'
  | 'challengedScope'
  | 'grantedScopes'
  | 'authorizationServer'
  | 'audience'
  | 'resource'
  | 'allowMissingPkceMetadata'
>;

/** The connection works, or a user must authorize it. */
export type Outcome =
  | {
      readonly kind: 'connected';
      readonly info: ServerInfo;
      readonly grant?: { readonly server: AuthorizationServer; readonly tokens: OAuthTokens };
    }
  | {
      readonly kind: 'authorization';
      readonly authorizationUrl: string;
      readonly state: string;
      readonly codeVerifier: string;
      readonly redirectUri: string;
      readonly server: AuthorizationServer;
      readonly client: OAuthClient;
      readonly scope: string | undefined;
      readonly stepUpScope: string | undefined;
    };

/**
 * Connects with the stored credentials. When the server requires authorization, gets a token with client credentials or starts an
 * authorization by a user.
 * @throws RemoteFailedError with the cause; MisconfiguredError when the server refuses the configured credentials.
 */
export async function connectRemote(
  context: WorkContext,
  work: OutboundWork,
  target: Target,
  credentials: Credentials,
): Promise<Outcome> {
  const access: Access = { headers: credentials.headers, accessToken: credentials.tokens?.accessToken };
  try {
    return { kind: 'connected', info: await ping(work, target, access) };
  } catch (error) {
    if (!(error instanceof AuthorizationNeeded)) throw error;
    if (target.authType === 'static_headers')
      throw new MisconfiguredError('the MCP server does not accept the headers');
    const server = await discover(work, target.serverUrl ?? '', error.resourceMetadataUrl);
    const attempt = { context, work, target, credentials, server, needed: error };
    return target.authType === 'client_credentials' ? connectByClient(attempt) : beginAuthorization(attempt);
  }
}

/** An attempt to connect that the server has answered with the requirement of an authorization. */
interface RefusedAttempt {
  readonly context: WorkContext;
  readonly work: OutboundWork;
  readonly target: Target;
  readonly credentials: Credentials;
  readonly server: AuthorizationServer;
  readonly needed: AuthorizationNeeded;
}

export function ping(
  work: OutboundWork,
  { serverUrl }: Pick<Target, 'serverUrl'>,
  access: Access,
): Promise<ServerInfo> {
  return withServer(work, serverUrl ?? '', access, (client, info) => checkServer(client, info, work));
}

async function connectByClient(attempt: RefusedAttempt): Promise<Outcome> {
  const { work, target, server, needed } = attempt;
  const scope = chooseScope(server, { wanted: target.scope ?? null, challenged: needed.scope, stepUp: undefined });
  const client = await choose(attempt, scope);
  let tokens: OAuthTokens;
  try {
    tokens = await fetchClientToken(work, server, client, scope);
  } catch (error) {
    const explained = explainRemote(error, 'the authorization server');
    throw error instanceof OAuthError && error.code !== 'server_error' && error.code !== 'temporarily_unavailable'
      ? new MisconfiguredError(explained.message, error)
      : explained;
  }
  try {
    return {
      kind: 'connected',
      info: await ping(work, target, { accessToken: tokens.access_token }),
      grant: { server, tokens: { ...tokens, scope: tokens.scope ?? scope } },
    };
  } catch (error) {
    if (error instanceof AuthorizationNeeded)
      throw new MisconfiguredError(
        'the MCP server does not accept the token that its authorization server issued for these client credentials',
      );
    throw error;
  }
}

async function beginAuthorization(attempt: RefusedAttempt): Promise<Outcome> {
  const { context, target, server, needed } = attempt;
  requirePkce(server);
  const stepUpScope = needed.isStepUp
    ? [...(target.grantedScopes ?? []), needed.scope ?? ''].join(' ').trim() || undefined
    : (target.challengedScope ?? undefined);
  const scope = chooseScope(server, { wanted: target.scope ?? null, challenged: needed.scope, stepUp: stepUpScope });
  const client = await choose(attempt, scope);
  const state = randomBytes(32).toString('base64url');
  const redirectUri = context.settings.publicUrl + CALLBACK_PATH;
  const { authorizationUrl, codeVerifier } = await begin(context.outbound, server, client, {
    redirectUri,
    scope,
    state,
  });
  return {
    kind: 'authorization',
    authorizationUrl,
    state,
    codeVerifier,
    redirectUri,
    server,
    client,
    scope,
    stepUpScope,
  };
}

function choose(
  { context: { settings, now }, work, target, credentials, server }: RefusedAttempt,
  scope: string | undefined,
): Promise<OAuthClient> {
  return chooseClient(work, server, {
    given: target.clientId == null ? undefined : { clientId: target.clientId, clientSecret: credentials.clientSecret },
    givenFor: target.authorizationServer?.issuer,
    stored: credentials.registration,
    redirectUri: settings.publicUrl + CALLBACK_PATH,
    clientMetadataUrl: clientMetadataUrlOf(settings),
    scope,
    now: now(),
  });
}

/** The URL of the client id metadata document, which is also the client id. */
export function clientMetadataUrlOf({ clientMetadataUrl, publicUrl }: WorkContext['settings']): string {
  return clientMetadataUrl ?? publicUrl + CLIENT_METADATA_PATH;
}

/** The hash of a `state`. Only the hash is stored, because the `state` is the credential of the callback. */
export function hashState(state: string): Buffer {
  return createHash('sha256').update(state).digest();
}
