import { type EntityManager, LockMode } from '@mikro-orm/postgresql';
import type { OAuthTokens } from '@modelcontextprotocol/client';
import { sql } from 'kysely';
import type { McpConnectionId } from '../../../core/ids.ts';
import { RemoteFailedError, notFound } from '../../../core/errors.ts';
import { inSlot } from '../../../core/fair-shares.ts';
import type { WorkContext } from '../../../core/operation.ts';
import type { OutboundWork } from '../../../core/outbound/outbound.ts';
import { MIN_REFRESH_MS } from './refresh-schedule.ts';
import { type TokenSet, readCredentials, storeTokens } from '../credentials.ts';
import { queriesOn } from '../../../core/postgres/reading/queries.ts';
import { McpConnection, type McpConnectionTables } from '../entity.ts';
import { fetchClientToken, refresh } from './authorization-flow.ts';
import { type AuthorizationServer, type OAuthClient, isSameIssuer } from './authorization-server.ts';
import { clientOf } from './client.ts';
import { settleFailure } from './failed-refresh.ts';
import { AuthorizationLostError, MisconfiguredError, RefusedError } from '../remote/errors.ts';
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
/** A caller waits this long for the time of the next attempt after a failure. */
const MAX_WAIT_MS = 6_000;

const db = queriesOn<McpConnectionTables>();

/** Takes the lease for the tokens of this version if it is free. Uses the clock of the database, because clocks of gateways can differ. */
const claim = (id: McpConnectionId, tokenVersion: number, at: string) =>
  db
    .updateTable('mcp_connection')
    .set({ refresh_lease_until: sql<string>`now() + ${sql.lit(LEASE)}::interval` })
    .where('id', '=', id)
    .where('token_version', '=', tokenVersion)
    // Another process may have failed since the row was read.
    .where((eb) => eb.or([eb('refresh_not_before', 'is', null), eb('refresh_not_before', '<=', at)]))
    .where((eb) => eb.or([eb('refresh_lease_until', 'is', null), eb('refresh_lease_until', '<', sql<string>`now()`)]))
    .returning('id');

/** Concurrent calls for one connection in one process share one promise. */
const newCallMap = () => new Map<string, Promise<Token | undefined>>();

export interface TokenOptions {
  /** Only a token newer than this version, which the MCP server has refused. */
  readonly refused?: number | undefined;
  /** Time for the requests to the authorization server, if it is shorter than usual. */
  readonly timeoutMs?: number | undefined;
}

/**
 * A valid token; undefined when there is none.
 * @throws RemoteFailedError when the token has expired and cannot be refreshed now.
 */
export function usableToken(
  context: WorkContext,
  connectionId: McpConnectionId,
  options: TokenOptions = {},
): Promise<Token | undefined> {
  const calls = context.caches.of(newCallMap);
  const key = `${connectionId} ${options.refused}`;
  const found = calls.get(key) ?? findToken(context, connectionId, options).finally(() => calls.delete(key));
  calls.set(key, found);
  return found;
}

async function findToken(
  context: WorkContext,
  connectionId: McpConnectionId,
  { refused, timeoutMs = context.outbound.totalTimeoutMs }: TokenOptions,
): Promise<Token | undefined> {
  const { now, pools } = context;
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { connection, tokens, grant } = await load(context, connectionId);
    if (!tokens) return undefined;
    const current: Token = { accessToken: tokens.accessToken, version: connection.tokenVersion };
    const isRefused = connection.tokenVersion === refused;
    const isOver = isRefused || isPast(connection.tokenExpiresAt, now());
    if (!isOver && !isPast(connection.refreshAfter, now())) return current;
    if (!grant) return withoutRefresh(context, connection, { current, isRefused, isOver });
    const waitMs = (connection.refreshNotBefore?.getTime() ?? 0) - now().getTime();
    if (!isOver && waitMs > 0) return current;
    if (waitMs > 0) {
      // A refresh that has just succeeded is not a failure: the next one only has to wait.
      const isTooLong = connection.refreshFailures > 0 && waitMs > MAX_WAIT_MS;
      if (isTooLong || performance.now() > deadline) throw failureOf(connection);
      await pause(WAIT_MS);
      continue;
    }
    const organization = connection.organization.id;
    const owner = { kind: 'organization', person: organization, max: Infinity, organization } as const;
    // What is not over is used as long as there is no room.
    const slot = isOver ? await pools.refreshes.take(owner) : pools.refreshes.tryTake(owner);
    if (!slot) return current;
    const renewal = { tokens, grant, isOver, timeoutMs };
    if (await inSlot(slot, () => claimAndRenew(context, connection, renewal))) continue;
    if (!isOver) return current;
    if (performance.now() > deadline) throw new RemoteFailedError('the tokens are being refreshed; try again');
    await pause(POLL_MS * (1 + Math.random()));
  }
}

