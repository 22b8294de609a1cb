import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { mcpClient } from '../../../core/mcp-packages.ts';
import { recordAudit, auditEntry } from '../../../core/audit.ts';
import { DomainError, notFound } from '../../../core/errors.ts';
import { isAuthorizedWithin } from '../../../core/authority.ts';
import type { ApiKeyId, UserId } from '../../../core/ids.ts';
import type { OperationContext, WorkContext } from '../../../core/operation.ts';
import type { Readable } from '../../../core/postgres/reading/queries.ts';
import { Membership } from '../../organizations/public.ts';
import { type PendingSecret, storeTokens, takePending } from '../credentials.ts';
import { McpConnection, type McpConnectionTables } from '../entity.ts';
import { targetOf } from '../policy.ts';
import { hashState, ping } from '../remote/connect.ts';
import { sayError } from '../remote/answers.ts';
import { noteFailure } from '../remote/session.ts';
import { mcpConnectionTopic } from '../topics.ts';
import { type Grant, exchange } from './authorization-flow.ts';
import { adviceFor } from './oauth-fetch.ts';
import { forgetClient, isRefusalOfClient } from './forgotten-client.ts';

/** Completes authorizations that a user has granted or refused. The browser that opens the callback has no API key. */

/** Parameters of the authorization response (RFC 6749, section 4.1.2; RFC 9207). */
export interface Callback {
  readonly state: string;
  readonly code: string | undefined;
  readonly error: string | undefined;
  /** Why the authorization server refuses, in its own words. */
  readonly description: string | undefined;
  readonly iss: string | undefined;
  /** Whether the authorization was declined on the confirmation page. */
  readonly isDeclined?: boolean;
}

/** The result that the user sees. Of the URL that was opened it contains only the reason of a refusal, quoted and cut. */
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
  readonly starter: Starter;
}

/** Who started the authorization. */
interface Starter {
  readonly userId: UserId;
  readonly keyId: ApiKeyId | null;
}

/**
 * Completes an authorization: exchanges the code, connects to the server, and stores the outcome. The `state` is the
 * credential; it is valid once, for 10 minutes, and only for its connection, user and issuer.
 */
export async function completeAuthorization(context: CallbackContext, callback: Callback): Promise<CallbackResult> {
  const taken = await take(context, callback.state);
  if (!taken) return UNKNOWN;
  const { connection } = taken;
  const { name } = connection;
  try {
    const redeemed = await redeem(context, taken, callback).catch((error: unknown) =>
      fail(context, taken, error, callback.error),
    );
    if (typeof redeemed === 'string') return { kind: 'failed', name, reason: redeemed };
    if (!(await keep(context, taken, redeemed))) return UNKNOWN;
    await ping(context.outbound.begin(), connection, { accessToken: redeemed.tokens.access_token });
    await context.em.fork().transactional(async (em) => (await lockSame(em, connection))?.connect(context.now()));
    context.notifier.publish(mcpConnectionTopic(connection.id));
    return { kind: 'connected', name };
  } catch (error) {
    const noted = await noteFailure(context, connection.id, error, NEW_TOKEN_REFUSED);
    if (noted instanceof DomainError) return { kind: 'failed', name, reason: noted.message };
    throw noted;
  }
}

const NEW_TOKEN_REFUSED =
  'the authorization was completed, but the MCP server refuses the new token: it may expect another scope, audience or resource';

/** Deletes the pending authorization and returns it. Of concurrent callbacks only one gets it. */
const take = async ({ em, secrets, now }: WorkContext, state: string): Promise<Taken | undefined> =>
  em.fork().transactional(async (transaction) => {
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
    const starter: Starter = { userId: row.user_id, keyId: row.key_id };
    if (!isGood || !(await mayStillManage(transaction, connection, starter, now()))) return undefined;
    connection.stop('AUTHORIZATION_REQUIRED', 'the authorization was started, but not completed', now());
    return { ...pending, connection, redirectUri: row.redirect_uri, starter };
  });

