import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { type OAuthTokens, validateAuthorizationResponseIssuer } from '@modelcontextprotocol/client';
import { recordAudit, auditEntry } from '../../../core/audit.ts';
import { ConflictError, DomainError, notFound } from '../../../core/errors.ts';
import type { ApiKeyId, UserId } from '../../../core/ids.ts';
import { type Actor, type OperationContext, type WorkContext, guarded, write } from '../../../core/operation.ts';
import type { Readable } from '../../../core/postgres/queries.ts';
import { Membership } from '../../organizations/entity.ts';
import { type Outcome, connectRemote, hashState, ping } from '../remote/connect.ts';
import {
  type PendingSecret,
  forgetPending,
  readCredentials,
  storePending,
  storeRegistration,
  storeTokens,
  takePending,
} from '../credentials.ts';
import { McpAuthorization, McpConnection, type McpConnectionTables } from '../entity.ts';
import type { McpConnectionReference } from '../input.ts';
import { exchange } from './authorization-flow.ts';
import { WRITE_MCP_CONNECTIONS, loadManaged, targetOf } from '../policy.ts';
import { noteFailure } from '../remote/session.ts';
import { AUTHORIZATION_LIFETIME_MS, topicOf } from '../status.ts';
import { usableToken } from './token-refresh.ts';

/** Result of creating or authorizing a connection. `authorizationUrl` is null unless a user must authorize it. */
export interface ConnectionResult {
  readonly connection: McpConnection;
  readonly authorizationUrl: string | null;
}

/** Stores the outcome of connecting, in the caller's transaction. @returns the authorization URL, or null when none is needed. */
export async function saveOutcome(
  context: WorkContext,
  connection: McpConnection,
  outcome: Outcome,
  { userId, keyId }: Actor,
): Promise<string | null> {
  const { em, secrets, now, newId } = context;
  await forgetPendingOf(em, connection);
  const at = now();
  if (outcome.kind === 'connected') {
    if (outcome.grant) {
      connection.authorizationServer = outcome.grant.server;
      await storeTokens(em, secrets, connection, outcome.grant.tokens, outcome.grant.server.issuer, at);
    }
    connection.connect(at);
    return null;
  }
  const { server, client, state, codeVerifier, redirectUri, authorizationUrl, scope, stepUpScope } = outcome;
  const expiresAt = new Date(at.getTime() + AUTHORIZATION_LIFETIME_MS);
  const id = newId();
  const organization = connection.organization;
  em.persist(
    em.create(McpAuthorization, {
      id,
      organization,
      connection,
      user: userId,
      keyId,
      stateHash: hashState(state),
      issuer: server.issuer,
      redirectUri,
      expiresAt,
    }),
  );
  await storePending(em, secrets, { id, organizationId: organization.id }, { codeVerifier, client, scope });
  if (client.redirect_uri !== undefined) await storeRegistration(em, secrets, connection, client);
  connection.authorizationServer = server;
  connection.challengedScope = stepUpScope ?? null;
  connection.stop('PENDING_AUTHORIZATION', 'the user must complete the authorization', at, expiresAt);
  return authorizationUrl;
}

/** Only the newest authorization of a connection can be completed. */
async function forgetPendingOf(em: EntityManager, connection: McpConnection): Promise<void> {
  for (const { id } of await em.find(McpAuthorization, { connection: connection.id })) await forgetPending(em, id);
  await em.nativeDelete(McpAuthorization, { connection: connection.id });
}

/**
 * Connects a remote connection with its credentials, or starts a new authorization.
 * @throws ConflictError for stdio; RemoteFailedError, whose reason is then also in the status of the connection.
 */
export const authorizeMcpConnection = guarded(
  WRITE_MCP_CONNECTIONS,
  async (context: OperationContext, { mcpConnectionId }: McpConnectionReference): Promise<ConnectionResult> => {
    const connection = await loadManaged(context.em.fork(), context.actor, mcpConnectionId);
    if (connection.type === 'stdio')
      throw new ConflictError('WRONG_STATE', 'a stdio connection is only stored and cannot be authorized');
    const outcome = await reconnect(context, connection);
    const save = write(
      async (inner, { mcpConnectionId: id }: McpConnectionReference) => {
        const locked = await loadManaged(inner.em, inner.actor, id, { lock: true });
        if (locked.serverUrl !== connection.serverUrl || locked.clientId !== connection.clientId)
          throw new ConflictError('CHANGED_MEANWHILE', 'the MCP connection has changed; authorize it again');
        return { connection: locked, authorizationUrl: await saveOutcome(inner, locked, outcome, inner.actor) };
      },
      { access: WRITE_MCP_CONNECTIONS, operation: 'authorizeMcpConnection', target: (to) => targetOf(to.connection) },
    );
    const result = await save(context, { mcpConnectionId });
    context.notifier.publish(topicOf(mcpConnectionId));
    return result;
  },
);

