import type { EntityManager } from '@mikro-orm/postgresql';
import { ConflictError, DomainError, NotFoundError, RemoteFailedError } from '../../../core/errors.ts';
import type { Actor } from '../../../core/access.ts';
import { sentences } from '../../../core/text/wording.ts';
import { type OperationContext, type WorkContext, defineOperation } from '../../../core/operation.ts';
import { type Outcome, connectRemote, hashState } from '../remote/connect.ts';
import { forgetPending, readCredentials, storePending, storeRegistration, storeTokens } from '../credentials.ts';
import { McpAuthorization, type McpConnection } from '../entity.ts';
import { mcpConnectionReference } from '../input.ts';
import { ADMINS_MANAGE_SHARED, WRITE_MCP_CONNECTIONS, loadManaged, targetOf } from '../policy.ts';
import { noteFailure } from '../remote/session.ts';
import { noteGeneration } from '../server-lists.ts';
import { AUTHORIZATION_LIFETIME_MS } from '../status.ts';
import { mcpConnectionTopic } from '../topics.ts';
import { isMetadataDocument, refuseMetadataDocument } from './forgotten-client.ts';
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
  actor: Actor,
): Promise<string | null> {
  await forgetPendingOf(context.em, connection);
  if (outcome.kind === 'authorization') return savePending(context, connection, outcome, actor);
  if (outcome.grant) {
    const { server, tokens, scope } = outcome.grant;
    connection.authorizationServer = server;
    await storeTokens(context, connection, { issuer: server.issuer, tokens, scope });
  }
  connection.connect(context.now());
  noteGeneration(context, connection, outcome.info);
  return null;
}

async function savePending(
  { em, secrets, now, newId }: WorkContext,
  connection: McpConnection,
  outcome: Extract<Outcome, { kind: 'authorization' }>,
  { userId, keyId }: Actor,
): Promise<string> {
  const { server, client, state, codeVerifier, redirectUri, authorizationUrl, scope, stepUpScope } = outcome;
  const at = now();
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

export const authorizeMcpConnection = defineOperation({
  name: 'authorizeMcpConnection',
  description: sentences(
    'Connects a remote MCP connection with the stored credentials, or starts an authorization. Then `authorizationUrl` is the address where the user must grant access within 10 minutes. A stdio connection cannot be authorized.',
    ADMINS_MANAGE_SHARED,
  ),
  access: WRITE_MCP_CONNECTIONS,
  input: mcpConnectionReference,
  errors: [NotFoundError, ConflictError, RemoteFailedError],
  callsOut: true,
  /** When the server fails, the reason is also in the status of the connection. */
  prepare: async (context, { mcpConnectionId }) => {
    const connection = await loadManaged(context.em.fork(), context.actor, mcpConnectionId);
    if (connection.type === 'stdio')
      throw new ConflictError('WRONG_STATE', 'a stdio connection is only stored and cannot be authorized');
    return { connection, outcome: await reconnect(context, connection) };
  },
  run: async (context, { mcpConnectionId }, { connection, outcome }): Promise<ConnectionResult> => {
    const locked = await loadManaged(context.em, context.actor, mcpConnectionId, { lock: true });
    if (locked.serverUrl !== connection.serverUrl || locked.clientId !== connection.clientId)
      throw new ConflictError('CHANGED_MEANWHILE', 'the MCP connection has changed; authorize it again');
    return { connection: locked, authorizationUrl: await saveOutcome(context, locked, outcome, context.actor) };
  },
  target: ({ connection }) => targetOf(connection),
  afterCommit: async ({ notifier }, result) => {
    notifier.publish(mcpConnectionTopic(result.connection.id));
    return result;
  },
});

async function reconnect(context: OperationContext, connection: McpConnection): Promise<Outcome> {
  try {
    // Without a token, a new authorization is started. A failed refresh is ignored here: connecting shows whether the server works.
    const token = await usableToken(context, connection.id).catch(ignoreRemoteFailure);
    const credentials = await readCredentials(context.em.fork(), context.secrets, connection.id);
    const serves = token && credentials.tokens && !needsStepUp(connection);
    const tokens = serves ? { ...credentials.tokens, accessToken: token.accessToken } : undefined;
    const isUnanswered = connection.status === 'PENDING_AUTHORIZATION';
    // If an authorization has not come back, the server may not know the client. Then another one is registered.
    if (isUnanswered && isMetadataDocument(context.settings, credentials.registration))
      refuseMetadataDocument(connection);
    const registration = isUnanswered ? undefined : credentials.registration;
    return await connectRemote(
      context,
      context.outbound.begin(),
      connection,
      { ...credentials, tokens, registration },
      { offersOAuth: true },
    );
  } catch (error) {
    throw await noteFailure(context, connection.id, error);
  }
}

/** Whether the token lacks a required scope. Such a token is not used again, but stays stored until a new one arrives. */
const needsStepUp = ({ challengedScope, grantedScopes }: McpConnection): boolean =>
  challengedScope?.split(' ').some((scope) => !grantedScopes?.includes(scope)) ?? false;

function ignoreRemoteFailure(error: unknown): undefined {
  if (!(error instanceof DomainError) || error.kind !== 'remoteFailed') throw error;
}
