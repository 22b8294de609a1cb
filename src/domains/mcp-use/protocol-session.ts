import type { McpConnectionId } from '../../core/ids.ts';
import type { OperationContext } from '../../core/operation.ts';
import { SecretError, type SecretPlace } from '../../core/secrets/secrets.ts';

/**
 * Sessions of the protocol generations up to 2025-11-25. The client gets the session id of the server encrypted, bound to its API key and the
 * connection. Nothing is stored, so any process can serve the session.
 */

export const SESSION_HEADER = 'Mcp-Session-Id';

function placeOf({ actor }: OperationContext, connectionId: McpConnectionId): SecretPlace {
  return { table: 'mcp_session', row: `${connectionId} ${actor.keyId}`, field: 'id' };
}

export function sealSessionId(context: OperationContext, id: McpConnectionId, sessionId: string): Promise<string> {
  return context.secrets.seal(sessionId, placeOf(context, id));
}

/** The session id of the server. Undefined for an id that was not given to this API key for this connection. */
export async function openSessionId(
  context: OperationContext,
  id: McpConnectionId,
  sealed: string,
): Promise<string | undefined> {
  try {
    return await context.secrets.open(sealed, placeOf(context, id));
  } catch (error) {
    if (error instanceof SecretError) return undefined;
    throw error;
  }
}