async function reconnect(context: OperationContext, connection: McpConnection): Promise<Outcome> {
  try {
    // Without a token, a new authorization is started. A failed refresh is ignored here: connecting shows whether the server works.
    const token = await usableToken(context, connection.id).catch(ignoreRemoteFailure);
    const credentials = await readCredentials(context.em.fork(), context.secrets, connection.id);
    const serves = token && credentials.tokens && !needsStepUp(connection);
    const tokens = serves ? { ...credentials.tokens, accessToken: token.accessToken } : undefined;
    return await connectRemote(context, context.outbound.begin(), connection, { ...credentials, tokens });
  } catch (error) {
    throw await noteFailure(context, connection.id, error);
  }
}

/** Whether the token lacks a required scope. Such a token is not used again, but stays stored until a new one arrives. */
function needsStepUp({ challengedScope, grantedScopes }: McpConnection): boolean {
  return challengedScope?.split(' ').some((scope) => !grantedScopes?.includes(scope)) ?? false;
}

function ignoreRemoteFailure(error: unknown): undefined {
  if (!(error instanceof DomainError) || error.kind !== 'remoteFailed') throw error;
}

/** Parameters of the authorization response (RFC 6749, section 4.1.2; RFC 9207). */
export interface Callback {
  readonly state: string;
  readonly code: string | undefined;
  readonly error: string | undefined;
  readonly iss: string | undefined;
  /** Whether the authorization was declined on the confirmation page. */
  readonly isDeclined?: boolean;
}

/** The result that the user sees. It contains nothing from the URL that was opened. */
export type CallbackResult =
  | { readonly kind: 'connected'; readonly name: string }
  | { readonly kind: 'failed'; readonly name: string | null; readonly reason: string };

export const UNKNOWN: CallbackResult = {
  kind: 'failed',
  name: null,
  reason:
    'This authorization is unknown: it was already completed, was replaced by a newer one, or took longer than 10 minutes.',
};

/** The callback has no actor. The user is stored with the pending authorization. */
type CallbackContext = WorkContext & Pick<OperationContext, 'requestId' | 'requestIdOrigin'>;

interface Taken extends PendingSecret {
  readonly connection: McpConnection;
  readonly redirectUri: string;
  /** API key of the request that started the authorization. */
  readonly keyId: ApiKeyId | null;
}

/**
 * Completes an authorization: exchanges the code, connects to the server, and stores the outcome. The `state` is the credential; it is valid
 * once, for 10 minutes, and only for its connection, user and issuer.
 */
export async function completeAuthorization(context: CallbackContext, callback: Callback): Promise<CallbackResult> {
  const taken = await take(context, callback.state);
  if (!taken) return UNKNOWN;
  const { connection } = taken;
  const { name } = connection;
  try {
    const redeemed = await redeem(context, taken, callback).catch((error: unknown) => fail(context, connection, error));
    if (typeof redeemed === 'string') return { kind: 'failed', name, reason: redeemed };
    const tokens = { ...redeemed, scope: redeemed.scope ?? taken.scope };
    if (!(await keep(context, taken, tokens))) return UNKNOWN;
    await ping(context.outbound.begin(), connection, { accessToken: tokens.access_token });
    await context.em.fork().transactional(async (em) => (await lockSame(em, connection))?.connect(context.now()));
    context.notifier.publish(topicOf(connection.id));
    return { kind: 'connected', name };
  } catch (error) {
    const noted = await noteFailure(context, connection.id, error);
    if (noted instanceof DomainError) return { kind: 'failed', name, reason: noted.message };
    throw noted;
  }
}