/** @returns false while another caller refreshes the tokens. */
async function claimAndRenew(context: WorkContext, seen: McpConnection, renewal: Renewal): Promise<boolean> {
  const { sql: reader, now } = context;
  if (!(await reader.primary.first(claim(seen.id, seen.tokenVersion, now().toISOString())))) return false;
  await renew(context, seen, renewal);
  return true;
}

const isPast = (time: Date | null | undefined, now: Date): boolean => time != null && time <= now;

const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

/** Why the last refresh failed. */
function failureOf({ status, statusReason }: McpConnection): RemoteFailedError {
  const reason = statusReason ?? 'the tokens cannot be refreshed at the moment; try again later';
  if (status === 'AUTHORIZATION_REQUIRED') return new AuthorizationLostError(reason);
  return status === 'MISCONFIGURED' ? new MisconfiguredError(reason) : new RemoteFailedError(reason);
}

/** What is needed to get new tokens. */
interface Grant {
  readonly server: AuthorizationServer;
  readonly client: OAuthClient;
  /** Undefined for client credentials. */
  readonly refreshToken: string | undefined;
}

/** Reads the current row and its credentials, outside any unit of work. */
async function load({ em, secrets }: WorkContext, id: McpConnectionId) {
  const reader = em.fork();
  const connection = await reader.findOne(McpConnection, { id });
  if (!connection) throw notFound('MCP connection');
  const { tokens, registration, clientSecret } = await readCredentials(reader, secrets, id);
  const server = connection.authorizationServer;
  const client = clientOf(connection, server, registration, clientSecret);
  const isRenewable = connection.authType === 'client_credentials' || tokens?.refreshToken !== undefined;
  const isOfServer = server && tokens && isSameIssuer(tokens.issuer, server.issuer);
  const grant: Grant | undefined =
    client && isOfServer && isRenewable ? { server, client, refreshToken: tokens.refreshToken } : undefined;
  return { connection, tokens, grant };
}

/**
 * Without a refresh token, the access token is used until it expires. It stays stored when the MCP server refuses it, because that can be a
 * fault of a moment.
 */
async function withoutRefresh(
  context: WorkContext,
  seen: McpConnection,
  { current, isRefused, isOver }: { readonly current: Token; readonly isRefused: boolean; readonly isOver: boolean },
): Promise<Token | undefined> {
  if (isRefused) return undefined;
  const reason = 'the access token has expired, and there is no refresh token';
  await commit(context, seen, (connection) => {
    if (isOver) connection.stop('AUTHORIZATION_REQUIRED', reason, context.now());
    connection.refreshAfter = isOver ? null : (connection.tokenExpiresAt ?? null);
  });
  if (isOver) throw new AuthorizationLostError(reason);
  return current;
}

interface Renewal {
  readonly tokens: TokenSet;
  readonly grant: Grant;
  readonly isOver: boolean;
  readonly timeoutMs: number;
}

/** Requests new tokens and commits the outcome. Always releases the lease. */
async function renew(
  context: WorkContext,
  seen: McpConnection,
  { tokens, grant, isOver, timeoutMs }: Renewal,
): Promise<void> {
  const scope = (tokens.scope ?? seen.scope ?? grantedTo(seen)) || undefined;
  let renewed: OAuthTokens;
  try {
    renewed = await requestTokens(context.outbound.begin(timeoutMs), grant, scope);
  } catch (error) {
    const isRefused = error instanceof RefusedError && !error.isTemporary;
    context.mcpObserver.refreshEnded(isRefused ? 'refused' : 'failed');
    return commit(context, seen, (connection, em) =>
      settleFailure({ ...context, em }, connection, { error, isOver, tokens, client: grant.client }),
    );
  }
  context.mcpObserver.refreshEnded('refreshed');
  await commit(context, seen, async (connection, em) => {
    await storeTokens({ ...context, em }, connection, {
      issuer: grant.server.issuer,
      tokens: renewed,
      scope: tokens.scope,
    });
    // A server that refuses each new token must not be asked for others without end.
    connection.refreshNotBefore = new Date(context.now().getTime() + MIN_REFRESH_MS);
  });
}

/** Tokens of older versions do not say which scope was asked for. */
const grantedTo = ({ authType, grantedScopes }: McpConnection): string | undefined =>
  authType === 'client_credentials' ? grantedScopes?.join(' ') : undefined;

async function requestTokens(
  work: OutboundWork,
  { server, client, refreshToken }: Grant,
  scope: string | undefined,
): Promise<OAuthTokens> {
  if (refreshToken !== undefined) return refresh(work, server, client, { refreshToken, scope });
  return (await fetchClientToken(work, server, client, { scope, isRepeated: true })).tokens;
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
