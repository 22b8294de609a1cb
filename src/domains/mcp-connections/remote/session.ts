import type { Client } from '@modelcontextprotocol/client';
import { LockMode } from '@mikro-orm/postgresql';
import type { McpConnectionId } from '../../../core/ids.ts';
import { DomainError } from '../../../core/errors.ts';
import type { WorkContext } from '../../../core/operation.ts';
import type { OutboundWork } from '../../../core/outbound/outbound.ts';
import { readCredentials } from '../credentials.ts';
import { McpConnection } from '../entity.ts';
import { isMetadataDocument, refuseMetadataDocument } from '../authorization/forgotten-client.ts';
import { type Access, type ServerInfo, withServer } from './client.ts';
import {
  AuthorizationLostError,
  AuthorizationNeeded,
  CLIENT_TOKEN_REFUSED,
  HEADERS_REFUSED,
  MisconfiguredError,
  RefusedError,
  isForbidden,
} from './errors.ts';
import { noteGeneration } from '../server-lists.ts';
import type { Status } from '../status.ts';
import { mcpConnectionTopic } from '../topics.ts';
import { usableToken } from '../authorization/token-refresh.ts';

/** Uses an existing connection with its credentials, refreshes the tokens as needed, and records the outcome in the status. */

/** Minimum time between two writes of `lastCheckedAt` while the status does not change, so that not every read writes. */
const NOTE_INTERVAL_MS = 60_000;

/** Whether a connection was found to work so recently that it is not recorded again. */
export const isNoted = (status: string, lastCheckedAt: Date | null | undefined, now: Date): boolean =>
  status === 'CONNECTED' && lastCheckedAt != null && now.getTime() - lastCheckedAt.getTime() < NOTE_INTERVAL_MS;

/**
 * Calls `use` with a client that is connected to the server. A token that the server refuses is refreshed once.
 * @throws RemoteFailedError with the cause, which is then also in the status of the connection.
 */
export async function useServer<Result>(
  context: WorkContext,
  connection: McpConnection,
  use: (client: Client, info: ServerInfo, work: OutboundWork) => Promise<Result>,
  timeoutMs?: number,
): Promise<Result> {
  const work = context.outbound.begin(timeoutMs);
  try {
    const result = await attempt(context, connection, work, use);
    await noteSuccess(context, connection.id);
    return result;
  } catch (error) {
    throw await noteFailure(context, connection.id, error);
  }
}

async function attempt<Result>(
  context: WorkContext,
  connection: McpConnection,
  work: OutboundWork,
  use: (client: Client, info: ServerInfo, work: OutboundWork) => Promise<Result>,
): Promise<Result> {
  const run = (access: Access) =>
    withServer(work, connection.serverUrl ?? '', access, (client, info) => {
      noteGeneration(context, connection, info);
      return use(client, info, work);
    });
  if (connection.authType === 'static_headers') {
    const { headers } = await readCredentials(context.em.fork(), context.secrets, connection.id);
    return run({ headers });
  }
  const token = await usableToken(context, connection.id);
  try {
    return await run({ accessToken: token?.accessToken });
  } catch (error) {
    if (error instanceof AuthorizationNeeded) error.tokenVersion = token?.version ?? connection.tokenVersion;
    if (!(error instanceof AuthorizationNeeded) || error.isStepUp || !token) throw error;
    const renewed = await usableToken(context, connection.id, { refused: token.version });
    if (!renewed) throw error;
    return await run({ accessToken: renewed.accessToken }).catch((again: unknown) => {
      if (again instanceof AuthorizationNeeded) {
        again.tokenVersion = renewed.version;
        const { id: connectionId, serverUrl } = connection;
        context.mcpObserver.problemFound('refusal', { connectionId, host: new URL(serverUrl ?? '').host });
      }
      throw again;
    });
  }
}