/** Deletes the pending authorization and returns it. Of concurrent callbacks only one gets it. */
async function take({ em, secrets, now }: WorkContext, state: string): Promise<Taken | undefined> {
  return em.fork().transactional(async (transaction) => {
    const row = await transaction
      .getKysely<Readable<McpConnectionTables>>()
      .deleteFrom('mcp_authorization')
      .where('state_hash', '=', hashState(state))
      .returning(['id', 'connection_id', 'user_id', 'key_id', 'issuer', 'redirect_uri', 'expires_at'])
      .executeTakeFirst();
    if (!row) return undefined;
    const pending = await takePending(transaction, secrets, row.id);
    const connection = await transaction.findOne(
      McpConnection,
      { id: row.connection_id },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    const isGood =
      pending &&
      connection &&
      new Date(row.expires_at) > now() &&
      connection.authorizationServer?.issuer === row.issuer;
    if (!isGood || !(await mayStillManage(transaction, connection, row.user_id))) return undefined;
    connection.stop('AUTHORIZATION_REQUIRED', 'the authorization was started, but not completed', now());
    return { ...pending, connection, redirectUri: row.redirect_uri, keyId: row.key_id };
  });
}

/** The user may have left the organization or lost the role since the authorization was started. */
async function mayStillManage(em: EntityManager, connection: McpConnection, userId: UserId): Promise<boolean> {
  const membership = await em.findOne(Membership, { organization: connection.organization.id, user: userId });
  if (!membership) return false;
  return connection.visibility === 'shared' ? membership.role === 'admin' : connection.owner?.id === userId;
}

/** Records that the authorization failed. Earlier credentials of the connection are not restored. @returns the reason. */
async function fail({ em, now, notifier }: WorkContext, connection: McpConnection, error: unknown): Promise<string> {
  if (!(error instanceof DomainError)) throw error;
  await em
    .fork()
    .transactional(async (transaction) =>
      (await lockSame(transaction, connection))?.stop('AUTHORIZATION_REQUIRED', error.message, now()),
    );
  notifier.publish(topicOf(connection.id));
  return error.message;
}

async function redeem(
  context: WorkContext,
  { connection, client, codeVerifier, redirectUri }: Taken,
  { code, error, iss, isDeclined }: Callback,
): Promise<OAuthTokens> {
  const server = connection.authorizationServer;
  if (!server) throw notFound('MCP connection');
  if (isDeclined) throw new DomainError('remoteFailed', 'the authorization was declined');
  if (code === undefined) {
    validateIssuer(server, iss);
    throw new DomainError(
      'remoteFailed',
      error !== undefined && /^[a-z_]{1,60}$/.test(error)
        ? `the authorization server refused: ${error}`
        : 'the authorization server returned no code',
    );
  }
  return exchange(context.outbound.begin(), server, client, { code, iss, codeVerifier, redirectUri });
}

function validateIssuer(
  { issuer, metadata }: NonNullable<McpConnection['authorizationServer']>,
  iss: string | undefined,
): void {
  try {
    validateAuthorizationResponseIssuer({
      iss,
      expectedIssuer: issuer,
      issParameterSupported: metadata.authorization_response_iss_parameter_supported === true,
    });
  } catch (error) {
    throw new DomainError(
      'remoteFailed',
      'the response names another issuer than the authorization server that was asked (RFC 9207)',
      { cause: error },
    );
  }
}

/** Stores the tokens before they are used, unless the connection was changed or deleted in the meantime. */
async function keep(
  { em, secrets, now, newId, requestId, requestIdOrigin }: CallbackContext,
  { connection, keyId }: Taken,
  tokens: OAuthTokens,
): Promise<boolean> {
  return em.fork().transactional(async (transaction) => {
    const locked = await lockSame(transaction, connection);
    if (!locked?.authorizationServer) return false;
    await storeTokens(transaction, secrets, locked, tokens, locked.authorizationServer.issuer, now());
    locked.challengedScope = null;
    const actor = { keyId, organization: locked.organization };
    await recordAudit(
      transaction,
      auditEntry({ actor, now, newId, requestId, requestIdOrigin }, 'completeMcpAuthorization', targetOf(locked)),
    );
    return true;
  });
}

async function lockSame(
  em: EntityManager,
  { id, serverUrl, authorizationServer }: McpConnection,
): Promise<McpConnection | undefined> {
  const locked = await em.findOne(McpConnection, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  return locked && locked.serverUrl === serverUrl && locked.authorizationServer?.issuer === authorizationServer?.issuer
    ? locked
    : undefined;
}
