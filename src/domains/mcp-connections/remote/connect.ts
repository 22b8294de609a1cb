import { createHash, randomBytes } from 'node:crypto';
import type { OAuthTokens } from '@modelcontextprotocol/client';
import type { WorkContext } from '../../../core/operation.ts';
import type { OutboundWork } from '../../../core/outbound/outbound.ts';
import type { Credentials } from '../credentials.ts';
import type { McpConnection } from '../entity.ts';
import {
  begin,
  chooseScope,
  fetchClientToken,
  requirePkce,
  withOfflineAccess,
} from '../authorization/authorization-flow.ts';
import { type AuthorizationServer, type OAuthClient, isSameIssuer } from '../authorization/authorization-server.ts';
import { CALLBACK_PATH, chooseClient, clientMetadataUrlOf } from '../authorization/client.ts';
import { discover, discoverIfPublished } from '../authorization/discovery.ts';
import { type Access, type ServerInfo, checkServer, withServer } from './client.ts';
import {
  AuthorizationNeeded,
  CLIENT_TOKEN_REFUSED,
  HEADERS_REFUSED,
  MisconfiguredError,
  isForbidden,
} from './errors.ts';

/** Makes a remote connection: only the network requests. Nothing is stored here. */

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
      readonly grant?: {
        readonly server: AuthorizationServer;
        readonly tokens: OAuthTokens;
        readonly scope: string | undefined;
      };
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
 * authorization by a user. A server can require it only for the calls of its tools: with `offersOAuth`, an authorization is also started when
 * the server works without one, but its owner gave a client or it publishes resource metadata.
 * @throws RemoteFailedError with the cause; MisconfiguredError when the server refuses the configured credentials.
 */
export async function connectRemote(
  context: WorkContext,
  work: OutboundWork,
  target: Target,
  credentials: Credentials,
  { offersOAuth }: { readonly offersOAuth: boolean },
): Promise<Outcome> {
  const access: Access = { headers: credentials.headers, accessToken: credentials.tokens?.accessToken };
  const attempt = { context, work, target, credentials };
  try {
    const info = await ping(work, target, access);
    const isAnonymous = target.authType === 'oauth' && access.accessToken === undefined;
    return (
      (isAnonymous && (offersOAuth || target.clientId != null) && (await offerAuthorization(attempt))) || {
        kind: 'connected',
        info,
      }
    );
  } catch (error) {
    const canAskAgain = offersOAuth && access.accessToken !== undefined && isForbidden(error);
    const needed = canAskAgain ? new AuthorizationNeeded({}) : error;
    if (!(needed instanceof AuthorizationNeeded)) throw error;
    if (target.authType === 'static_headers') throw new MisconfiguredError(HEADERS_REFUSED);
    const found = await discover(work, target.serverUrl ?? '', {
      resourceMetadataUrl: needed.resourceMetadataUrl,
      ...wishesOf(target),
    });
    const refused = { ...attempt, server: serverFor(target, found), needed };
    return target.authType === 'client_credentials' ? connectByClient(refused) : beginAuthorization(refused);
  }
}

/** Starts an authorization at a server that works without one. */
async function offerAuthorization(attempt: Omit<RefusedAttempt, 'server' | 'needed'>): Promise<Outcome | undefined> {
  const { work, target } = attempt;
  const found = await discoverIfPublished(work, target.serverUrl ?? '', wishesOf(target));
  return (
    found && beginAuthorization({ ...attempt, server: serverFor(target, found), needed: new AuthorizationNeeded({}) })
  );
}

const wishesOf = ({ authorizationServer, resource, clientId }: Target) => ({
  knownIssuer: authorizationServer?.issuer,
  resource,
  hasClient: clientId != null,
});

/** With the settings of the connection, and what is known from earlier authorizations. */
function serverFor({ authorizationServer: known, audience }: Target, found: AuthorizationServer): AuthorizationServer {
  const isKnown = known && isSameIssuer(known.issuer, found.issuer);
  return { ...found, audience, ...(isKnown && known.refusesMetadataDocument && { refusesMetadataDocument: true }) };
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

export const ping = (
  work: OutboundWork,
  { serverUrl }: Pick<Target, 'serverUrl'>,
  access: Access,
): Promise<ServerInfo> => withServer(work, serverUrl ?? '', access, (client, info) => checkServer(client, info, work));

async function connectByClient(attempt: RefusedAttempt): Promise<Outcome> {
  const { work, target, server, needed } = attempt;
  const scope = chooseScope(server, { wanted: target.scope ?? null, challenged: needed.scope, stepUp: undefined });
  const client = await choose(attempt, scope);
  const { tokens, server: known } = await fetchClientToken(work, server, client, { scope });
  try {
    return {
      kind: 'connected',
      info: await ping(work, target, { accessToken: tokens.access_token }),
      grant: { server: known, tokens: { ...tokens, scope: tokens.scope ?? scope }, scope },
    };
  } catch (error) {
    if (error instanceof AuthorizationNeeded) throw new MisconfiguredError(CLIENT_TOKEN_REFUSED);
    throw error;
  }
}

async function beginAuthorization(attempt: RefusedAttempt): Promise<Outcome> {
  const { context, target, server, needed } = attempt;
  requirePkce(server, target.allowMissingPkceMetadata);
  const stepUpScope = needed.isStepUp
    ? [...(target.grantedScopes ?? []), needed.scope ?? ''].join(' ').trim() || undefined
    : (target.challengedScope ?? undefined);
  const wanted = target.scope ?? null;
  const scope = withOfflineAccess(
    server,
    chooseScope(server, { wanted, challenged: needed.scope, stepUp: stepUpScope }),
    wanted,
  );
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

const choose = (
  { context: { settings, now }, work, target, credentials, server }: RefusedAttempt,
  scope: string | undefined,
): Promise<OAuthClient> =>
  chooseClient(work, server, {
    given: target.clientId == null ? undefined : { clientId: target.clientId, clientSecret: credentials.clientSecret },
    givenFor: target.authorizationServer?.issuer,
    stored: credentials.registration,
    redirectUri: settings.publicUrl + CALLBACK_PATH,
    clientMetadataUrl: clientMetadataUrlOf(settings),
    scope,
    now: now(),
  });

/** The hash of a `state`. Only the hash is stored, because the `state` is the credential of the callback. */
export const hashState = (state: string): Buffer => createHash('sha256').update(state).digest();
