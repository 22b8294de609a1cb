import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import { OAuthError, type OAuthTokens } from '@modelcontextprotocol/client';
import { sql } from 'kysely';
import type { McpConnectionId } from '../../../core/ids.ts';
import { RemoteFailedError, notFound } from '../../../core/errors.ts';
import type { WorkContext } from '../../../core/operation.ts';
import {
  MIN_REFRESH_MS,
  type TokenSet,
  forgetRegistration,
  forgetTokens,
  readCredentials,
  storeTokens,
} from '../credentials.ts';
import { queriesOn } from '../../../core/postgres/reading/queries.ts';
import { McpConnection, type McpConnectionTables } from '../entity.ts';
import { fetchClientToken, refresh } from './authorization-flow.ts';
import { clientOf } from './client.ts';
import { explainRemote } from '../remote/errors.ts';
import { mcpConnectionTopic } from '../topics.ts';

/**
 * Refreshes access tokens before they expire, one caller at a time over all processes. A caller takes a lease on the
 * row, so that no transaction is open during the request to the authorization server; the other callers wait for the
 * outcome. New tokens are committed before they are used, so that a crash never loses a rotated refresh token (RFC
 * 9700, section 2.2.2).
 */

export interface Token {
  readonly accessToken: string;
  /** Identifies the token when a server refuses it. */
  readonly version: number;
}

/** Longer than the timeouts of all requests of a refresh together. */
const LEASE = '45 seconds';
const POLL_MS = 40;
const WAIT_MS = 250;
const BACKOFF_MS = { first: 5_000, most: 300_000 };

const db = queriesOn<McpConnectionTables>();

/** Takes the lease for the tokens of this version if it is free. Uses the clock of the database, because clocks of gateways can differ. */
const claim = (id: McpConnectionId, tokenVersion: number) =>
  db
    .updateTable('mcp_connection')
    .set({ refresh_lease_until: sql<string>`now() + ${sql.lit(LEASE)}::interval` })
    .where('id', '=', id)
    .where('token_version', '=', tokenVersion)
    .where((eb) => eb.or([eb('refresh_lease_until', 'is', null), eb('refresh_lease_until', '<', sql<string>`now()`)]))
    .returning('id');

/** Concurrent calls for one connection in one process share one promise. */
const newCallMap = () => new Map<string, Promise<Token | undefined>>();

/**
 * A valid token; undefined when there is none. With `refused`, only a token newer than that version.
 * @throws RemoteFailedError when the token has expired and cannot be refreshed now.
 */
export function usableToken(
  context: WorkContext,
  connectionId: McpConnectionId,
  refused?: number,
): Promise<Token | undefined> {
  const calls = context.caches.of(newCallMap);
  const key = `${connectionId} ${refused}`;
  const found = calls.get(key) ?? findToken(context, connectionId, refused).finally(() => calls.delete(key));
  calls.set(key, found);
  return found;
}

async function findToken(
  context: WorkContext,
  connectionId: McpConnectionId,
  refused?: number,
): Promise<Token | undefined> {
  const { now, sql: reader } = context;
  const deadline = performance.now() + context.outbound.totalTimeoutMs;
  for (;;) {
    const { connection, tokens } = await load(context, connectionId);
    if (!tokens) return undefined;
    const current: Token = { accessToken: tokens.accessToken, version: connection.tokenVersion };
    const isOver =
      connection.tokenVersion === refused || (connection.tokenExpiresAt != null && connection.tokenExpiresAt <= now());
    const isDue = isOver || (connection.refreshAfter != null && connection.refreshAfter <= now());
    if (!isDue || (!isOver && isBackingOff(connection, now()))) return current;
    if (isBackingOff(connection, now())) {
      const reason = connection.statusReason ?? 'the tokens cannot be refreshed at the moment; try again later';
      // A refresh that has just succeeded is not a failure: the next one only has to wait.
      if (connection.refreshFailures > 0 || performance.now() > deadline) throw new RemoteFailedError(reason);
      await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
      continue;
    }
    const claimed = await reader.primary.first(claim(connectionId, connection.tokenVersion));
    if (claimed) await renew(context, connection, { tokens, isOver, wasRefused: connection.tokenVersion === refused });
    else if (!isOver) return current;
    else if (performance.now() > deadline) throw new RemoteFailedError('the tokens are being refreshed; try again');
    else await new Promise((resolve) => setTimeout(resolve, POLL_MS * (1 + Math.random())));
  }
}

function isBackingOff({ refreshNotBefore }: McpConnection, now: Date): boolean {
  return refreshNotBefore != null && refreshNotBefore > now;
}