export async function noteSuccess({ em, now, notifier }: WorkContext, id: McpConnectionId): Promise<void> {
  const isNews = await em.fork().transactional(async (transaction) => {
    const seen = await transaction.findOne(McpConnection, { id });
    if (!seen || isNoted(seen.status, seen.lastCheckedAt, now())) return false;
    const locked = await transaction.findOne(
      McpConnection,
      { id },
      { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true },
    );
    // Success with the old tokens does not end a pending authorization.
    if (!locked || locked.isPending(now())) return false;
    locked.connect(now());
    return true;
  });
  if (isNews) notifier.publish(mcpConnectionTopic(id));
}

/**
 * Records the failure in the status. A status that `usableToken` has set stays. The tokens are kept, because only the authorization server
 * can say that they are dead. @returns the error to throw.
 * @param refusal Why the server refuses a token, if more is known than that it does.
 */
export async function noteFailure(
  { em, now, notifier, secrets, settings }: WorkContext,
  id: McpConnectionId,
  error: unknown,
  refusal?: string,
): Promise<unknown> {
  if (!(error instanceof AuthorizationNeeded) && !(error instanceof DomainError && error.kind === 'remoteFailed'))
    return error;
  const noted = await em.fork().transactional(async (transaction) => {
    const connection = await transaction.findOne(McpConnection, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE });
    if (!connection) return error instanceof AuthorizationNeeded ? new AuthorizationLostError(error.message) : error;
    const { tokens, registration } = await readCredentials(transaction, secrets, id);
    const noteOf = () => failureOf(error, connection, { refusal, hasToken: tokens !== undefined });
    if (connection.isPending(now())) return noteOf();
    // A new authorization has replaced the tokens in the meantime, or the tokens are already deleted: nothing to record.
    if (
      error instanceof AuthorizationNeeded &&
      error.tokenVersion !== undefined &&
      error.tokenVersion !== connection.tokenVersion
    )
      return noteOf();
    if (error instanceof AuthorizationNeeded && error.isStepUp)
      connection.challengedScope = [...(connection.grantedScopes ?? []), error.scope ?? ''].join(' ').trim() || null;
    else if (isRefusalOfToken(error) && tokens && isMetadataDocument(settings, registration))
      refuseMetadataDocument(connection);
    const failure = noteOf();
    const reason = failure instanceof AuthorizationLostError ? failure.why : failure.message;
    connection.stop(statusAfter(failure), reason, now());
    return failure;
  });
  notifier.publish(mcpConnectionTopic(id));
  return noted;
}

const isRefusalOfToken = (error: unknown): boolean => error instanceof AuthorizationNeeded || isForbidden(error);

function statusAfter(failure: DomainError): Exclude<Status, 'CONNECTED' | 'STORED'> {
  if (failure instanceof AuthorizationLostError) return 'AUTHORIZATION_REQUIRED';
  const isPermanent = failure instanceof RefusedError && !failure.isTemporary;
  return isPermanent || failure instanceof MisconfiguredError ? 'MISCONFIGURED' : 'UNREACHABLE';
}

/** The failure in the words of the way in which the connection is authorized. */
function failureOf(
  error: AuthorizationNeeded | DomainError,
  { authType, status, statusReason }: McpConnection,
  { refusal, hasToken }: { readonly refusal: string | undefined; readonly hasToken: boolean },
): DomainError {
  if (!(error instanceof AuthorizationNeeded)) return error;
  if (authType === 'static_headers') return new MisconfiguredError(HEADERS_REFUSED);
  if (authType === 'client_credentials') return new MisconfiguredError(CLIENT_TOKEN_REFUSED);
  if (error.isStepUp) return new AuthorizationLostError(error.message);
  if (hasToken) return new AuthorizationLostError(refusal ?? 'the MCP server does not accept the access token');
  // Without tokens the server can only say that it requires authorization. Why there are none tells more.
  const isKnown = status === 'AUTHORIZATION_REQUIRED' || status === 'PENDING_AUTHORIZATION';
  return new AuthorizationLostError((isKnown && statusReason) || error.message);
}
