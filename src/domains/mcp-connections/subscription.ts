import type { McpConnectionId } from '../../core/ids.ts';
import { notFound } from '../../core/errors.ts';
import type { OperationContext } from '../../core/operation.ts';
import { apiKeyTopic } from '../api-keys/public.ts';
import type { McpConnectionReference } from './input.ts';
import { readMcpConnections } from './operations.ts';
import type { McpConnectionRow } from './queries.ts';
import { standingOf } from './status.ts';
import { mcpConnectionTopic } from './topics.ts';

/** An event of the subscription: the new state of the connection, or its deletion. */
export type McpConnectionChange = { readonly connection: McpConnectionRow } | { readonly deletedId: McpConnectionId };

/**
 * Yields the current state of a connection, and then its state after each change, whichever process changed it. Changes
 * in quick succession can be merged into one event. Ends when the connection is deleted.
 * @throws NotFoundError when the caller cannot see the connection.
 */
export async function* followMcpConnection(
  context: OperationContext,
  { mcpConnectionId }: McpConnectionReference,
): AsyncGenerator<McpConnectionChange, void, undefined> {
  const { signal } = context;
  // A revoked key does not change the connection, so the topic of the key is needed too.
  const topics = [mcpConnectionTopic(mcpConnectionId), apiKeyTopic(context.actor.keyId)];
  const live = context.liveTails.open(context.actor, topics, signal);
  let last: string | undefined;
  try {
    for (let { actor } = context; signal?.aborted !== true; actor = await context.authenticateAgain()) {
      context.budget.renew();
      const [row] = await readMcpConnections(context.with({ actor }), [mcpConnectionId]);
      if (!row && last === undefined) throw notFound('MCP connection');
      if (!row) {
        yield { deletedId: mcpConnectionId };
        return;
      }
      // The expiry of a pending authorization does not change the row.
      const state = JSON.stringify([row, standingOf(row, context.now())]);
      if (state !== last) yield { connection: row };
      last = state;
      await live.changed();
    }
  } finally {
    live.close();
  }
}