/** Since the authorization was started, its key may have been revoked, and the user may have left the organization or lost the role. */
async function mayStillManage(
  em: EntityManager,
  { organization, visibility, owner }: McpConnection,
  { userId, keyId }: Starter,
  at: Date,
): Promise<boolean> {
  const isAuthorized = await isAuthorizedWithin(em, {
    'authority.keyId': keyId,
    'authority.userId': userId,
    'authority.organizationId': organization.id,
    'authority.role': visibility === 'shared' ? 'admin' : 'member',
    'authority.at': at,
  });
  if (!isAuthorized || (visibility === 'personal' && owner?.id !== userId)) return false;
  if (keyId !== null) return true;
  // Without a key, the membership has not been checked.
  const membership = await em.findOne(Membership, { organization: organization.id, user: userId });
  return membership !== null && (visibility === 'personal' || membership.role === 'admin');
}

/**
 * Records that the authorization failed. Earlier credentials of the connection are not restored. A client that the server may not know is
 * forgotten, so that the next authorization registers another one. @returns the reason.
 */
async function fail(
  context: WorkContext,
  { connection, client }: Taken,
  error: unknown,
  answered: string | undefined,
): Promise<string> {
  if (!(error instanceof DomainError)) throw error;
  await context.em.fork().transactional(async (em) => {
    const locked = await lockSame(em, connection);
    locked?.stop('AUTHORIZATION_REQUIRED', error.message, context.now());
    if (locked && isRefusalOfClient(error, answered)) await forgetClient({ ...context, em }, locked, client);
  });
  context.notifier.publish(mcpConnectionTopic(connection.id));
  return error.message;
}

async function redeem(
  context: WorkContext,
  { connection, client, codeVerifier, redirectUri }: Taken,
  { code, error, description, iss, isDeclined }: Callback,
): Promise<Grant> {
  const server = connection.authorizationServer;
  if (!server) throw notFound('MCP connection');
  if (isDeclined) throw new DomainError('remoteFailed', 'the authorization was declined');
  if (code === undefined) {
    validateIssuer(server, iss);
    throw new DomainError(
      'remoteFailed',
      error === undefined
        ? 'the authorization server returned no code'
        : `the authorization server refused: ${sayError({ code: error, description })}${adviceFor(error)}`,
    );
  }
  return exchange(context.outbound.begin(), server, client, { code, iss, codeVerifier, redirectUri });
}

function validateIssuer(server: NonNullable<McpConnection['authorizationServer']>, iss: string | undefined): void {
  const { issuer, metadata } = server;
  try {
    mcpClient().validateAuthorizationResponseIssuer({
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

/** Stores the tokens before they are used, unless the connection was changed or deleted, or its starter has lost the right. */
const keep = async (
  { em, secrets, now, newId, requestId, requestIdOrigin, mcpObserver }: CallbackContext,
  { connection, starter, scope }: Taken,
  { tokens, server }: Grant,
): Promise<boolean> =>
  em.fork().transactional(async (transaction) => {
    const locked = await lockSame(transaction, connection);
    if (!locked?.authorizationServer || !(await mayStillManage(transaction, locked, starter, now()))) return false;
    locked.authorizationServer = server;
    const granted = { ...tokens, scope: tokens.scope ?? scope };
    await storeTokens({ em: transaction, secrets, now, mcpObserver }, locked, {
      issuer: server.issuer,
      tokens: granted,
      scope,
    });
    locked.challengedScope = null;
    const actor = { keyId: starter.keyId, organization: locked.organization };
    await recordAudit(
      transaction,
      auditEntry({ actor, now, newId, requestId, requestIdOrigin }, 'completeMcpAuthorization', targetOf(locked)),
    );
    return true;
  });

async function lockSame(
  em: EntityManager,
  { id, serverUrl, authorizationServer }: McpConnection,
): Promise<McpConnection | undefined> {
  const locked = await em.findOne(McpConnection, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  return locked && locked.serverUrl === serverUrl && locked.authorizationServer?.issuer === authorizationServer?.issuer
    ? locked
    : undefined;
}