/** Reads the current row and its credentials, outside any unit of work. */
async function load({ em, secrets }: WorkContext, id: McpConnectionId) {
  const reader = em.fork();
  const connection = await reader.findOne(McpConnection, { id });
  if (!connection) throw notFound('MCP connection');
  const { tokens, registration, clientSecret } = await readCredentials(reader, secrets, id);
  return { connection, tokens, registration, clientSecret };
}

interface Renewal {
  readonly tokens: TokenSet;
  readonly isOver: boolean;
  readonly wasRefused: boolean;
}

/** Requests new tokens and commits the outcome. Always releases the lease. */
async function renew(
  context: WorkContext,
  seen: McpConnection,
  { tokens, isOver, wasRefused }: Renewal,
): Promise<void> {
  const { registration, clientSecret } = await load(context, seen.id);
  const server = seen.authorizationServer;
  const client = clientOf(seen, server, registration, clientSecret);
  const byClient = seen.authType === 'client_credentials';
  if (!server || !client || tokens.issuer !== server.issuer || (!byClient && tokens.refreshToken === undefined)) {
    const reason = wasRefused
      ? 'the MCP server no longer accepts the access token'
      : 'the access token has expired, and there is no refresh token';
    // Without a refresh token, the access token is used until it expires, and the expiry is then recorded in the status.
    return commit(context, seen, async (connection, em) =>
      isOver
        ? lose(em, connection, reason, context.now())
        : connection.setTokens({ ...lifetimeOf(seen), refreshAfter: seen.tokenExpiresAt ?? null }),
    );
  }
  let renewed: OAuthTokens;
  try {
    const work = context.outbound.begin();
    renewed = byClient
      ? await fetchClientToken(work, server, client, seen.grantedScopes?.join(' ') || undefined)
      : await refresh(work, server, client, tokens.refreshToken ?? '');
  } catch (error) {
    return commit(context, seen, (connection, em) => settleFailure(context, em, connection, { error, isOver }));
  }
  await commit(context, seen, async (connection, em) => {
    await storeTokens({ ...context, em }, connection, server.issuer, renewed);
    // A server that refuses each new token must not be asked for others without end.
    connection.refreshNotBefore = new Date(context.now().getTime() + MIN_REFRESH_MS);
  });
}

function lifetimeOf({ tokenExpiresAt, grantedScopes }: McpConnection) {
  return { expiresAt: tokenExpiresAt ?? null, scopes: grantedScopes ?? null };
}

/** Runs on the locked row. Does nothing when a newer authorization has changed the tokens in the meantime. */
async function commit(
  { em, notifier }: WorkContext,
  seen: McpConnection,
  change: (connection: McpConnection, em: EntityManager) => unknown,
): Promise<void> {
  await em.fork().transactional(async (transaction) => {
    const connection = await transaction.findOne(
      McpConnection,
      { id: seen.id },
      { lockMode: LockMode.PESSIMISTIC_WRITE },
    );
    if (connection && connection.tokenVersion === seen.tokenVersion) await change(connection, transaction);
  });
  notifier.publish(mcpConnectionTopic(seen.id));
}

async function lose(em: EntityManager, connection: McpConnection, reason: string, at: Date): Promise<void> {
  await forgetTokens(em, connection);
  connection.stop('AUTHORIZATION_REQUIRED', reason, at);
}

/**
 * `invalid_grant` deletes the tokens; a client that the server no longer knows also deletes the registration; all other failures are
 * temporary and keep the tokens.
 */
async function settleFailure(
  { now }: WorkContext,
  em: EntityManager,
  connection: McpConnection,
  { error, isOver }: { error: unknown; isOver: boolean },
): Promise<void> {
  const at = now();
  const reason = explainRemote(error, 'the authorization server').message;
  const code = error instanceof OAuthError ? error.code : undefined;
  if (code === 'invalid_grant')
    return lose(
      em,
      connection,
      'the authorization server no longer accepts the refresh token (invalid_grant): it has expired or was revoked',
      at,
    );
  if (code === 'invalid_client' || code === 'unauthorized_client') {
    await forgetTokens(em, connection);
    if (connection.clientId != null) return connection.stop('MISCONFIGURED', reason, at);
    await forgetRegistration(em, connection);
    return connection.stop('AUTHORIZATION_REQUIRED', reason, at);
  }
  connection.refreshLeaseUntil = null;
  connection.refreshFailures += 1;
  const delay = Math.min(BACKOFF_MS.first * 2 ** (connection.refreshFailures - 1), BACKOFF_MS.most);
  connection.refreshNotBefore = new Date(at.getTime() + delay * (1 + Math.random() / 4));
  if (isOver) connection.stop('UNREACHABLE', reason, at);
}
