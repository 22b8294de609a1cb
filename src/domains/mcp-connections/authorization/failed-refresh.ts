import type { WorkContext } from '../../../core/operation.ts';
import { MIN_REFRESH_MS } from './refresh-schedule.ts';
import { type TokenSet, forgetAskedScope, forgetTokens } from '../credentials.ts';
import type { McpConnection } from '../entity.ts';
import { RefusedError, explainRemote } from '../remote/errors.ts';
import type { OAuthClient } from './authorization-server.ts';
import { UNKNOWN_CLIENT, methodsFor } from './client-authentication.ts';
import { forgetClient } from './forgotten-client.ts';

/** What a failed refresh changes. Only `invalid_grant` deletes the tokens; after every other failure they may work again. */

export interface FailedRefresh {
  readonly error: unknown;
  /** Whether there is no other access token that can be used. */
  readonly isOver: boolean;
  readonly tokens: TokenSet;
  readonly client: OAuthClient;
}

/** The longest pause between two attempts: after a failure that can pass by itself, and after a refusal. */
const LONGEST_PAUSE_MS = { temporary: 300_000, refused: 3_600_000 };

/** Runs on the locked row. */
export async function settleFailure(
  context: Pick<WorkContext, 'em' | 'secrets' | 'now' | 'settings'>,
  connection: McpConnection,
  { error, isOver, tokens, client }: FailedRefresh,
): Promise<void> {
  const { em, secrets, now } = context;
  const at = now();
  const reason = explainRemote(error, 'the authorization server').message;
  const refusal = error instanceof RefusedError && !error.isTemporary ? error : undefined;
  if (refusal?.errorCode === 'invalid_grant') {
    await forgetTokens(em, connection);
    return connection.stop('AUTHORIZATION_REQUIRED', DEAD, at);
  }
  postpone(connection, at, refusal ? LONGEST_PAUSE_MS.refused : LONGEST_PAUSE_MS.temporary);
  if (refusal?.errorCode === 'invalid_scope' && connection.authType === 'oauth')
    await forgetAskedScope(em, secrets, connection, tokens);
  if (UNKNOWN_CLIENT.has(refusal?.errorCode)) {
    const server = connection.authorizationServer;
    // A client of an older version may be known by another method. It is tried at the next refresh.
    const isMethodUnknown = refusal?.errorCode === 'invalid_client' && connection.clientId != null;
    const other = server && isMethodUnknown ? methodsFor(client, server)[1] : undefined;
    if (server && other) connection.authorizationServer = { ...server, clientAuthentication: other };
    else if (connection.clientId != null) return connection.stop('MISCONFIGURED', reason, at);
    else {
      await forgetClient(context, connection, client);
      return connection.stop('AUTHORIZATION_REQUIRED', reason, at);
    }
  }
  if (isOver) connection.stop(refusal ? 'AUTHORIZATION_REQUIRED' : 'UNREACHABLE', reason, at);
}

const DEAD =
  'the authorization server no longer accepts the refresh token (invalid_grant): it has expired or was revoked';

/** The next attempt comes later with each failure. */
function postpone(connection: McpConnection, at: Date, longestMs: number): void {
  connection.refreshLeaseUntil = null;
  connection.refreshFailures += 1;
  const pauseMs = Math.min(MIN_REFRESH_MS * 2 ** (connection.refreshFailures - 1), longestMs);
  const jitterMs = connection.refreshFailures === 1 ? 0 : (Math.random() / 4) * pauseMs;
  connection.refreshNotBefore = new Date(at.getTime() + pauseMs + jitterMs);
}
